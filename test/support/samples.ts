import { env } from 'cloudflare:workers'
import type { Contract } from '../../src/api/contract.ts'
import { INLINE_BYTES } from '../../src/limits.ts'
import { aFeedback, anObservation, aSpan, aTrace } from './builders.ts'
import { type Answer, type Client, type Org, REVIEWER_EMAIL } from './org.ts'
import { anExportTo } from './telemetry.ts'

/** A tenant with one trace that has an observation and feedback: what samples refer to. */
export interface World {
  org: Org
  traceId: string
  id: string
  spanId: string
  prompt: Text
  doc: Text
  /** A key that nothing else uses. */
  keyId: string
  /** A project that has nothing. */
  spareProject: { id: string; slug: string }
  /** A user whom nothing else names. */
  spareUserId: string
  /** A key of the organization's reviewer, and a comment by that one. */
  reviewerKey: string
  comment: { id: string }
  /** A pipeline's feedback, as the pipeline knows it. */
  feedbackId: string
}

/** A prompt or a knowledge doc. */
interface Text {
  id: string
  versionId: string
  /** A version that is not active. */
  draftId: string
}

/** A valid request to one endpoint. */
interface Sample {
  path: (world: World) => string
  /** `scopes` are those of the calling key. */
  body?: (world: World, scopes?: readonly string[]) => object
  /** What the request names that belongs to a tenant, if anything: another tenant's must not be reached. */
  names?: 'trace' | 'span' | 'project' | 'text' | 'key' | 'feedback' | 'user'
}

/** What lies in R2. */
const large = 'x'.repeat(INLINE_BYTES)

export async function newWorld(org: Org): Promise<World> {
  const trace = aTrace()
  const created: Answer = await org.ingest.post('/api/v1/traces', trace)
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: large }))
  const feedback = await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id: trace.trace_id }))
  const span = aSpan({ trace_id: trace.trace_id, output: large })
  await org.ingest.post('/api/v1/spans', span)
  const prompt = await newText(org, '/api/prompts', aPrompt())
  const doc = await newText(org, '/api/knowledge-docs', aKnowledgeDoc())
  const key = await org.owner.post('/api/api-keys', { name: 'Spare', projectSlug: 'support', scopes: ['manage'] })
  const spareProject = await org.owner.post('/api/projects', { slug: freshSlug(), name: 'Spare' })
  // In the tenant's second world, it is there.
  const reviewer = await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Reviewer' })
  if (reviewer.status === 201) org.userId = reviewer.body.id
  const spare = await org.owner.post('/api/users', { email: `${freshSlug()}@example.com`, name: 'Spare' })
  const reviewerKey = await org.keyFor({ userId: org.userId, scopes: ['review'] })
  await addAttribution(created.body.id)
  const comment = await org.clientOf(reviewerKey).post(`/api/spans/${span.span_id}/feedback`, { content: 'Why?' })
  return {
    org,
    traceId: trace.trace_id,
    id: created.body.id,
    spanId: span.span_id,
    prompt,
    doc,
    keyId: key.body.id,
    spareProject: spareProject.body,
    spareUserId: spare.body.id,
    reviewerKey,
    comment: comment.body,
    feedbackId: feedback.body.feedback_id,
  }
}

/** A result that a trace has, and that does not go by all that there is now. */
async function addAttribution(traceUuid: string): Promise<void> {
  await env.DB.batch([
    env.DB.prepare(
      `insert into attribution_jobs (trace_key, organization_key, project_key, status, requests, requested_at, attempts,
         basis, attribution_number, error_type)
       select key, organization_key, project_key, 'done', 1, 0, 0, 'before', 1, 'reasoning_error' from traces where id = ?`,
    ).bind(traceUuid),
    env.DB.prepare(
      `insert into attributions (trace_key, number, id, project_key, created_at, error_type, confidence, span_id, reasoning,
         alternatives, evidence, engine, duration_ms)
       select key, 1, ?, project_key, 0, 'reasoning_error', 0.5, null, 'So it seems.', '[]', '[]', 'rules', 1
       from traces where id = ?`,
    ).bind(crypto.randomUUID(), traceUuid),
  ])
}

