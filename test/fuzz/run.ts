import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { answer } from '../../src/app.ts'
import { TAXONOMY } from '../../src/attribution/taxonomy.ts'
import { within } from '../../src/store/core/deadline.ts'
import { aTrace } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newProblem, newWebhook } from '../support/samples.ts'
import { ORIGIN, signIn } from '../support/session.ts'
import { type ApiDocument, type Operation, schemesOf } from './document.ts'
import { Memory, uuidsIn } from './memory.ts'
import { faultOf, isSuccess, type Received, violationsOf } from './oracle.ts'
import type { Parts, Plan, Repetition } from './plans.ts'
import { change, described, filled, requestOf, set, textOf, urlOf } from './requests.ts'
import type { Caller, Sent } from './sent.ts'
import type { Known } from './values.ts'

/** A response that takes longer is treated as a hang. */
const TIMEOUT_MS = 30_000

/** Two fresh tenants, and the requests sent on their behalf, one after another. */
export interface Run {
  document: ApiDocument
  identities: Record<Caller, Identity>
  /** The plans that succeeded, as they were sent. */
  succeeded: Plan[]
  history: { sent: Sent; status: number }[]
}

/** A caller's credentials and project, and the values that the caller knows and learns. */
interface Identity {
  secret?: string | undefined
  /** The value of the caller's cookie, if it's signed in. */
  session?: string
  project?: string
  knows: Memory
  learns: Memory
}

export async function newRun(document: ApiDocument): Promise<Run> {
  const [org, other] = [await newOrg(), await newOrg()]
  const ingestKey = await org.keyFor({ scopes: ['ingest'] })
  const { apiKeys } = (await org.owner.get('/api/api-keys')).body
  const ownerMemory = new Memory(apiKeys.map(({ id }: { id: string }) => id))
  const [strangerMemory, admin, discarded] = [new Memory(), new Memory(), new Memory()]
  ownerMemory.learn('org', { slug: org.slug, project: org.project })
  // Random requests hardly ever create a comment, and only its author may change it.
  ownerMemory.learn('feedbackfeedback', { id: await aCommentIn(org) })
  // Random requests hardly ever create a dataset before they begin an experiment on it.
  const { dataset, item, experimentIds } = await experimentsIn(org)
  ownerMemory.learn('dataset', dataset)
  ownerMemory.learn('datasetitem', item)
  for (const id of experimentIds) ownerMemory.learn('experiment', { id, item: { id: item.id } })
  // A problem requires a correction with an error type.
  ownerMemory.learn('problem', (await newProblem(org)).problem)
  // A replay requires a delivery by the same webhook.
  ownerMemory.learn('webhook', (await newWebhook(org)).webhook)
  strangerMemory.learn('org', { slug: other.slug, project: other.project })
  // No response may reveal a secret.
  ownerMemory.learn('session', { apiKey: org.ownerKey, link: (await org.owner.post('/api/sign-in-links')).body.token })
  const [session, theirSession] = [await sessionOf(org.ownerKey), await sessionOf(other.ownerKey)]
  const project: string = org.project.slug
  const identities = {
    owner: { secret: org.ownerKey, session, project, knows: ownerMemory, learns: ownerMemory },
    ingest: { secret: ingestKey, session: await sessionOf(ingestKey), knows: ownerMemory, learns: ownerMemory },
    stranger: { secret: other.ownerKey, session: theirSession, project, knows: strangerMemory, learns: strangerMemory },
    intruder: { secret: other.ownerKey, session: theirSession, project, knows: ownerMemory, learns: strangerMemory },
    admin: { secret: env.ADMIN_TOKEN, knows: admin, learns: admin },
    impostor: { secret: 'cs_000000000000000000000000', knows: ownerMemory, learns: discarded },
    nobody: { knows: ownerMemory, learns: discarded },
  }
  return { document, identities, succeeded: [], history: [] }
}

const sessionOf = async (key: string): Promise<string> => (await signIn(key)).replace(/^.*=/, '')

async function aCommentIn(org: Org): Promise<string> {
  const { id } = (await org.ingest.post('/api/v1/traces', aTrace())).body
  const { spans } = (await org.read.get(`/api/traces/${id}`)).body
  return (await org.owner.post(`/api/spans/${spans[0].id}/feedback`, { content: 'Why?' })).body.id
}

/** A dataset with imported examples, and experiments on it that each have one result. */
async function experimentsIn(org: Org) {
  const { id: datasetId } = (await org.owner.put('/api/datasets', { projectSlug: 'support', stepId: 'answer' })).body
  const example = { id: crypto.randomUUID(), input: 'How long?', expected: 'It is 24 months.' }
  await org.owner.post(`/api/datasets/${datasetId}/items`, { items: [example, { input: 1, expected: 2 }] })
  const draft = { projectSlug: 'support', datasetId, runner: 'client' }
  const experimentIds: string[] = []
  // If there's no model, only an experiment with nothing to judge accepts a request for judgments.
  for (const output of ['24 months', 'Two years', example.expected]) {
    const { id } = (await org.owner.post('/api/experiments', draft)).body
    await org.owner.post(`/api/experiments/${id}/results`, { results: [{ itemId: example.id, output }] })
    experimentIds.push(id)
  }
  const dataset = (await org.owner.get(`/api/datasets/${datasetId}`)).body
  const item = (await org.owner.get(`/api/datasets/${datasetId}/items/${example.id}`)).body
  return { dataset, item: { id: item.id, split: item.split }, experimentIds }
}

