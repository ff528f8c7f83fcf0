import type { Shown } from '../api/contract.ts'
import {
  ANSWER,
  COMMENT_ID,
  CORRECTION,
  CREATED,
  DOC_ID,
  DOC_VERSION_ID,
  GATE_ID,
  GUIDELINE_ID,
  JUDGED,
  METADATA,
  OBSERVATION_ID,
  PROMPT_DRAFT_ID,
  PROMPT_ID,
  PROMPT_VERSION_ID,
  QUESTION,
  ROOT_SPAN_ID,
  SCHEMA,
  SPAN_ID,
  STARTED,
  TRACE_ID,
  TRACE_UUID,
  USER_ID,
} from '../api/story.ts'
import type { Gate } from './gate.ts'
import type { ReviewPolicy } from './review-policy-wire.ts'
import type { Guideline, KnowledgeDoc, KnowledgeDocVersion, Prompt, PromptVersion } from './text-wire.ts'
import type { Watch } from './watch.ts'
import type { Feedback, ListedTrace, Span, SpanOfTrace, TraceItem } from './wire.ts'

export const traceItem: Shown<typeof TraceItem> = {
  id: TRACE_UUID,
  traceId: TRACE_ID,
  name: 'support-answer',
  status: 'completed',
  metadata: METADATA,
  durationMs: 1040,
  createdAt: STARTED,
  updatedAt: JUDGED,
  receivedAt: STARTED,
  spanCount: 2,
  reviewedCount: 0,
  staleCount: 0,
  feedbackCount: 1,
  model: 'gpt-4.1-mini',
  usage: { inputTokens: 412, outputTokens: 36, totalTokens: 448, cachedTokens: 256 },
  costUsd: 0.00018,
  reviewState: 'unreviewed',
}

export const listedTrace: Shown<typeof ListedTrace> = {
  ...traceItem,
  inputPreview: QUESTION.question,
  outputPreview: ANSWER.answer,
  errorType: 'context_misinterpretation',
  errorTypeBy: 'engine',
}

export const rootSpan: Shown<typeof Span> = {
  id: ROOT_SPAN_ID,
  parentSpanId: null,
  stepId: 'support-answer',
  status: null,
  durationMs: null,
  model: null,
  provider: null,
  usage: null,
  costUsd: null,
  input: QUESTION,
  output: ANSWER,
  approvedOutput: null,
  state: { retrieved_chunks: [{ doc: 'warranty', text: 'Every device has a warranty of 24 months.' }] },
  promptVersionId: null,
  metadata: {},
  review: {
    state: 'unreviewed',
    by: null,
    at: null,
    stale: false,
    comment: null,
    errorType: null,
    basis: null,
    reviewedBy: null,
  },
  claim: null,
  assignees: [],
  suggestions: [],
  reviewers: 1,
  votes: [],
  isDisputed: false,
  etag: `"${OBSERVATION_ID}"`,
  truncated: [],
  createdAt: STARTED,
  receivedAt: STARTED,
}

export const span: Shown<typeof Span> = {
  ...rootSpan,
  id: SPAN_ID,
  parentSpanId: ROOT_SPAN_ID,
  stepId: 'generate-answer',
  status: 'ok',
  durationMs: 980,
  model: 'gpt-4.1-mini',
  provider: 'openai',
  usage: { inputTokens: 412, outputTokens: 36, totalTokens: 448, cachedTokens: 256 },
  costUsd: 0.00018,
  state: {},
  promptVersionId: PROMPT_VERSION_ID,
  etag: '"9f2c41d07ab3"',
}

export const guideline: Shown<typeof Guideline> = {
  id: GUIDELINE_ID,
  text: 'Correct every period that the docs contradict. Leave the style alone.',
  updatedAt: CREATED,
}

export const reviewPolicy: Shown<typeof ReviewPolicy> = {
  default: { sample: 1, reviewers: 1, blind: false },
  steps: {
    'generate-answer': { sample: 0.1, reviewers: 2, blind: true },
    'embed-query': { sample: 0, reviewers: 1, blind: false },
  },
  always: ['negative', 'error'],
  updatedAt: CREATED,
}