async function newText({ owner }: Org, path: string, body: object): Promise<Text> {
  const { id, versionId } = (await owner.post(path, body)).body
  const draft = await owner.post(`${path}/${id}/versions`, { content: 'Not yet.' })
  return { id, versionId, draftId: draft.body.id }
}

const freshSlug = () => `slug-${crypto.randomUUID()}`

const aPrompt = () => ({ projectSlug: 'support', stepId: freshSlug(), content: 'Answer the question.' })
const aKnowledgeDoc = () => ({
  projectSlug: 'support',
  slug: freshSlug(),
  title: 'Returns',
  content: 'Returns: 14 days.',
})

const samples: Readonly<Record<string, Sample>> = {
  'POST /api/v1/traces': { path: () => '/api/v1/traces', body: () => aTrace() },
  'POST /api/v1/observations': {
    path: () => '/api/v1/observations',
    body: ({ traceId }) => anObservation({ trace_id: traceId }),
    names: 'trace',
  },
  'POST /api/v1/feedback': {
    path: () => '/api/v1/feedback',
    body: ({ traceId }) => aFeedback({ trace_id: traceId }),
    names: 'trace',
  },
  'POST /api/v1/spans': {
    path: () => '/api/v1/spans',
    body: ({ traceId }) => aSpan({ trace_id: traceId }),
    names: 'trace',
  },
  // What it names, its events name: a foreign trace is their 404, not the batch's.
  'POST /api/v1/batch': { path: () => '/api/v1/batch', body: () => ({ events: [{ type: 'trace', body: aTrace() }] }) },
  'GET /api/v1/traces/search': { path: () => '/api/v1/traces/search?group_id=session-1' },
  'GET /api/traces': { path: ({ org }) => `/api/traces?projectId=${org.project.id}`, names: 'project' },
  'GET /api/traces/{traceId}': { path: ({ id }) => `/api/traces/${id}`, names: 'trace' },
  'GET /api/spans/{spanId}': { path: ({ spanId }) => `/api/spans/${spanId}`, names: 'span' },
  'PUT /api/spans/{spanId}/review': {
    path: ({ spanId }) => `/api/spans/${spanId}/review`,
    body: () => ({
      decision: 'correct',
      approvedOutput: `No ${large}`,
      comment: 'Wrong',
      errorType: 'reasoning_error',
    }),
    names: 'span',
  },
  // What it names, its reviews name: a foreign span is their 403, not the call's.
  'POST /api/reviews': {
    path: () => '/api/reviews',
    body: ({ spanId }) => ({ reviews: [{ spanId, decision: 'accept' }] }),
  },
  'GET /api/spans/{spanId}/reviews': { path: ({ spanId }) => `/api/spans/${spanId}/reviews`, names: 'span' },
  // A short page: what reads it from R2 fails call by call, and a tenant's worlds add up.
  'GET /api/review-queue': {
    path: ({ org }) => `/api/review-queue?projectId=${org.project.id}&limit=2`,
    names: 'project',
  },
  // What they name they refuse where it is another tenant's.
  'POST /api/review-queue/claim': {
    path: () => '/api/review-queue/claim',
    body: ({ spanId }) => ({ spanIds: [spanId] }),
  },
  'POST /api/review-queue/heartbeat': {
    path: () => '/api/review-queue/heartbeat',
    body: ({ spanId }) => ({ spanIds: [spanId] }),
  },
  'POST /api/review-queue/release': {
    path: () => '/api/review-queue/release',
    body: ({ spanId }) => ({ spanIds: [spanId] }),
  },
  'DELETE /api/v1/feedback/{feedback_id}': {
    path: ({ feedbackId }) => `/api/v1/feedback/${feedbackId}`,
    names: 'feedback',
  },
  'POST /api/spans/{spanId}/feedback': {
    path: ({ spanId }) => `/api/spans/${spanId}/feedback`,
    body: () => ({ content: 'Why so?' }),
    names: 'span',
  },
  'PATCH /api/feedback/{feedbackId}': {
    path: ({ comment }) => `/api/feedback/${comment.id}`,
    body: () => ({ content: 'Why not?' }),
    names: 'feedback',
  },
  'DELETE /api/feedback/{feedbackId}': {
    path: ({ comment }) => `/api/feedback/${comment.id}`,
    names: 'feedback',
  },
  'DELETE /api/traces/{traceId}': { path: ({ id }) => `/api/traces/${id}`, names: 'trace' },
  'GET /api/v1/traces/{trace_id}/observations': {
    path: ({ traceId }) => `/api/v1/traces/${traceId}/observations`,
    names: 'trace',
  },
  'POST /api/v1/traces/{trace_id}/attribute': {
    path: ({ traceId }) => `/api/v1/traces/${traceId}/attribute`,
    names: 'trace',
  },
  'GET /api/v1/traces/{trace_id}/attribution': {
    path: ({ traceId }) => `/api/v1/traces/${traceId}/attribution`,
    names: 'trace',
  },
  'GET /api/prompts': { path: ({ org }) => `/api/prompts?projectId=${org.project.id}`, names: 'project' },
  'GET /api/prompts/{promptId}': { path: ({ prompt }) => `/api/prompts/${prompt.id}`, names: 'text' },
  'GET /api/prompts/{promptId}/versions/{a}/diff/{b}': {
    path: ({ prompt }) => `/api/prompts/${prompt.id}/versions/${prompt.versionId}/diff/${prompt.draftId}`,
    names: 'text',
  },
  'POST /api/prompts': { path: () => '/api/prompts', body: () => aPrompt() },
  'POST /api/prompts/{promptId}/versions': {
    path: ({ prompt }) => `/api/prompts/${prompt.id}/versions`,
    body: () => ({ content: 'Answer shortly.' }),
    names: 'text',
  },
  'PUT /api/prompts/{promptId}/active-version': {
    path: ({ prompt }) => `/api/prompts/${prompt.id}/active-version`,
    body: ({ prompt }) => ({ versionId: prompt.draftId }),
    names: 'text',
  },
  'DELETE /api/prompts/{promptId}': { path: ({ prompt }) => `/api/prompts/${prompt.id}`, names: 'text' },
  'GET /api/knowledge-docs': { path: ({ org }) => `/api/knowledge-docs?projectId=${org.project.id}`, names: 'project' },
  'GET /api/knowledge-docs/{docId}': { path: ({ doc }) => `/api/knowledge-docs/${doc.id}`, names: 'text' },
  'GET /api/knowledge-docs/{docId}/versions/{a}/diff/{b}': {
    path: ({ doc }) => `/api/knowledge-docs/${doc.id}/versions/${doc.versionId}/diff/${doc.draftId}`,
    names: 'text',
  },
  'POST /api/knowledge-docs': { path: () => '/api/knowledge-docs', body: () => aKnowledgeDoc() },
  'POST /api/knowledge-docs/{docId}/versions': {
    path: ({ doc }) => `/api/knowledge-docs/${doc.id}/versions`,
    body: () => ({ content: 'Returns within 30 days.' }),
    names: 'text',
  },
  'PUT /api/knowledge-docs/{docId}/active-version': {
    path: ({ doc }) => `/api/knowledge-docs/${doc.id}/active-version`,
    body: ({ doc }) => ({ versionId: doc.draftId }),
    names: 'text',
  },
  'PATCH /api/knowledge-docs/{docId}': {
    path: ({ doc }) => `/api/knowledge-docs/${doc.id}`,
    body: () => ({ title: `Returns ${crypto.randomUUID()}` }),
    names: 'text',
  },
  'DELETE /api/knowledge-docs/{docId}': { path: ({ doc }) => `/api/knowledge-docs/${doc.id}`, names: 'text' },
  'PATCH /api/projects/{projectId}': {
    path: ({ org }) => `/api/projects/${org.project.id}`,
    body: () => ({ name: `Renamed ${crypto.randomUUID()}` }),
    names: 'project',
  },
  'DELETE /api/projects/{projectId}': {
    path: ({ spareProject }) => `/api/projects/${spareProject.id}`,
    body: ({ spareProject }) => ({ confirm: spareProject.slug }),
    names: 'project',
  },
  'GET /api/traces/{traceId}/attributions': { path: ({ id }) => `/api/traces/${id}/attributions`, names: 'trace' },
  'GET /api/attribution-quality': {
    path: ({ org }) => `/api/attribution-quality?projectId=${org.project.id}&engine=rules`,
    names: 'project',
  },
  'GET /api/insights': { path: ({ org }) => `/api/insights?projectId=${org.project.id}`, names: 'project' },
  'GET /api/error-types': { path: ({ org }) => `/api/error-types?projectId=${org.project.id}`, names: 'project' },
  // A new one each time: the same again changes nothing.
  'PUT /api/projects/{projectId}/error-types/{errorType}': {
    path: ({ org }) => `/api/projects/${org.project.id}/error-types/type_${crypto.randomUUID().slice(0, 8)}`,
    body: () => ({ name: 'Late delivery', category: 'Human Error', rule: 'The documents came too late.' }),
    names: 'project',
  },
  'PATCH /api/api-keys/{keyId}': {
    path: ({ keyId }) => `/api/api-keys/${keyId}`,
    body: () => ({ name: `Renamed ${crypto.randomUUID()}` }),
    names: 'key',
  },
  'DELETE /api/api-keys/{keyId}': { path: ({ keyId }) => `/api/api-keys/${keyId}`, names: 'key' },
  'POST /api/api-keys/{keyId}/rotate': {
    path: ({ keyId }) => `/api/api-keys/${keyId}/rotate`,
    body: () => ({ graceSeconds: 60 }),
    names: 'key',
  },
  'GET /api/users': { path: () => '/api/users' },
  'POST /api/users': { path: () => '/api/users', body: () => ({ email: `${freshSlug()}@example.com`, name: 'Ada' }) },
  'PATCH /api/users/{userId}': {
    path: ({ spareUserId }) => `/api/users/${spareUserId}`,
    body: () => ({ name: `Renamed ${crypto.randomUUID()}` }),
    names: 'user',
  },
  'DELETE /api/users/{userId}': { path: ({ spareUserId }) => `/api/users/${spareUserId}`, names: 'user' },
  'GET /api/session/organizations': { path: () => '/api/session/organizations' },
  'POST /api/session': { path: () => '/api/session', body: ({ org }) => ({ apiKey: org.projectKey }) },
  'GET /api/session': { path: () => '/api/session' },
  'DELETE /api/session': { path: () => '/api/session' },
  'POST /api/sign-in-links': { path: () => '/api/sign-in-links', body: () => ({ expiresInSeconds: 60 }) },
  'GET /api/reviewers': { path: ({ org }) => `/api/reviewers?ids=${org.userId},${crypto.randomUUID()}` },
  'GET /healthz': { path: () => '/healthz' },
  'GET /readyz': { path: () => '/readyz' },
  'POST /api/orgs': { path: () => '/api/orgs', body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'POST /api/orgs/{slug}/api-keys': { path: ({ org }) => `/api/orgs/${org.slug}/api-keys`, body: () => ({}) },
  'GET /api/projects': { path: () => '/api/projects' },
  'POST /api/projects': { path: () => '/api/projects', body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'GET /api/api-keys': { path: () => '/api/api-keys' },
  'GET /api/audit-log': { path: () => '/api/audit-log' },
  'GET /openapi.json': { path: () => '/openapi.json' },
  'POST /api/api-keys': { path: () => '/api/api-keys', body: (_, scopes = ['read']) => ({ name: 'Sample', scopes }) },
}

/** A valid request to an endpoint. Every endpoint must have one: the suites over the endpoint list are made of them. */
export function sampleOf({ method, path, family }: Contract): Sample {
  if (family === 'otlp') return { path: () => path, body: () => anExportTo(path) }
  const sample = samples[`${method} ${path}`]
  if (!sample) throw new Error(`test/support/samples.ts has no sample for ${method} ${path}`)
  return sample
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

/** The client's function for an endpoint's method. */
export const methodOf = ({ method }: Contract): keyof Client => METHODS[method]

/** The statuses of a request that was let in and done. */
export const successesOf = ({ responses }: Contract): number[] => Object.keys(responses).map(Number)
