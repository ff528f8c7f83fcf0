import type * as v from 'valibot'
import type { Endpoint } from '../../api/endpoint.ts'
import type { listDatasets } from '../../datasets/datasets.ts'
import type { listItems } from '../../datasets/items.ts'
import type { Json, JsonText, WrittenJson } from '../../domain/json.ts'
import type { compareExperiments } from '../../experiments/compare.ts'
import type { createExperiment } from '../../experiments/create.ts'
import type { getGate } from '../../experiments/gates.ts'
import type { listExperimentItems } from '../../experiments/items.ts'
import type { listJudgments } from '../../experiments/judgments.ts'
import type { getExperiment, listExperiments } from '../../experiments/reports.ts'
import type { reviewExperimentItem } from '../../experiments/review.ts'
import type { listObservations } from '../../ingest/observation-list.ts'
import type { createApiKey, listApiKeys } from '../../manage/api-keys.ts'
import type { listAuditLog } from '../../manage/audit-log.ts'
import type { listProjects, updateProject } from '../../manage/projects.ts'
import type { getSession, listOwnOrganizations } from '../../manage/session.ts'
import type { postTraceDeletions } from '../../manage/traces.ts'
import type { listUsers } from '../../manage/users.ts'
import type { listProblems } from '../../problems/list.ts'
import type { getSuggestion, suggestVersion } from '../../problems/suggestions.ts'
import type { getAgreement } from '../../read/agreement.ts'
import type { listAgreementOutputs } from '../../read/agreement-outputs.ts'
import type { getAttributionQuality } from '../../read/attribution-quality.ts'
import type { listAttributions } from '../../read/attributions.ts'
import type { listComparedAnswers } from '../../read/compared-answers.ts'
import type { listErrorTypes } from '../../read/error-types.ts'
import type { listGroups } from '../../read/groups.ts'
import type { getGuideline } from '../../read/guidelines.ts'
import type { getInsights } from '../../read/insights.ts'
import type { getKnowledgeDoc, listKnowledgeDocs } from '../../read/knowledge-docs.ts'
import type { getModel } from '../../read/model.ts'
import type { diffPromptVersions, getPrompt, listPrompts } from '../../read/prompts.ts'
import type { getReviewPolicy } from '../../read/review-policy.ts'
import type { listReviewers } from '../../read/reviewers.ts'
import type { getSpanSources } from '../../read/sources.ts'
import type { getSpan, listSpans } from '../../read/spans.ts'
import type { getStepNames } from '../../read/step-names.ts'
import type { getTrace, listTraces } from '../../read/traces.ts'
import type { listTurns } from '../../read/turns.ts'
import type { assignSpans } from '../../review/assign.ts'
import type { getProgress } from '../../review/progress.ts'
import type { getReviewQueue } from '../../review/queue.ts'
import type { listReviews } from '../../review/reviews.ts'
import type { listViews } from '../../review/views.ts'
import type { listDeliveries } from '../../webhooks/deliveries.ts'
import type { createWebhook, listWebhooks } from '../../webhooks/webhooks.ts'

/*
 * The types of the API's responses, derived from the endpoints' schemas. This file imports only types, so that no
 * Worker code is bundled.
 */

export type { Json }

/** A response as clients parse it. JSON that the Worker inserts as text becomes a value. */
type AsRead<Value> =
  Value extends WrittenJson<infer Shape>
    ? AsRead<Shape>
    : Value extends JsonText
      ? Json
      : Value extends readonly (infer Item)[]
        ? AsRead<Item>[]
        : Value extends object
          ? { [Name in keyof Value]: AsRead<Value[Name]> }
          : Value

/** The body of an endpoint's response with this status. */
type Answer<E, Status extends number = 200> =
  E extends Endpoint<infer C>
    ? Status extends keyof C['responses']
      ? C['responses'][Status] extends v.GenericSchema<unknown, infer Output>
        ? AsRead<Output>
        : never
      : never
    : never