/** Sends a request. Returns the operation if it succeeded. Throws if the response has faults. */
export async function take(run: Run, step: Plan | Repetition): Promise<Operation | undefined> {
  const { document, succeeded, history } = run
  const plan = 'nth' in step ? succeeded.at(-1 - (step.nth % succeeded.length)) : step
  if (!plan) return undefined
  const parts = filled(plan.parts, known => recalled(run, plan.caller, known))
  for (const each of step.changes) change(parts, each)
  const sent = requestOf({ ...plan, parts, bend: step.bend }, headersFor(run, plan))
  const isAllowed = plan === step && plan.changes.length === 0 && !plan.bend
  const fault = isAllowed ? faultOf(document, plan.operation, sent) : undefined
  if (fault) fail(run, `the document does not allow the generated request: ${fault}`, sent)
  const received = await send(sent).catch((error: unknown) => fail(run, `no response: ${error}`, sent))
  for (const violation of violationsOf(document, sent, received)) fail(run, violation, sent, received)
  for (const uuid of foreignIn(run, sent, received)) fail(run, `${uuid} is another tenant's`, sent, received)
  history.push({ sent, status: received.status })
  const operation = document.operationAt(sent.method, urlOf(sent))
  if (!operation || !isSuccess(received.status)) return undefined
  learn(run, operation, sent, received, parts)
  if (operation === plan.operation) succeeded.push({ ...plan, parts })
  return operation
}

function recalled({ document, identities }: Run, caller: Caller, { text }: Known): string {
  const known = identities[caller].knows.known(text.meanings, value => !document.fault(text.schema, value))
  return known[text.nth % known.length] ?? text.otherwise
}

/** The caller's credentials and the other headers that the caller always sends. */
function headersFor({ document, identities }: Run, { operation, caller, scheme }: Plan): Record<string, string> {
  const { project, session, ...identity } = identities[caller]
  const schemes = schemesOf(operation)
  const chosen = schemes[scheme % schemes.length]
  const secret = chosen === 'session' ? (session ?? identity.secret) : identity.secret
  const takesProject = operation.parameters.some(({ name }) => name === 'x-project-slug')
  return {
    // Browsers send this origin for the service's own pages.
    origin: ORIGIN,
    ...(secret && chosen && document.credentials(chosen, secret)),
    ...(project && takesProject && { 'x-project-slug': project }),
  }
}

/** The ids of the built-in error types, which all tenants share. */
const SHARED: ReadonlySet<string> = new Set(TAXONOMY.map(({ id }) => id))

/** The other tenant's ids that a response reveals or that a request changed. */
function foreignIn({ document, identities }: Run, sent: Sent, { status, text }: Received): string[] {
  const operation = document.operationAt(sent.method, urlOf(sent))
  // Anyone with a secret may sign in with it.
  if (operation && schemesOf(operation).length === 0) return []
  const { owner, stranger, [sent.caller]: caller } = identities
  const named = uuidsIn(textOf(sent))
  const revealed = uuidsIn(text).filter(uuid => !named.includes(uuid))
  const reached = status < 400 && sent.method !== 'OPTIONS' ? uuidsIn(new URL(urlOf(sent)).pathname) : []
  const isForeign = (uuid: string) =>
    !SHARED.has(uuid) && !caller.learns.owns(uuid) && (owner.learns.owns(uuid) || stranger.learns.owns(uuid))
  return [...revealed, ...reached].filter(isForeign)
}

/** Learns from a response, and adds its cursor or ETag to the request's parts, for when the request is repeated. */
function learn({ identities }: Run, operation: Operation, sent: Sent, { headers, text }: Received, parts: Parts): void {
  // Values in public responses don't belong to a tenant.
  if (text === '' || schemesOf(operation).length === 0) return
  const { learns } = identities[sent.caller]
  // A file contains nothing that isn't also in the list of its items.
  const body = headers.has('content-disposition') ? {} : JSON.parse(text)
  learns.learnFrom(operation.path, body)
  learns.own(textOf(sent) + text)
  const cursor = headers.get('x-next-cursor') ?? Object.entries(body).find(([name]) => /cursor$/i.test(name))?.[1]
  if (typeof cursor === 'string') set(parts.query, 'cursor', cursor)
  const etag = headers.get('etag')
  if (etag) set(parts.headers, 'if-none-match', etag)
}

function fail({ history }: Run, violation: string, sent: Sent, received?: Received): never {
  const outcome = received ? `returned ${received.status} ${received.text.slice(0, 2000)}` : ''
  const before = history.map(({ sent, status }) => `${described(sent)} ${status}`)
  throw new Error([violation, described(sent), outcome, 'It was sent after', ...before].join('\n'))
}

/** Sends a request to the Worker. */
async function send({ method, path, query, headers, body }: Omit<Sent, 'caller'>): Promise<Received> {
  const hasBody = body.length > 0 && method !== 'GET' && method !== 'HEAD'
  const request = new Request(urlOf({ path, query }), { method, headers, ...(hasBody && { body }) })
  const context = createExecutionContext()
  const response = await within(TIMEOUT_MS, () => answer(request, env, context))
  await waitOnExecutionContext(context)
  return { status: response.status, headers: response.headers, text: decoder.decode(await response.arrayBuffer()) }
}

/** Unlike `text()`, it doesn't warn about a file's media type. */
const decoder = new TextDecoder()
