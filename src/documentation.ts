import type { Example } from './api/openapi.ts'
import { BASES } from './otlp/endpoint.ts'
import { SIGNALS, type Signal } from './otlp/reading/telemetry.ts'

/** What the OpenAPI document says first. */
export const description = `Records the runs of AI pipelines, keeps the prompts and knowledge docs that they used, and lets
reviewers turn what came out into ground truth.

Pipelines post to \`/api/v1/\` in snake_case; the rest reads, reviews and manages, in camelCase. Give each write an id of
yours (\`trace_id\`, \`span_id\`, \`observation_id\`, \`feedback_id\`, a comment's \`id\`), and whatever was answered with a
429 or a 5xx, or not at all, can be sent again and has one effect; a review can be in any case. Values are JSON with IEEE 754
numbers: integers past 2^53 lose digits. Times are \`YYYY-MM-DDTHH:mm:ss.sssZ\`.
Bodies may be compressed with gzip or deflate. Every call with a key counts against its rate limit.

What has an exporter of OpenTelemetry needs nothing else: OTLP/HTTP is taken below \`/api/v1/otel\`, below \`/\`, and where
the SDKs of Langfuse and LangSmith send it; \`/api/v1/traces\` takes exports, too. A trace of OpenTelemetry is here
\`trace_\` and its id in hex.`

/*
 * One example for each endpoint of what is sent and answered. They tell one story: a support
 * pipeline answered a question about a warranty, and somebody said that the answer was wrong.
 */

const TRACE_ID = 'trace_0123456789abcdef012345'
const TRACE_UUID = '5b0c7d5e-9f0e-5d5a-8a43-0f3a1f8f2f11'
const ROOT_SPAN_ID = '8a1e4a7c-1c2d-5b6f-9d3e-6b1f0c2a4e21'
const SPAN_ID = '3f2b8c1a-6d4e-4f7a-9b2c-1e5d8a7f6c31'
const OBSERVATION_ID = 'd4f1a2b3-7c8d-4e9f-8a1b-2c3d4e5f6a41'
const FEEDBACK_UUID = 'c2a9e7d1-4b3f-5c8e-a6d2-7f1b9e3c5d51'
const PROJECT_ID = '6e4d2c1b-8a7f-4e5d-9c3b-2a1f0e9d8c61'
const PROMPT_ID = 'a7b8c9d0-1e2f-4a3b-8c4d-5e6f7a8b9c71'
const PROMPT_VERSION_ID = 'b8c9d0e1-2f3a-4b4c-9d5e-6f7a8b9c0d81'
const DOC_ID = 'c9d0e1f2-3a4b-4c5d-8e6f-7a8b9c0d1e91'
const DOC_VERSION_ID = 'd0e1f2a3-4b5c-4d6e-9f7a-8b9c0d1e2fa1'
const KEY_ID = 'e1f2a3b4-5c6d-4e7f-8a8b-9c0d1e2f3ab1'
const USER_ID = 'f2a3b4c5-6d7e-5f8a-9b9c-0d1e2f3a4bc1'
const REVIEW_ID = '14b5c6d7-8f9a-4bac-9d1e-2f3a4b5c6de1'
const COMMENT_ID = '25c6d7e8-9fa0-4cbd-8e2f-3a4b5c6d7ef1'
const ATTRIBUTION_ID = '36d7e8f9-a0b1-4cde-8f3a-4b5c6d7e8f01'
const ENTRY_ID = '14b5c6d7-8e9f-4a1b-9c2d-3e4f5a6b7ce1'
const REQUEST_ID = '25c6d7e8-9f0a-4b2c-8d3e-4f5a6b7c8df1'
const ORGANIZATION_ID = '03a4b5c6-7e8f-4a9b-8c0d-1e2f3a4b5cd1'
const STARTED = '2026-11-21T09:30:00.000Z'
const ANSWERED = '2026-11-21T09:30:01.040Z'
const JUDGED = '2026-11-21T11:12:00.000Z'
const CREATED = '2026-11-02T08:00:00.000Z'
const CURSOR = 'YjJmYzE4OGUxYTQ3OTMwYlsxNzk1MjUzNDAwMDAwXQ'