export type TraceList = Answer<typeof listTraces>
export type TraceItem = TraceList['traces'][number]
export type TraceDeletions = Answer<typeof postTraceDeletions, 207>
export type Trace = Answer<typeof getTrace>
export type Span = Trace['spans'][number]
export type Suggestion = Span['suggestions'][number]
export type Vote = Span['votes'][number]
export type Feedback = Trace['feedback'][number]
export type SpanOfTrace = Answer<typeof getSpan>
export type GroupList = Answer<typeof listGroups>
export type TurnList = Answer<typeof listTurns>
export type SpanSources = Answer<typeof getSpanSources>
export type Guideline = Answer<typeof getGuideline>
export type SpanList = Answer<typeof listSpans>
export type Review = Answer<typeof listReviews>['reviews'][number]
export type AssignmentResult = Answer<typeof assignSpans>
export type ReviewProgress = Answer<typeof getProgress>
export type ReviewQueue = Answer<typeof getReviewQueue>
export type ViewList = Answer<typeof listViews>
export type SavedView = ViewList['views'][number]
export type Observations = Answer<typeof listObservations>
export type Agreement = Answer<typeof getAgreement>
export type VotedOutputs = Answer<typeof listAgreementOutputs>
export type AttributionQuality = Answer<typeof getAttributionQuality>
export type ComparedAnswers = Answer<typeof listComparedAnswers>
export type Attributions = Answer<typeof listAttributions>
export type ErrorTypes = Answer<typeof listErrorTypes>
export type StepNames = Answer<typeof getStepNames>['names']
export type DatasetList = Answer<typeof listDatasets>
export type Dataset = DatasetList['datasets'][number]
export type DatasetItems = Answer<typeof listItems>
export type DatasetItem = DatasetItems['items'][number]
export type PromptSuggestion = Answer<typeof getSuggestion>
export type PendingSuggestion = Answer<typeof suggestVersion, 202>
export type ReviewPolicy = Answer<typeof getReviewPolicy>
export type Prompts = Answer<typeof listPrompts>
export type Prompt = Answer<typeof getPrompt>
export type Watch = NonNullable<Prompt['watch']>
export type KnowledgeDocs = Answer<typeof listKnowledgeDocs>
export type KnowledgeDoc = Answer<typeof getKnowledgeDoc>
export type VersionDiff = Answer<typeof diffPromptVersions>
export type Experiments = Answer<typeof listExperiments>
export type Experiment = Answer<typeof createExperiment, 201>
export type ExperimentReport = Answer<typeof getExperiment>
export type ExperimentItems = Answer<typeof listExperimentItems>
export type ExperimentItem = ExperimentItems['items'][number]
export type JudgedOutputs = Answer<typeof listJudgments>
export type ModelAgreement = JudgedOutputs['agreement']
export type ItemResult = Answer<typeof reviewExperimentItem>
export type ConfiguredModel = Answer<typeof getModel>
export type GateState = Answer<typeof getGate>
export type Gate = GateState['gate']
export type Comparison = Answer<typeof compareExperiments>
export type ProblemList = Answer<typeof listProblems>
export type Problem = ProblemList['problems'][number]
export type Projects = Answer<typeof listProjects>
export type Project = Answer<typeof updateProject>
export type ApiKeys = Answer<typeof listApiKeys>
export type NewApiKey = Answer<typeof createApiKey, 201>
export type Users = Answer<typeof listUsers>
export type OwnOrganizations = Answer<typeof listOwnOrganizations>
export type AuditLog = Answer<typeof listAuditLog>
export type Webhooks = Answer<typeof listWebhooks>
export type Webhook = Webhooks['webhooks'][number]
export type WebhookWithSecret = Answer<typeof createWebhook, 201>
export type Deliveries = Answer<typeof listDeliveries>
export type Delivery = Deliveries['deliveries'][number]

/** The signed-in user or key. */
export type Session = Answer<typeof getSession>
export type Reviewers = Answer<typeof listReviewers>['reviewers']
export type Insights = Answer<typeof getInsights>
