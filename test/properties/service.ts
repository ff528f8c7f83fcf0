import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { parseEpochs, withEpoch } from '../../src/domain/shards.ts'
import type { Env, Job as QueuedJob } from '../../src/env.ts'
import { consume } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { EPOCH_DELAY_MS } from '../../src/limits.ts'
import { HOMES } from '../../src/store/schema/homes.ts'
import { databases, isSharded, stored } from '../support/database.ts'
import { type ApiResponse, admin, type Client, client } from '../support/org.ts'
import { columnsOfTables } from '../support/stored.ts'
import { type Received as ReceivedEvent, recordedEvents, subscribe } from '../support/webhooks.ts'
import { expand, FEEDBACK_IDS, type Job, ownSpanId, type Racer, TRACES } from './commands.ts'
import type { Command, Event, Ids, ModelResponse } from './model.ts'
import { mustEqual } from './view.ts'

/** A fresh organization with its clients and ids. */
export interface Tenant {
  ids: Ids
  client: Client
  /** Returns a client for this tenant with different bindings. */
  on: (bindings: Env) => Client
  /** The jobs that deletions sent to the queue. The queue delivers them only when a run asks for it. */
  queued: QueuedJob[]
  organizationId: string
  projectId: string
  /** The ids of traces whose deletion was acknowledged, once for each acknowledgment. */
  deleted: string[]
}

const DAY_MS = 24 * 3_600_000

/**
 * The time that the service sees. Each tenant starts a second after the previous one, so that time-based keys stay
 * distinct. Databases compare epochs with their own clocks, which can't be simulated. So if there are several
 * databases, this time is in the past, and every epoch has begun according to all of their clocks.
 */
let clock = Date.now() - (isSharded ? 30 * DAY_MS : 0)

/** When cron last ran. It's later than every object's time, so that a sweep deletes all orphans. */
let cronTime = Date.now()

/** Advances the time that the service sees, and returns it. */
export function pass(milliseconds: number): number {
  clock += milliseconds
  vi.setSystemTime(clock)
  return clock
}

async function newTenant(): Promise<Tenant> {
  pass(1000)
  const slug = `org-${crypto.randomUUID()}`
  const { apiKey, id: organizationId } = (await admin().post('/api/orgs', { slug, name: 'Test' })).body
  const queued: QueuedJob[] = []
  await subscribe({ owner: client({ 'x-api-key': apiKey.key }) })
  // The key is created after the webhook, so this isolate learns of the webhook when it first looks up the key.
  const draft = { name: 'Test', scopes: ['ingest', 'read', 'review', 'manage'] }
  const { key, id: caller } = (await client({ 'x-api-key': apiKey.key }).post('/api/api-keys', draft)).body
  const deleted: string[] = []
  const on = (bindings: Env): Client => {
    const calls = client(
      { 'x-api-key': key, 'x-project-slug': 'support' },
      {
        ...bindings,
        JOBS: queueInto(queued),
        EVENTS: queueInto(queued),
      },
    )
    const noted: Client['delete'] = async (path, ...others) => {
      const response = await calls.delete(path, ...others)
      if (response.status === 200) deleted.push(path.slice(path.lastIndexOf('/') + 1))
      return response
    }
    return { ...calls, delete: noted }
  }
  const calls = on(env)
  const project = (await calls.post('/api/projects', { slug: 'support', name: 'Support' })).body
  const prompt = { projectSlug: 'support', stepId: 'ask', content: 'Answer the question.' }
  const promptVersion = (await calls.post('/api/prompts', prompt)).body.versionId
  const ids = {
    ...(await idsIn(project.id)),
    project: { id: project.id, slug: project.slug },
    promptVersion,
    caller,
  }
  return { ids, client: calls, on, queued, organizationId, projectId: project.id, deleted }
}

const queueInto = (queued: QueuedJob[]): Queue<QueuedJob> =>
  ({ send: async (job: QueuedJob) => void queued.push(job) }) as unknown as Queue<QueuedJob>

/** The ids that runs refer to, computed as the contract specifies for clients. */
async function idsIn(projectId: string) {
  const names = [
    ...TRACES.flatMap(name => [`trace:${name}`, `root:${name}`]),
    ...FEEDBACK_IDS.flatMap(name => ['', '-0', '-1', '-2'].map(place => `feedback:${name}${place}`)),
  ]
  const known = new Map(await Promise.all(names.map(async name => [name, await uuidV5(projectId, name)] as const)))
  const idOf = (kind: string) => (name: string) => known.get(`${kind}:${name}`) ?? 'none'
  return { trace: idOf('trace'), root: idOf('root'), feedback: idOf('feedback') }
}