const QUESTION = { question: 'How long is the warranty?' }
const ANSWER = { answer: 'The warranty is 12 months.' }
const CORRECTION = { answer: 'The warranty is 24 months.' }
const METADATA = { group_id: 'session-1', customer: { tier: 'gold' } }
const SCHEMA = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] }

const trace = { trace_id: TRACE_ID, name: 'support-answer', timestamp: STARTED, status: 'running', metadata: METADATA }

const spanEvent = {
  trace_id: TRACE_ID,
  span_id: SPAN_ID,
  step_id: 'generate-answer',
  input: QUESTION,
  output: ANSWER,
  prompt_version_id: PROMPT_VERSION_ID,
  timestamp: STARTED,
  duration_ms: 980,
  status: 'ok',
}

const observation = {
  trace_id: TRACE_ID,
  observation_id: OBSERVATION_ID,
  type: 'output',
  data: ANSWER,
  timestamp: ANSWERED,
}

const feedback = {
  trace_id: TRACE_ID,
  feedback_id: 'ticket-4711',
  rating: 'negative',
  comment: 'It is 24 months.',
  correction: CORRECTION,
  labeller: { name: 'Ada Lopez', email: 'ada@example.com' },
}

const traceItem = {
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
  reviewState: 'unreviewed',
}

const rootSpan = {
  id: ROOT_SPAN_ID,
  parentSpanId: null,
  stepId: 'support-answer',
  status: null,
  durationMs: null,
  input: QUESTION,
  output: ANSWER,
  approvedOutput: null,
  state: { retrieved_chunks: [{ doc: 'warranty', text: 'Every device has a warranty of 24 months.' }] },
  promptVersionId: null,
  metadata: {},
  review: { state: 'unreviewed', by: null, at: null, stale: false, comment: null, errorType: null },
  etag: `"${OBSERVATION_ID}"`,
  truncated: [],
  createdAt: STARTED,
  receivedAt: STARTED,
}

const span = {
  ...rootSpan,
  id: SPAN_ID,
  parentSpanId: ROOT_SPAN_ID,
  stepId: 'generate-answer',
  status: 'ok',
  durationMs: 980,
  state: {},
  promptVersionId: PROMPT_VERSION_ID,
  etag: '"9f2c41d07ab3"',
}

const review = {
  decision: 'correct',
  approvedOutput: CORRECTION,
  comment: 'The warranty doc says 24 months.',
  errorType: 'context_misinterpretation',
}

const reviewedSpan = {
  ...span,
  approvedOutput: CORRECTION,
  review: {
    state: 'corrected',
    by: USER_ID,
    at: JUDGED,
    stale: false,
    comment: review.comment,
    errorType: review.errorType,
  },
  etag: '"9f2c41d07ab3.1"',
  trace: { id: TRACE_UUID, traceId: TRACE_ID, name: 'support-answer' },
}

const comment = {
  id: COMMENT_ID,
  spanId: SPAN_ID,
  userId: USER_ID,
  content: 'Did it see the warranty doc at all?',
  rating: null,
  correction: null,
  labeller: null,
  source: 'review',
  truncated: [],
  createdAt: JUDGED,
  receivedAt: JUDGED,
}

const prompt = {
  id: PROMPT_ID,
  stepId: 'generate-answer',
  versionId: PROMPT_VERSION_ID,
  content: 'Answer the question from the chunks alone.',
  outputSchema: SCHEMA,
  createdAt: CREATED,
  updatedAt: CREATED,
}

const docVersion = {
  id: DOC_VERSION_ID,
  number: 2,
  content: 'Every device has a warranty of 24 months.',
  note: null,
  isActive: true,
  createdAt: CREATED,
}