export const review = {
  decision: 'correct',
  approvedOutput: CORRECTION,
  comment: 'The warranty doc says 24 months.',
  errorType: 'context_misinterpretation',
} as const

export const reviewedSpan: Shown<typeof SpanOfTrace> = {
  ...span,
  approvedOutput: CORRECTION,
  review: {
    state: 'corrected',
    by: USER_ID,
    at: JUDGED,
    stale: false,
    comment: review.comment,
    errorType: review.errorType,
    basis: null,
    reviewedBy: null,
  },
  etag: '"9f2c41d07ab3.1"',
  trace: { id: TRACE_UUID, traceId: TRACE_ID, name: 'support-answer' },
}

export const comment: Shown<typeof Feedback> = {
  id: COMMENT_ID,
  spanId: SPAN_ID,
  userId: USER_ID,
  content: 'Did it see the warranty doc at all?',
  rating: null,
  name: null,
  correction: null,
  labeller: null,
  source: 'review',
  truncated: [],
  createdAt: JUDGED,
  receivedAt: JUDGED,
}

export const prompt: Shown<typeof Prompt> = {
  id: PROMPT_ID,
  stepId: 'generate-answer',
  versionId: PROMPT_VERSION_ID,
  versionNumber: 2,
  versionCreatedAt: CREATED,
  content: 'Answer the question using only the chunks.',
  outputSchema: SCHEMA,
  createdAt: CREATED,
  updatedAt: CREATED,
}

export const docVersion: Shown<typeof KnowledgeDocVersion> = {
  id: DOC_VERSION_ID,
  number: 2,
  content: 'Every device has a warranty of 24 months.',
  note: null,
  isActive: true,
  createdAt: CREATED,
}

export const promptVersion: Shown<typeof PromptVersion> = {
  ...docVersion,
  id: PROMPT_VERSION_ID,
  content: prompt.content,
  outputSchema: SCHEMA,
}

export const doc: Shown<typeof KnowledgeDoc> = {
  id: DOC_ID,
  slug: 'warranty',
  title: 'Warranty',
  versionId: DOC_VERSION_ID,
  versionNumber: 2,
  versionCreatedAt: CREATED,
  content: docVersion.content,
  createdAt: CREATED,
  updatedAt: CREATED,
}

export const errorType = {
  id: '0f1c7d52-3a6b-5e8d-9c4f-7b2a1e6d5c01',
  errorType: 'late_delivery',
  name: 'Late delivery',
  category: 'Human Error',
  rule: 'The documents arrived after the answer was due.',
  isBuiltIn: false,
  isEnabled: true,
} as const

export const builtInErrorType = {
  id: 'c3ae9de2-44e5-5029-9537-6fcd96db2bd3',
  errorType: 'context_misinterpretation',
  name: 'Context misinterpreted',
  category: 'AI Error',
  rule: 'The right evidence was in context but ignored, misread, or lost between steps.',
  isBuiltIn: true,
  isEnabled: true,
} as const

export const watch: Shown<typeof Watch> = {
  state: 'better',
  p: 0.00000174,
  interval: { low: 0.1855, high: 0.363 },
  before: { n: 320, accepted: 192 },
  after: { n: 80, accepted: 71 },
  versionId: PROMPT_VERSION_ID,
  versionNumber: 2,
  activatedAt: CREATED,
  previousVersionId: PROMPT_DRAFT_ID,
  previousVersionNumber: 1,
  decided: 83,
  nextLook: 160,
  looks: [],
  rolledBack: null,
}

export const gate: Shown<typeof Gate> = {
  id: GATE_ID,
  stepId: 'generate-answer',
  minItems: 30,
  minPassRate: 0.9,
  maxRegressed: 1,
  maxUnjudged: 0,
  maxAgeDays: null,
  split: 'test',
  allowJudge: false,
  autoRollback: false,
  updatedAt: CREATED,
}
