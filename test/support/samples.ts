import type { Contract } from '../../src/api/contract.ts'
import {
  BASELINE_ID,
  COMMENT_ID,
  DATASET_ID,
  DOC_DRAFT_ID,
  DOC_ID,
  DOC_VERSION_ID,
  EVENT_ID,
  EXPERIMENT_ID,
  FEEDBACK_ID,
  KEY_ID,
  PROBLEM_ID,
  PROJECT_ID,
  PROMPT_DRAFT_ID,
  PROMPT_ID,
  PROMPT_VERSION_ID,
  SPAN_ID,
  TRACE_ID,
  TRACE_UUID,
  USER_ID,
  VIEW_ID,
  WEBHOOK_ID,
} from '../../src/api/story.ts'
import { problemUuid } from '../../src/domain/ids.ts'
import { INLINE_BYTES } from '../../src/limits.ts'
import { event, resultsOf } from './batch.ts'
import { aFeedback, anObservation, aSpan, aTrace } from './builders.ts'
import { stored } from './database.ts'
import { type Client, type Org, REVIEWER_EMAIL } from './org.ts'
import { anExportTo } from './telemetry.ts'
import { withoutQueue } from './webhooks.ts'

/** The data that samples refer to: a tenant with a trace, an observation, feedback, and so on. */
export interface World {
  org: Org
  traceId: string
  id: string
  spanId: string
  prompt: Text
  doc: Text
  /** A dataset with an imported example. */
  dataset: { id: string; itemId: string }
  /** A running experiment on another dataset's only item, and a finished experiment with an output for the item. */
  experiment: { id: string; baselineId: string; itemId: string }
  /** The path of the gate for a step that has no prompt. */
  gate: string
  /** A key that isn't used elsewhere. */
  keyId: string
  /** An empty project. */
  spareProject: { id: string; slug: string }
  /** A user that isn't used elsewhere. */
  spareUserId: string
  /** The key of the organization's reviewer, and a comment by that reviewer. */
  reviewerKey: string
  comment: { id: string }
  /** A problem with a pending suggestion. */
  problem: { id: string }
  /** A view that the reviewer shares. */
  view: { id: string }
  /** A webhook that has a test event and subscribes to none of the events that samples cause. */
  webhook: { id: string; deliveryId: string }
  /** The `feedback_id` of feedback that a pipeline sent. */
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
  /** Whether the request refers to a tenant's data, which other tenants' keys must not access. */
  namesTenants: boolean
}

/** Large enough to be stored in R2. */
const large = 'x'.repeat(INLINE_BYTES)

export async function newWorld(org: Org): Promise<World> {
  // The user already exists if this is the tenant's second world.
  const reviewer = await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Reviewer' })
  if (reviewer.status === 201) org.userId = reviewer.body.id
  return {
    org,
    ...(await newTrace(org)),
    ...(await newPrompt(org)),
    ...(await newDoc(org)),
    ...(await newKey(org)),
    ...(await newSpareProject(org)),
    ...(await newSpareUser(org)),
    ...(await newDatasetWithItem(org)),
    ...(await newExperiment(org)),
    ...(await newGate(org)),
    ...(await newView(org)),
    ...(await newWebhook(org)),
    ...(await newProblem(org)),
  }
}

/** The function that creates each field of a world. */
const CREATORS: { readonly [Field in Exclude<keyof World, 'org'>]: (org: Org) => Promise<Pick<World, Field>> } = {
  traceId: newTrace,
  id: newTrace,
  spanId: newTrace,
  comment: newTrace,
  reviewerKey: newTrace,
  feedbackId: newTrace,
  prompt: newPrompt,
  doc: newDoc,
  keyId: newKey,
  spareProject: newSpareProject,
  spareUserId: newSpareUser,
  dataset: newDatasetWithItem,
  experiment: newExperiment,
  gate: newGate,
  view: newView,
  webhook: newWebhook,
  problem: newProblem,
}

/**
 * The world, but with new data in place of the data that a sample refers to. This way, a call that uses up its data can
 * be repeated at a lower cost than with a new world.
 */
export async function renew(
  world: World,
  { path, body }: Pick<Sample, 'path'> & { body?: Sample['body'] | undefined },
): Promise<World> {
  const creators = new Set<(org: Org) => Promise<Partial<World>>>()
  const watched = new Proxy(world, {
    get(target, field: keyof World) {
      if (field !== 'org') creators.add(CREATORS[field])
      return target[field]
    },
  })
  path(watched)
  body?.(watched)
  const parts = []
  for (const create of creators) parts.push(await create(world.org))
  return Object.assign({}, world, ...parts)
}