const promptVersion = { ...docVersion, id: PROMPT_VERSION_ID, content: prompt.content, outputSchema: SCHEMA }

const doc = {
  id: DOC_ID,
  slug: 'warranty',
  title: 'Warranty',
  versionId: DOC_VERSION_ID,
  content: docVersion.content,
  createdAt: CREATED,
  updatedAt: CREATED,
}

const project = {
  id: PROJECT_ID,
  slug: 'support',
  name: 'Customer support',
  retentionDays: null,
  retainReviewed: true,
  autoAttribute: false,
  createdAt: CREATED,
}

const errorType = {
  id: '0f1c7d52-3a6b-5e8d-9c4f-7b2a1e6d5c01',
  errorType: 'late_delivery',
  name: 'Late delivery',
  category: 'Human Error',
  rule: 'A colleague handed the documents over after the answer was due.',
  isBuiltIn: false,
  isEnabled: true,
}

const builtInErrorType = {
  id: 'c3ae9de2-44e5-5029-9537-6fcd96db2bd3',
  errorType: 'context_misinterpretation',
  name: 'Context misinterpreted',
  category: 'AI Error',
  rule: 'The right evidence was in context but ignored, misread, or lost between steps.',
  isBuiltIn: true,
  isEnabled: true,
}

const apiKey = {
  id: KEY_ID,
  name: 'Support pipeline',
  prefix: 'cs_4fT9x',
  projectId: PROJECT_ID,
  userId: null,
  scopes: ['ingest'],
  rateLimitPerMinute: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
  createdAt: CREATED,
}

const newApiKey = { ...apiKey, key: 'cs_4fT9xQ2mLw7RbV0nKd3HsJ6e' }

const user = { id: USER_ID, email: 'ada@example.com', name: 'Ada Lopez', isConfirmed: true, createdAt: CREATED }

const TOKEN = '8cQ2mLw7RbV0nKd3HsJ6eX4fT9xQ1zAp'

const sessionProject = { id: PROJECT_ID, slug: project.slug, name: project.name }

const session = {
  organization: { id: ORGANIZATION_ID, slug: 'acme', name: 'Acme' },
  project: sessionProject,
  projects: [sessionProject],
  user: { id: USER_ID, email: user.email, name: user.name },
  key: { id: KEY_ID, name: 'Ada', prefix: apiKey.prefix },
  actorId: USER_ID,
  scopes: ['read', 'review'],
  expiresAt: '2026-11-02T20:00:00.000Z',
}

const attributedType = {
  error_type: 'context_misinterpretation',
  error_type_id: 'c3ae9de2-44e5-5029-9537-6fcd96db2bd3',
  error_type_name: 'Context misinterpreted',
  error_type_category: 'AI Error',
}
const engineAnswer = {
  ...attributedType,
  reasoning:
    'The warranty doc was retrieved and says 24 months. The answer says 12, which stands in the doc for used devices alone.',
  confidence: 0.82,
  alternatives: [
    { error_type: 'hallucinated_content', confidence: 0.09 },
    { error_type: 'outdated_reference', confidence: 0.04 },
  ],
  span_id: SPAN_ID,
  evidence: [{ span_id: SPAN_ID, path: 'output.answer', note: '12 months, where the correction says 24' }],
  engine: 'rules',
  created_at: JUDGED,
}
const attribution = {
  trace_id: TRACE_ID,
  ...engineAnswer,
  engine_answer: engineAnswer,
  override: null,
  duration_ms: 6,
  usage: null,
}
const pendingAttribution = { status: 'pending', trace_id: TRACE_ID }

/** What OpenTelemetry calls the same run. */
const exportedIds = { traceId: '0123456789abcdef0123456789abcdef', spanId: '0123456789abcdef' }
const attributesOf = (attributes: Record<string, string>) =>
  Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }))