async function uuidV5(namespace: string, name: string): Promise<string> {
  const bytes = Uint8Array.from(namespace.replaceAll('-', '').match(/../g) ?? [], pair => Number.parseInt(pair, 16))
  const digest = await crypto.subtle.digest('SHA-1', new Uint8Array([...bytes, ...new TextEncoder().encode(name)]))
  const [a = 0, b = 0, c = 0, d = 0] = Array.from({ length: 4 }, (_, index) =>
    new DataView(digest).getUint32(4 * index),
  )
  const hex = [a, (b & 0xffff0fff) | 0x5000, (c & 0x3fffffff) | 0x80000000, d]
    .map(word => (word >>> 0).toString(16).padStart(8, '0'))
    .join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

const PATHS = {
  trace: '/api/v1/traces',
  span: '/api/v1/spans',
  observation: '/api/v1/observations',
  feedback: '/api/v1/feedback',
}

/** The databases of each epoch that a run goes through. */
const EPOCHS = [[1], [2], [1, 2], [2, 1], [3, 4], [1, 2, 3, 4], [4, 1]].filter(epoch =>
  epoch.every(shard => shard < databases.length),
)

/** Starts a run on the service's clock at least an hour before midnight, because a run counts what happens that day. */
export function startClock(): void {
  const leftMs = DAY_MS - (clock % DAY_MS)
  pass(leftMs < DAY_MS / 24 ? leftMs : 1000)
}

/** Runs that haven't ended. */
const running = new Set<Promise<void>>()

/** Restores the real clock after a run, because fast-check needs a clock that advances. */
export function onRealClock(run: () => Promise<void>): Promise<void> {
  const ended = run().finally(() => {
    vi.useRealTimers()
    running.delete(ended)
  })
  running.add(ended)
  return ended
}

/**
 * Waits for a run that fast-check abandoned because time was up. Otherwise, that run would change the next test's
 * clock.
 */
export const endRuns = () => Promise.allSettled(running)

const storedEpochs = (projectId: string) =>
  env.DB.prepare('select epochs from projects where id = ?').bind(projectId).first<string>('epochs')

/** The epochs of a project. */
export const epochsIn = async (projectId: string) => parseEpochs(await storedEpochs(projectId))

/** Appends an epoch to a project and waits until it has begun. From then on, new traces go to other databases. */
export async function appendEpoch(projectId: string, nth: number): Promise<void> {
  const after = withEpoch(await storedEpochs(projectId), EPOCHS[nth % EPOCHS.length] ?? [], {
    now: clock,
    from: clock + EPOCH_DELAY_MS,
  })
  await env.DB.prepare('update projects set epochs = ? where id = ?').bind(after, projectId).run()
  pass(EPOCH_DELAY_MS + 1)
}

/**
 * Calls `run` with a fresh tenant, and then deletes the tenant's traces. Asserts that nothing is left of them and that
 * a webhook got an event for each deletion. `received` contains the events that the webhooks of all tenants got.
 */
export const withTenant = (received: readonly ReceivedEvent[], run: (tenant: Tenant) => Promise<void>): Promise<void> =>
  onRealClock(async () => {
    const tenant = await newTenant()
    let left: string[] = []
    let reported: string[] = []
    try {
      await run(tenant)
    } finally {
      left = await leftovers(tenant)
      reported = await reportedDeletions(tenant, received)
    }
    mustEqual('the rows left by deleted traces', left, [])
    mustEqual('the deletions reported to webhooks', reported.toSorted(), tenant.deleted.toSorted())
  })

/** Sends one call. */
export const sendOne = (client: Client, command: Command, { trace }: Ids): Promise<ApiResponse> =>
  command.type === 'delete'
    ? client.delete(`/api/traces/${trace(command.trace_id)}`)
    : client.post(PATHS[command.type], command.body)

/** The status and body of a response, or of one result in a batch. */
export type Received = Pick<ApiResponse, 'status' | 'body'>

/**
 * Sends events as a batch, and returns their results. If the whole batch fails, its response is returned for each
 * event.
 */
export async function sendBatch(client: Client, events: readonly Event[]): Promise<Received[]> {
  const { status, body } = await client.post('/api/v1/batch', { events })
  if (status === 503) return events.map(() => ({ status, body }))
  if (status !== 207) throw new Error(`the batch returned ${status}: ${JSON.stringify(body)}`)
  return body.results
}

/** A response in the model's terms: for an error, only its status. */
export function modelResponseOf({ status, body }: Received): ModelResponse {
  if (status >= 400) return { status }
  const { warnings, ...rest } = body
  return { status, body: rest, ...('id' in rest && 'trace_id' in rest && { warns: warnings !== undefined }) }
}

/** A response without tenant-specific values, with the paths of a batch's errors relative to the call. */
export function anonymous({ status, body }: Received, prefix = ''): Received {
  const { error, code, details, warnings } = body
  const unplaced = (text: string) => (text.startsWith(prefix) ? text.slice(prefix.length) : text)
  if (status < 400) return { status, body: { warnings } }
  const places = details?.map(({ path, message }: Record<string, string>) => ({ path: unplaced(path ?? ''), message }))
  return { status, body: { error: unplaced(error), code, details: places } }
}

/** A call with the run's own values filled in. */
export const expanded = <Sent extends Command | Job | Racer>(sent: Sent, ids: Ids): Sent =>
  'body' in sent ? { ...sent, body: withOwnIds(expand(sent.body, ids), ids) } : sent

/** Gives each trace its own ids if there are several databases. */
function withOwnIds<Body extends object>(body: Body, { root }: Ids): Body {
  if (!isSharded) return body
  const { trace_id, span_id, parent_span_id, feedback_id } = body as Record<string, unknown>
  const place = TRACES.indexOf(String(trace_id))
  const spanOf = (id: unknown) =>
    typeof id === 'string' && id.toLowerCase() !== root(String(trace_id)) ? ownSpanId(place, id) : id
  return {
    ...body,
    ...(span_id !== undefined && { span_id: spanOf(span_id) }),
    ...(parent_span_id !== undefined && { parent_span_id: spanOf(parent_span_id) }),
    ...(typeof feedback_id === 'string' && { feedback_id: `${feedback_id}-${place}` }),
  }
}

/** Runs cron or the queue. Live data must not change. */
export async function runJob(tenant: Tenant, job: Job, bindings: Env = env): Promise<void> {
  if (job.type === 'sweep') {
    cronTime = Math.max(cronTime, clock) + 60_001 + job.hours * 3_600_000
    const { JOBS, EVENTS, ...withoutQueue } = bindings
    const queue = queueInto(tenant.queued)
    await sweep(job.hasQueue ? { ...bindings, JOBS: queue, EVENTS: queue } : withoutQueue, cronTime)
  }
  const messages = tenant.queued.splice(0).map(body => ({ id: 'job', timestamp: new Date(), attempts: 1, body }))
  for (const message of messages) await deliver(message, bindings)
}

async function deliver(
  message: Parameters<typeof createMessageBatch<QueuedJob>>[1][number],
  bindings: Env,
): Promise<void> {
  const batch = createMessageBatch<QueuedJob>('countersign-jobs', [message])
  await consume(batch, bindings)
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext())
  if (explicitAcks.length === 0) throw new Error(`the job ${JSON.stringify(message.body)} failed`)
}