async function newTrace(org: Org) {
  const trace = aTrace()
  const { trace_id } = trace
  const span = aSpan({ trace_id, output: large })
  const feedback_id = crypto.randomUUID()
  const [created] = await resultsOf(org, [
    event('trace', trace),
    event('observation', anObservation({ trace_id, data: large })),
    event('feedback', aFeedback({ trace_id, feedback_id })),
    event('span', span),
  ])
  const id = String(created?.body.id)
  const reviewerKey = await org.keyFor({ userId: org.userId, scopes: ['review'] })
  await addAttribution(id)
  const comment = await org.clientOf(reviewerKey).post(`/api/spans/${span.span_id}/feedback`, { content: 'Why?' })
  return {
    traceId: trace_id,
    id,
    spanId: span.span_id,
    reviewerKey,
    comment: comment.body,
    feedbackId: feedback_id,
  }
}

async function newPrompt(org: Org) {
  return { prompt: await newText(org, '/api/prompts', aPrompt()) }
}

async function newDoc(org: Org) {
  return { doc: await newText(org, '/api/knowledge-docs', aKnowledgeDoc()) }
}

async function newKey({ owner }: Org) {
  const key = await owner.post('/api/api-keys', { name: 'Spare', projectSlug: 'support', scopes: ['manage'] })
  return { keyId: key.body.id }
}

async function newSpareProject({ owner }: Org) {
  return { spareProject: (await owner.post('/api/projects', { slug: freshSlug(), name: 'Spare' })).body }
}

async function newSpareUser({ owner }: Org) {
  const user = await owner.post('/api/users', { email: `${freshSlug()}@example.com`, name: 'Spare' })
  return { spareUserId: user.body.id }
}

async function newDatasetWithItem(org: Org) {
  return { dataset: await newDataset(org, freshSlug()) }
}

/** Creates a dataset with an imported example. Each world has its own dataset, because the item's values are large. */
async function newDataset(org: Org, stepId: string): Promise<World['dataset']> {
  const { id } = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId })).body
  const example = { id: crypto.randomUUID(), input: { question: large }, expected: { answer: large } }
  await org.owner.post(`/api/datasets/${id}/items`, { items: [example] })
  await org.owner.put(`/api/datasets/${id}/evaluator`, { type: 'exact' })
  return { id, itemId: example.id }
}

async function newExperiment(org: Org) {
  const dataset = await newDataset(org, freshSlug())
  const draft = { projectSlug: 'support', datasetId: dataset.id, runner: 'client' }
  const [id, baselineId] = [crypto.randomUUID(), crypto.randomUUID()]
  for (const each of [id, baselineId]) await org.owner.post('/api/experiments', { ...draft, id: each })
  const results = [{ itemId: dataset.itemId, output: { answer: `${large} and more` } }]
  await org.owner.post(`/api/experiments/${baselineId}/results`, { results })
  return { experiment: { id, baselineId, itemId: dataset.itemId } }
}

async function newGate({ owner, project }: Org) {
  const gate = `/api/projects/${project.id}/gates/${freshSlug()}`
  await owner.put(gate, { minItems: 1 })
  return { gate }
}

async function newView(org: Org) {
  const reviewer = org.clientOf(await org.keyFor({ userId: org.userId, scopes: ['review'] }))
  return { view: (await reviewer.post('/api/views', aView())).body }
}

export async function newWebhook(org: Org) {
  const { webhooks } = (await org.owner.get('/api/webhooks?projectSlug=support')).body
  // The number of webhooks is limited, and a tenant may have many worlds, so only the first webhook and the latest ones
  // are kept.
  const own = webhooks.filter(({ projectId }: { projectId: string | null }) => projectId !== null)
  for (const { id } of own.slice(1, -6)) await org.owner.delete(`/api/webhooks/${id}`)
  const { id } = (await org.owner.post('/api/webhooks', { ...aWebhook(), projectSlug: 'support' })).body
  // If there were a queue, the service could send the test event at any time, which would change its delivery.
  const delivery = (await org.clientOf(org.ownerKey, withoutQueue()).post(`/api/webhooks/${id}/test`)).body
  return { webhook: { id, deliveryId: delivery.id } }
}