const exportedSpan = {
  ...exportedIds,
  name: 'chat gpt-4.1-mini',
  startTimeUnixNano: '1795253400000000000',
  endTimeUnixNano: '1795253401040000000',
  attributes: attributesOf({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4.1-mini',
    'input.value': JSON.stringify(QUESTION),
    'output.value': JSON.stringify(ANSWER),
  }),
}
const exportedMessage = {
  ...exportedIds,
  timeUnixNano: '1795253400000000000',
  eventName: 'gen_ai.user.message',
  body: { kvlistValue: { values: attributesOf({ content: QUESTION.question }) } },
}

/** An export of each signal, and what is answered. */
const exportExamples: Readonly<Record<Signal, Example>> = {
  traces: { body: { resourceSpans: [{ scopeSpans: [{ spans: [exportedSpan] }] }] }, response: {} },
  logs: { body: { resourceLogs: [{ scopeLogs: [{ logRecords: [exportedMessage] }] }] }, response: {} },
  metrics: {
    body: { resourceMetrics: [] },
    response: { partialSuccess: { rejectedDataPoints: '3', errorMessage: '3 refused: metrics are not kept here' } },
  },
}

/** By `METHOD path`. */
export const examples: Readonly<Record<string, Example>> = {
  ...Object.fromEntries(
    SIGNALS.flatMap(signal => BASES.map(base => [`POST ${base}/v1/${signal}`, exportExamples[signal]])),
  ),
  'POST /api/v1/traces': { body: trace, response: { status: 'accepted', trace_id: TRACE_ID, id: TRACE_UUID } },
  'POST /api/v1/spans': { body: spanEvent, response: { status: 'accepted', span_id: SPAN_ID } },
  'POST /api/v1/observations': { body: observation, response: { status: 'created', observation_id: OBSERVATION_ID } },
  'DELETE /api/v1/feedback/{feedback_id}': { response: { status: 'success', feedback_id: 'ticket-4711' } },
  'POST /api/v1/feedback': { body: feedback, response: { status: 'success', feedback_id: 'ticket-4711' } },
  'POST /api/v1/batch': {
    body: {
      events: [
        { type: 'trace', body: trace },
        { type: 'observation', body: observation },
      ],
    },
    response: {
      results: [
        { status: 202, body: { status: 'accepted', trace_id: TRACE_ID, id: TRACE_UUID } },
        { status: 201, body: { status: 'created', observation_id: OBSERVATION_ID } },
      ],
    },
  },
  'GET /api/v1/traces/search': {
    response: {
      traces: [
        {
          id: TRACE_UUID,
          trace_id: TRACE_ID,
          name: 'support-answer',
          status: 'completed',
          metadata: METADATA,
          timestamp: STARTED,
        },
      ],
      count: 1,
    },
  },
  'GET /api/v1/traces/{trace_id}/observations': {
    response: {
      observations: [
        {
          observation_id: OBSERVATION_ID,
          span_id: ROOT_SPAN_ID,
          type: 'output',
          key: null,
          data: ANSWER,
          timestamp: ANSWERED,
          received_at: ANSWERED,
        },
      ],
      next_cursor: null,
    },
  },
  'POST /api/v1/traces/{trace_id}/attribute': { response: attribution, responses: { 202: pendingAttribution } },
  'GET /api/v1/traces/{trace_id}/attribution': { response: attribution, responses: { 202: pendingAttribution } },
  'GET /api/traces': { response: { traces: [traceItem], nextCursor: CURSOR } },
  'GET /api/traces/{traceId}': {
    response: {
      ...traceItem,
      project: { id: PROJECT_ID, slug: 'support' },
      spans: [rootSpan, span],
      nextSpanCursor: null,
      feedback: [
        {
          id: FEEDBACK_UUID,
          spanId: ROOT_SPAN_ID,
          userId: USER_ID,
          content: feedback.comment,
          rating: 'negative',
          correction: CORRECTION,
          labeller: feedback.labeller,
          source: 'api',
          truncated: [],
          createdAt: JUDGED,
          receivedAt: JUDGED,
        },
      ],
      nextFeedbackCursor: null,
    },
  },
  'PUT /api/spans/{spanId}/review': { body: review, response: reviewedSpan },
  'POST /api/reviews': {
    body: { reviews: [{ spanId: SPAN_ID, ...review }] },
    response: { results: [{ status: 200, body: reviewedSpan }] },
  },
  'GET /api/spans/{spanId}/reviews': {
    response: {
      reviews: [
        {
          id: REVIEW_ID,
          decision: 'correct',
          by: USER_ID,
          at: JUDGED,
          before: null,
          after: CORRECTION,
          comment: review.comment,
          errorType: review.errorType,
        },
      ],
      nextCursor: null,
    },
  },
  'GET /api/review-queue': {
    response: {
      spans: [{ ...span, trace: reviewedSpan.trace }],
      remaining: 41,
      remainingIsMinimum: false,
      nextCursor: CURSOR,
      today: [{ userId: USER_ID, reviewed: 12 }],
    },
  },
  'POST /api/review-queue/claim': {
    body: { spanIds: [SPAN_ID, ROOT_SPAN_ID] },
    response: { claimed: [SPAN_ID], refused: [ROOT_SPAN_ID] },
  },
  'POST /api/review-queue/heartbeat': { body: { spanIds: [SPAN_ID] }, response: { held: [SPAN_ID], lost: [] } },
  'POST /api/review-queue/release': { body: { spanIds: [SPAN_ID] }, response: { released: [SPAN_ID] } },
  'POST /api/spans/{spanId}/feedback': { body: { content: comment.content }, response: comment },
  'PATCH /api/feedback/{feedbackId}': { body: { content: comment.content }, response: comment },
  'DELETE /api/feedback/{feedbackId}': { response: { id: comment.id } },
  'DELETE /api/traces/{traceId}': { response: { id: TRACE_UUID } },
  'GET /api/spans/{spanId}': {
    response: { ...span, trace: { id: TRACE_UUID, traceId: TRACE_ID, name: 'support-answer' } },
  },
  'GET /api/traces/{traceId}/attributions': {
    response: {
      attributions: [
        {
          kind: 'engine',
          id: ATTRIBUTION_ID,
          errorType: 'hallucinated_content',
          errorTypeId: '6dccd9ed-11cf-54ec-8538-fb9527a03852',
          errorTypeName: 'Hallucinated content',
          errorTypeCategory: 'AI Error',
          createdAt: ANSWERED,
          confidence: 0.58,
          spanId: SPAN_ID,
          reasoning: 'The answer says 12 months, which neither the question nor the retrieved chunk does. It says 24.',
          alternatives: [
            { errorType: 'context_misinterpretation', confidence: 0.31 },
            { errorType: 'reasoning_error', confidence: 0.04 },
          ],
          evidence: [{ spanId: SPAN_ID, path: 'output.answer', note: '12 stands nowhere in the input or the chunks' }],
          engine: 'rules',
          durationMs: 3,
          usage: null,
        },
        {
          kind: 'review',
          reviewId: REVIEW_ID,
          spanId: SPAN_ID,
          errorType: builtInErrorType.errorType,
          errorTypeId: builtInErrorType.id,
          errorTypeName: builtInErrorType.name,
          errorTypeCategory: builtInErrorType.category,
          createdAt: JUDGED,
          by: USER_ID,
          comment: review.comment,
          confidence: null,
          reasoning: review.comment,
          alternatives: [],
          evidence: [{ spanId: SPAN_ID, path: 'review', note: `names "${builtInErrorType.name}" as the cause` }],
          inForce: true,
        },
      ],
      nextCursor: null,
    },
  },
  'GET /api/attribution-quality': {
    response: {
      reviewed: 200,
      reviewedIsMinimum: false,
      agreement: { errorType: 0.7, category: 0.84 },
      kappa: { errorType: 0.492, category: 0.63 },
      errorTypes: [
        {
          errorType: 'hallucinated_content',
          answered: 40,
          agreed: 30,
          precision: 0.75,
          overruled: [{ errorType: 'context_misinterpretation', count: 10 }],
        },
      ],
      engines: [{ engine: 'rules', reviewed: 200, agreement: { errorType: 0.7, category: 0.84 } }],
      calibration: [{ from: 0.7, to: 0.8, count: 40, meanConfidence: 0.75, agreement: 0.75 }],
    },
  },
  'GET /api/insights': {
    response: {
      from: '2026-10-23T00:00:00.000Z',
      to: '2026-11-22T00:00:00.000Z',
      outputs: { total: 1840, reviewed: 212, countedAt: '2026-11-21T11:15:00.000Z' },
      steps: [{ stepId: 'generate-answer', outputs: 920, reviewed: 212, accepted: 180, corrected: 32 }],
      days: [
        {
          day: '2026-11-21',
          stepId: 'generate-answer',
          promptVersionId: PROMPT_VERSION_ID,
          accepted: 11,
          corrected: 3,
        },
      ],
      promptVersions: [
        { id: PROMPT_VERSION_ID, promptId: PROMPT_ID, stepId: 'generate-answer', number: 2, isActive: true },
      ],
      errorTypes: [{ errorType: 'context_misinterpretation', stepId: 'generate-answer', source: 'review', count: 9 }],
      reviewers: [{ userId: USER_ID, name: 'Ada Lopez', days: [{ day: '2026-11-21', reviewed: 14 }] }],
    },
  },
  'GET /api/error-types': { response: { errorTypes: [builtInErrorType, errorType], nextCursor: null } },
  'GET /api/prompts': { response: { prompts: [prompt], nextCursor: null } },
  'GET /api/prompts/{promptId}': {
    response: {
      id: PROMPT_ID,
      stepId: prompt.stepId,
      outputSchema: SCHEMA,
      versions: [{ ...promptVersion, accepted: 11, corrected: 3 }],
    },
  },
  'GET /api/prompts/{promptId}/versions/{a}/diff/{b}': {
    response: {
      lines: [
        { op: 'remove', text: 'Answer the question.' },
        { op: 'add', text: prompt.content },
      ],
      isMinimal: true,
      schema: [{ path: 'properties.answer.type', op: 'change', before: 'object', after: 'string' }],
    },
  },
  'POST /api/prompts': {
    body: { projectSlug: 'support', stepId: prompt.stepId, content: prompt.content, outputSchema: SCHEMA },
    response: prompt,
  },
  'POST /api/prompts/{promptId}/versions': {
    body: { content: prompt.content, note: 'Say that the chunks are all there is' },
    response: { ...promptVersion, note: 'Say that the chunks are all there is' },
  },
  'PUT /api/prompts/{promptId}/active-version': { body: { versionId: PROMPT_VERSION_ID }, response: prompt },
  'DELETE /api/prompts/{promptId}': { response: { id: PROMPT_ID } },
  'GET /api/knowledge-docs': { response: { knowledgeDocs: [doc], nextCursor: null } },
  'GET /api/knowledge-docs/{docId}': {
    response: { id: DOC_ID, slug: doc.slug, title: doc.title, versions: [docVersion] },
  },
  'GET /api/knowledge-docs/{docId}/versions/{a}/diff/{b}': {
    response: {
      lines: [
        { op: 'remove', text: 'Every device has a warranty of 12 months.' },
        { op: 'add', text: doc.content },
      ],
      isMinimal: true,
      schema: [],
    },
  },
  'POST /api/knowledge-docs': {
    body: { projectSlug: 'support', slug: doc.slug, title: doc.title, content: doc.content },
    response: doc,
  },
  'POST /api/knowledge-docs/{docId}/versions': {
    body: { content: doc.content },
    response: { ...docVersion, isActive: false },
  },
  'PUT /api/knowledge-docs/{docId}/active-version': { body: { versionId: DOC_VERSION_ID }, response: doc },
  'PATCH /api/knowledge-docs/{docId}': { body: { title: doc.title }, response: doc },
  'DELETE /api/knowledge-docs/{docId}': { response: { id: DOC_ID } },
  'POST /api/orgs': {
    body: { slug: 'acme', name: 'Acme' },
    response: {
      id: ORGANIZATION_ID,
      slug: 'acme',
      name: 'Acme',
      createdAt: CREATED,
      apiKey: { ...newApiKey, name: 'Owner', projectId: null, scopes: ['ingest', 'read', 'review', 'manage'] },
    },
  },
  'POST /api/orgs/{slug}/api-keys': {
    body: {},
    response: { ...newApiKey, name: 'Owner', projectId: null, scopes: ['ingest', 'read', 'review', 'manage'] },
  },
  'GET /api/projects': { response: { projects: [project], nextCursor: null } },
  'POST /api/projects': { body: { slug: 'support', name: 'Customer support' }, response: project },
  'PATCH /api/projects/{projectId}': {
    body: { retentionDays: 90 },
    response: { ...project, retentionDays: 90 },
  },
  'DELETE /api/projects/{projectId}': { body: { confirm: project.slug }, response: { id: project.id } },
  'PUT /api/projects/{projectId}/error-types/{errorType}': {
    body: { name: errorType.name, category: errorType.category, rule: errorType.rule },
    response: errorType,
  },
  'GET /api/api-keys': { response: { apiKeys: [apiKey], nextCursor: null } },
  'POST /api/api-keys': {
    body: { name: apiKey.name, projectSlug: 'support', scopes: ['ingest'] },
    response: newApiKey,
  },
  'PATCH /api/api-keys/{keyId}': { body: { name: apiKey.name, expiresAt: apiKey.expiresAt }, response: apiKey },
  'DELETE /api/api-keys/{keyId}': { response: { id: KEY_ID } },
  'POST /api/api-keys/{keyId}/rotate': { body: { graceSeconds: 3600 }, response: newApiKey },
  'GET /api/users': { response: { users: [user], nextCursor: null } },
  'POST /api/users': { body: { email: user.email, name: user.name }, response: user },
  'PATCH /api/users/{userId}': { body: { name: user.name }, response: user },
  'DELETE /api/users/{userId}': { response: { id: USER_ID } },
  'GET /api/audit-log': {
    response: {
      entries: [
        {
          id: ENTRY_ID,
          at: CREATED,
          action: 'prompt.activate',
          actor: { keyId: KEY_ID, userId: USER_ID },
          projectId: PROJECT_ID,
          targetId: PROMPT_ID,
          beforeId: DOC_VERSION_ID,
          afterId: PROMPT_VERSION_ID,
          requestId: REQUEST_ID,
        },
      ],
      nextCursor: null,
    },
  },
  'POST /api/session': { body: { link: TOKEN }, response: session },
  'GET /api/session': { response: session },
  'DELETE /api/session': { response: { id: KEY_ID } },
  'GET /api/session/organizations': {
    response: { organizations: [{ slug: 'acme', name: 'Acme' }] },
  },
  'POST /api/sign-in-links': {
    body: { expiresInSeconds: 900 },
    response: { token: TOKEN, expiresAt: '2026-11-02T08:15:00.000Z' },
  },
  'GET /api/reviewers': { response: { reviewers: [{ id: USER_ID, name: user.name }] } },
  'GET /openapi.json': { response: { openapi: '3.1.0' } },
  'GET /healthz': { response: { status: 'ok' } },
  'GET /readyz': { response: { status: 'ok' } },
}
