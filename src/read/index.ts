import type { Endpoint } from '../api/endpoint.ts'
import { getAgreement } from './agreement.ts'
import { listAgreementOutputs } from './agreement-outputs.ts'
import { getAttributionQuality } from './attribution-quality.ts'
import { listAttributions } from './attributions.ts'
import { listComparedAnswers } from './compared-answers.ts'
import { listErrorTypes } from './error-types.ts'
import { listGroups } from './groups.ts'
import { getGuideline } from './guidelines.ts'
import { getInsights } from './insights.ts'
import { diffKnowledgeDocVersions, getKnowledgeDoc, listKnowledgeDocs } from './knowledge-docs.ts'
import { getModel } from './model.ts'
import { diffPromptVersions, getPrompt, listPrompts } from './prompts.ts'
import { getReviewPolicy } from './review-policy.ts'
import { listReviewers } from './reviewers.ts'
import { getSpanSources } from './sources.ts'
import { exportSpans } from './span-export.ts'
import { getSpan, listSpans } from './spans.ts'
import { getStepNames } from './step-names.ts'
import { exportTraces } from './trace-export.ts'
import { getTrace, listTraces } from './traces.ts'
import { listTurns } from './turns.ts'

export const read: readonly Endpoint[] = [
  listTraces,
  exportTraces,
  getTrace,
  listSpans,
  exportSpans,
  getSpan,
  getSpanSources,
  listGroups,
  listTurns,
  listAttributions,
  getAttributionQuality,
  listComparedAnswers,
  getInsights,
  getAgreement,
  listAgreementOutputs,
  listErrorTypes,
  getStepNames,
  getGuideline,
  getReviewPolicy,
  listPrompts,
  getPrompt,
  diffPromptVersions,
  listKnowledgeDocs,
  getKnowledgeDoc,
  diffKnowledgeDocVersions,
  listReviewers,
  getModel,
]