export async function newProblem(org: Org) {
  const trace = aTrace({ name: freshSlug() })
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: 'No' }))
  const { spans } = (await org.owner.get(`/api/traces/${id}`)).body
  await org.owner.put(`/api/spans/${spans[0].id}/review`, { decision: 'correct', approvedOutput: 'Yes' })
  const key = { stepId: trace.name, errorType: '', docSlug: '' }
  const problem = { id: await problemUuid(org.project.id, key) }
  await org.owner.patch(`/api/problems/${problem.id}`, { note: 'Seen' })
  // A deployment without a model can't start a suggestion, but shows one that's pending.
  await stored
    .prepare(
      `insert into model_jobs (organization_key, project_key, kind, subject, status, requests, requested_at, attempts)
     select organization_key, key, 'suggest_version', ?, 'pending', 1, 0, 0 from projects where id = ?`,
    )
    .bind(problem.id, org.project.id)
    .run()
  return { problem }
}

/** Gives a trace an outdated attribution result. */
async function addAttribution(traceUuid: string): Promise<void> {
  await stored.batch([
    stored
      .prepare(
        `insert into attribution_jobs (trace_key, organization_key, project_key, status, requests, requested_at, attempts,
         basis, attribution_number, error_type)
       select key, organization_key, project_key, 'done', 1, 0, 0, 'before', 1, 'reasoning_error' from traces where id = ?`,
      )
      .bind(traceUuid),
    stored
      .prepare(
        `insert into attributions (trace_key, number, id, project_key, created_at, error_type, confidence, span_id, reasoning,
         alternatives, evidence, engine, duration_ms)
       select key, 1, ?, project_key, 0, 'reasoning_error', 0.5, null, 'So it seems.', '[]', '[]', 'rules', 1
       from traces where id = ?`,
      )
      .bind(crypto.randomUUID(), traceUuid),
  ])
}

async function newText({ owner }: Org, path: string, body: object): Promise<Text> {
  const { id, versionId } = (await owner.post(path, body)).body
  const draft = await owner.post(`${path}/${id}/versions`, { content: 'Not yet.' })
  return { id, versionId, draftId: draft.body.id }
}

const freshSlug = () => `slug-${crypto.randomUUID()}`

const aPrompt = () => ({ projectSlug: 'support', stepId: freshSlug(), content: 'Answer the question.' })
const aWebhook = () => ({
  id: crypto.randomUUID(),
  // This host doesn't exist on any network.
  url: 'https://hooks.invalid/countersign',
  events: ['span.disputed'],
})
const aView = () => ({
  projectSlug: 'support',
  name: freshSlug(),
  page: 'traces',
  query: 'status=running',
  shared: true,
})
const aKnowledgeDoc = () => ({
  projectSlug: 'support',
  slug: freshSlug(),
  title: 'Returns',
  content: 'Returns: 14 days.',
})

/** The world's own ID for each ID in the contracts' examples. */
const NAMES: ReadonlyMap<unknown, (world: World) => string> = new Map([
  [TRACE_ID, ({ traceId }) => traceId],
  [TRACE_UUID, ({ id }) => id],
  [SPAN_ID, ({ spanId }) => spanId],
  [FEEDBACK_ID, ({ feedbackId }) => feedbackId],
  [COMMENT_ID, ({ comment }) => comment.id],
  [VIEW_ID, ({ view }) => view.id],
  [WEBHOOK_ID, ({ webhook }) => webhook.id],
  [EVENT_ID, ({ webhook }) => webhook.deliveryId],
  [PROBLEM_ID, ({ problem }) => problem.id],
  [PROMPT_ID, ({ prompt }) => prompt.id],
  [PROMPT_VERSION_ID, ({ prompt }) => prompt.versionId],
  [PROMPT_DRAFT_ID, ({ prompt }) => prompt.draftId],
  [DOC_ID, ({ doc }) => doc.id],
  [DOC_VERSION_ID, ({ doc }) => doc.versionId],
  [DOC_DRAFT_ID, ({ doc }) => doc.draftId],
  [DATASET_ID, ({ dataset }) => dataset.id],
  [EXPERIMENT_ID, ({ experiment }) => experiment.id],
  [BASELINE_ID, ({ experiment }) => experiment.baselineId],
  [PROJECT_ID, ({ org }) => org.project.id],
  [KEY_ID, ({ keyId }) => keyId],
  [USER_ID, ({ spareUserId }) => spareUserId],
  ['acme', ({ org }) => org.slug],
] satisfies [unknown, (world: World) => string][])