/** The tables with rows that belong to traces. */
let tablesOfTraces: Promise<string[]> | undefined

async function findTablesOfTraces(): Promise<string[]> {
  const columns = await columnsOfTables()
  return Object.entries(HOMES).flatMap(([table, home]) =>
    home === 'trace' && columns.get(table)?.includes('trace_key') ? [table] : [],
  )
}

/**
 * Deletes a tenant's traces, runs every job, and returns what remains of the traces. Then removes what remains, so that
 * it doesn't affect the next run.
 */
async function leftovers(tenant: Tenant): Promise<string[]> {
  for (const trace_id of TRACES) await sendOne(tenant.client, { type: 'delete', trace_id }, tenant.ids)
  // Cron looks for orphans only if nothing is left to purge.
  for (let run = 0; run < 2; run++) await runJob(tenant, { type: 'sweep', hours: 25, hasQueue: true })
  tablesOfTraces ??= findTablesOfTraces()
  const tables = await tablesOfTraces
  const orphans = 'trace_key not in (select key from traces)'
  const counts = await stored.batch<{ n: number }>([
    stored.prepare(`select count(*) as n from traces where deleted_at is not null`),
    ...tables.map(table => stored.prepare(`select count(*) as n from ${table} where ${orphans}`)),
  ])
  const { objects } = await env.PAYLOADS.list({ prefix: `${tenant.organizationId}/` })
  const left = ['traces', ...tables].filter((_, index) => (counts[index]?.results[0]?.n ?? 0) > 0)
  if (left.length > 0) {
    await stored.batch(
      ['traces where deleted_at is not null', ...tables.map(table => `${table} where ${orphans}`)].map(rows =>
        stored.prepare(`delete from ${rows}`),
      ),
    )
  }
  if (objects.length > 0) await env.PAYLOADS.delete(objects.map(({ key }) => key))
  return [...left, ...objects.map(({ key }) => key)]
}

/**
 * The ids of the traces whose deletion was recorded as an event, once for each event. Cron deletes old events that
 * were delivered.
 */
async function reportedDeletions(
  { organizationId, projectId }: Tenant,
  received: readonly ReceivedEvent[],
): Promise<string[]> {
  const delivered = received.flatMap(({ event: { type, data }, headers }) =>
    type === 'trace.deleted' && data.projectId === projectId ? [[headers['webhook-id'], data.trace.id] as const] : [],
  )
  const recorded = (await recordedEvents({ id: organizationId })).filter(({ type }) => type === 'trace.deleted')
  return [...new Map([...delivered, ...recorded.map(({ id, subject_id }) => [id, subject_id] as const)]).values()]
}