/** The path and query of a contract's example, with a world's IDs. */
function pathIn(world: World, { path, example }: Contract): string {
  const inWorld = (fields: object = {}) =>
    Object.entries(fields).map(([field, value]) => [field, NAMES.get(value)?.(world) ?? String(value)] as const)
  const params = new Map(inWorld(example.params))
  const query = new URLSearchParams(inWorld(example.query).map(([field, value]) => [field, value]))
  const filled = path.replace(/{(\w+)}/g, (_, name: string) => params.get(name) ?? '')
  return query.size > 0 ? `${filled}?${query}` : filled
}

/** The body of a contract's example, with a world's IDs. */
const bodyIn = (world: World, { example }: Contract): object =>
  JSON.parse(JSON.stringify(example.body), (_, value: unknown) => NAMES.get(value)?.(world) ?? value)

/**
 * Samples that differ from the contract's example, mostly because they have to create or change something each time.
 */
const differences: Readonly<Record<string, Partial<Sample>>> = {
  'POST /api/v1/traces': { body: () => aTrace() },
  'POST /api/v1/observations': { body: ({ traceId }) => anObservation({ trace_id: traceId }), namesTenants: true },
  'POST /api/v1/feedback': { body: ({ traceId }) => aFeedback({ trace_id: traceId }), namesTenants: true },
  'POST /api/v1/spans': { body: ({ traceId }) => aSpan({ trace_id: traceId }), namesTenants: true },
  // Only the events refer to a tenant's data. If an event is about another tenant's trace, the event fails, not the
  // batch.
  'POST /api/v1/batch': { body: () => ({ events: [{ type: 'trace', body: aTrace() }] }) },
  'PUT /api/spans/{spanId}/review': {
    body: () => ({
      decision: 'correct',
      approvedOutput: `No ${large}`,
      comment: 'Wrong',
      errorType: 'reasoning_error',
    }),
  },
  // Only the reviews refer to a tenant's data. If a review is of another tenant's span, the review fails, not the call.
  'POST /api/reviews': { body: ({ spanId }) => ({ reviews: [{ spanId, decision: 'accept' }] }) },
  // Use a new name each time, because saving the same view again changes nothing.
  'POST /api/views': { body: () => aView() },
  // This refers to the world's webhook, so that `renew` calls `newWebhook`, which makes room for another webhook.
  'POST /api/webhooks': {
    body: ({ webhook }) => ({ ...aWebhook(), projectSlug: 'support', description: `Besides ${webhook.id}` }),
  },
  'PATCH /api/webhooks/{webhookId}': { body: () => ({ description: freshSlug() }) },
  // Keep the page short, because the fault suite fails each R2 read in turn, and every world in the tenant adds items.
  'GET /api/review-queue': { path: ({ org }) => `/api/review-queue?projectId=${org.project.id}&limit=2` },
  'POST /api/prompts': { body: () => aPrompt() },
  'PUT /api/prompts/{promptId}/active-version': { body: ({ prompt }) => ({ versionId: prompt.draftId }) },
  'POST /api/knowledge-docs': { body: () => aKnowledgeDoc() },
  'PUT /api/knowledge-docs/{docId}/active-version': { body: ({ doc }) => ({ versionId: doc.draftId }) },
  'PATCH /api/knowledge-docs/{docId}': { body: () => ({ title: `Returns ${crypto.randomUUID()}` }) },
  'PATCH /api/projects/{projectId}': { body: () => ({ name: `Renamed ${crypto.randomUUID()}` }) },
  'DELETE /api/projects/{projectId}': {
    path: ({ spareProject }) => `/api/projects/${spareProject.id}`,
    body: ({ spareProject }) => ({ confirm: spareProject.slug }),
  },
  // Use a new name each time, because repeating a request has no effect.
  'PUT /api/projects/{projectId}/error-types/{errorType}': {
    path: ({ org }) => `/api/projects/${org.project.id}/error-types/type_${crypto.randomUUID().slice(0, 8)}`,
    body: () => ({ name: 'Late delivery', category: 'Human Error', rule: 'The documents came too late.' }),
  },
  // Use a new project each time, because the call replaces the values from the previous call.
  'PUT /api/projects/{projectId}/step-names': {
    path: ({ spareProject }) => `/api/projects/${spareProject.id}/step-names`,
  },
  // The span isn't an item until it's reviewed, so this uses an imported item.
  'GET /api/datasets/{datasetId}/items/{itemId}': {
    path: ({ dataset: { id, itemId } }) => `/api/datasets/${id}/items/${itemId}`,
  },
  'PATCH /api/datasets/{datasetId}/items/{itemId}': {
    path: ({ dataset: { id, itemId } }) => `/api/datasets/${id}/items/${itemId}`,
    body: () => ({ note: `Changed ${crypto.randomUUID()}` }),
  },
  'POST /api/datasets/{datasetId}/items': {
    body: () => ({ items: [{ id: crypto.randomUUID(), input: { question: large }, expected: { answer: large } }] }),
  },
  // Use a new tolerance each time, because setting the same evaluator again changes nothing.
  'PUT /api/datasets/{datasetId}/evaluator': { body: () => ({ type: 'number', tolerance: Math.random() }) },
  // Use a new step each time, because a step has only one dataset.
  'PUT /api/datasets': { body: () => ({ projectSlug: 'support', stepId: freshSlug() }) },
  'POST /api/experiments': {
    body: ({ dataset }) => ({
      id: crypto.randomUUID(),
      projectSlug: 'support',
      datasetId: dataset.id,
      name: 'Cite the warranty doc',
      runner: 'client',
    }),
    namesTenants: true,
  },
  // The path has no `versionId`, because no model wrote the draft.
  'GET /api/problems/{problemId}/suggestion': { path: ({ problem }) => `/api/problems/${problem.id}/suggestion` },
  // Only the finished experiment has an output.
  'GET /api/experiments/{experimentId}/items': {
    path: ({ experiment: { baselineId } }) => `/api/experiments/${baselineId}/items`,
  },
  'POST /api/experiments/{experimentId}/results': {
    body: ({ experiment: { itemId } }) => ({
      results: [
        {
          itemId,
          output: { answer: `${large}?` },
          durationMs: 10,
          usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 },
        },
      ],
    }),
  },
  'POST /api/experiments/{experimentId}/items/{itemId}/review': {
    path: ({ experiment: { baselineId, itemId } }) => `/api/experiments/${baselineId}/items/${itemId}/review`,
  },
  // Use a new step each time, because setting the same gate again has no effect.
  'PUT /api/projects/{projectId}/gates/{stepId}': {
    path: ({ org }) => `/api/projects/${org.project.id}/gates/${freshSlug()}`,
  },
  'GET /api/projects/{projectId}/gates/{stepId}': { path: ({ gate, prompt }) => `${gate}?versionId=${prompt.draftId}` },
  'DELETE /api/projects/{projectId}/gates/{stepId}': { path: ({ gate }) => gate },
  // Use a new step each time, for the same reason.
  'PUT /api/projects/{projectId}/guidelines/{stepId}': {
    path: ({ org }) => `/api/projects/${org.project.id}/guidelines/${freshSlug()}`,
  },
  // Use a new share each time, for the same reason.
  'PUT /api/projects/{projectId}/review-policy': { body: () => ({ steps: { sampled: { sample: Math.random() } } }) },
  'PATCH /api/problems/{problemId}': { body: () => ({ note: `Changed ${crypto.randomUUID()}` }) },
  'PATCH /api/api-keys/{keyId}': { body: () => ({ name: `Renamed ${crypto.randomUUID()}` }) },
  'POST /api/users': { body: () => ({ email: `${freshSlug()}@example.com`, name: 'Ada' }) },
  'PATCH /api/users/{userId}': { body: () => ({ name: `Renamed ${crypto.randomUUID()}` }) },
  'POST /api/session': { body: ({ org }) => ({ apiKey: org.projectKey }) },
  'GET /api/reviewers': { path: ({ org }) => `/api/reviewers?ids=${org.userId},${crypto.randomUUID()}` },
  'POST /api/orgs': { body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'POST /api/projects': { body: () => ({ slug: freshSlug(), name: 'Sample' }) },
  'POST /api/api-keys': { body: (_, scopes = ['read']) => ({ name: 'Sample', scopes }) },
}

/** A valid request to an endpoint: its contract's example, with a world's data. */
export function sampleOf(contract: Contract): Sample {
  const { method, path, family, example } = contract
  if (family === 'otlp') return { path: () => path, body: () => anExportTo(path), namesTenants: false }
  return {
    path: world => pathIn(world, contract),
    ...(example.body && { body: world => bodyIn(world, contract) }),
    namesTenants: path.includes('{') || 'projectId' in (example.query ?? {}),
    ...differences[`${method} ${path}`],
  }
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const

/** The client's function for an endpoint's method. */
export const methodOf = ({ method }: Contract): keyof Client => METHODS[method]

/** The statuses of a successful request. */
export const successesOf = ({ responses }: Contract): number[] => Object.keys(responses).map(Number)
