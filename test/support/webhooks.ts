import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { EVENT_TYPES, type EventType } from '../../src/domain/webhook.ts'
import { type Env, inShard } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { databases, placeOf, stored } from './database.ts'
import { client, newOrg, type Org } from './org.ts'

/** A request that a receiver got. */
export interface Received {
  url: string
  headers: Record<string, string>
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests compare it with what they expect
  event: any
}

/** Answers all requests that leave the Worker, and collects them. `vi.restoreAllMocks` undoes this. */
export function receive(answer: (received: Received) => Response | Promise<Response> = () => new Response('ok')) {
  const received: Received[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as RequestInfo, init)
    const body = await request.text()
    const got = { url: request.url, headers: Object.fromEntries(request.headers), body, event: JSON.parse(body) }
    received.push(got)
    return answer(got)
  })
  return received
}

/** Bindings without queues, so that nothing is sent until a test asks for it. */
export const withoutQueue = (): Env => {
  const { JOBS: _, EVENTS: __, ...others } = env
  return others
}

/** Sends a project's events now. If `projectId` is null, sends those for webhooks that cover every project. */
export async function sendNow(org: Org, bindings: Env = withoutQueue(), projectId: string | null = org.project.id) {
  const row = await stored
    .prepare(
      `select organizations.key as organizationKey, (select key from projects where id = ?2) as projectKey
     from organizations where id = ?1`,
    )
    .bind(org.id, projectId)
    .first<{ organizationKey: number; projectKey: number | null }>()
  if (!row) throw new Error('the organization is gone')
  // Act as if each database with new events had sent a message.
  for (const [shard, database] of databases.entries()) {
    const hasNew = await database.prepare('select 1 from webhook_events where is_new = 1').first()
    if (shard === 0 || hasNew) await runJob({ kind: 'send_events', ...row, ...inShard(shard) }, bindings)
  }
}

/** A tenant with a webhook that receives nothing until a test calls `sendNow`. */
export async function newHooked(fields: object = {}, bindings: Env = withoutQueue()) {
  const org = await newOrg()
  const manager = client({ 'x-api-key': org.ownerKey }, bindings)
  const draft = { projectSlug: 'support', url: 'https://hooks.example.com/in', events: ['span.reviewed'], ...fields }
  const { body: webhook } = await manager.post('/api/webhooks', draft)
  const path = `/api/webhooks/${webhook.id}`
  return {
    org,
    manager,
    webhook,
    path,
    /** Adds a test event, and returns its id. */
    test: async (): Promise<string> => (await manager.post(`${path}/test`)).body.id,
    replay: (id: string) => manager.post(`${path}/deliveries/${id}/replay`),
    send: (others: Env = bindings) => sendNow(org, others),
    read: async () => (await manager.get(path)).body,
    /** Newest first. */
    deliveries: async () => (await manager.get(`${path}/deliveries`)).body.deliveries,
    auditLog: async () => (await manager.get(`/api/audit-log?targetId=${webhook.id}`)).body.entries,
  }
}

/**
 * A tenant with a webhook. This isolate hasn't cached the tenant's keys, so it finds out about the webhook when a test
 * uses the keys. Nothing is sent until a test calls `sendNow`.
 */
export async function newSending(events: readonly EventType[], fields: object = {}) {
  const org = await newOrg()
  const draft = { projectSlug: 'support', url: 'https://hooks.example.com/in', events, ...fields }
  const { body: webhook } = await org.owner.post('/api/webhooks', draft)
  return { org: await withNewKeys(org), webhook }
}

/** The tenant with keys that this isolate hasn't seen before. */
async function withNewKeys(org: Org): Promise<Org> {
  const [ownerKey, projectKey] = [await org.keyFor({ projectSlug: undefined }), await org.keyFor({})]
  const owner = client({ 'x-api-key': ownerKey }, withoutQueue())
  const clientOf: Org['clientOf'] = (key, bindings = withoutQueue()) => org.clientOf(key, bindings)
  const bearer: Org['bearer'] = bindings => clientOf(projectKey, bindings)
  return { ...org, ownerKey, owner, projectKey, clientOf, bearer, ingest: bearer(), read: owner }
}

/** Sends a project's events now. Returns what receivers got, in the order of the events. */
export async function sent(org: Org, projectId?: string | null): Promise<Received[]> {
  const received = receive()
  await sendNow(org, withoutQueue(), projectId)
  vi.mocked(globalThis.fetch).mockRestore()
  return received.toSorted((left, right) => left.event.data?.sequence - right.event.data?.sequence)
}

/** Creates a webhook for one project, and another that covers every project. */
export async function newWebhooks(org: Org): Promise<void> {
  for (const place of [{ projectSlug: 'support' }, {}]) {
    // This host doesn't exist on any network.
    const draft = { ...place, url: 'https://hooks.invalid', events: ['span.reviewed'] }
    const { status } = await org.owner.post('/api/webhooks', draft)
    if (status !== 201) throw new Error(`unexpected status ${status}`)
  }
}

/** The fields of a stored event and its deliveries. */
interface StoredEvent {
  /** Null if the event belongs to no project. */
  projectId: string | null
  traceKey?: unknown
  actorId?: string
  data?: object
  at?: number
  answer?: string
  /** Whether its deliveries are still to be sent. */
  isPending?: boolean
}

/** Stores an event, and a delivery of it to each of the organization's webhooks that get the project's events. */
export async function storeEvent(org: Pick<Org, 'id'>, event: StoredEvent): Promise<number> {
  const { projectId, traceKey = null, actorId = null, data = {}, at = Date.now(), answer = null } = event
  const { database } = await placeOf(traceKey)
  const owner = await env.DB.prepare(
    `select key, (select key from projects where id = ?2) as projectKey from organizations where id = ?1`,
  )
    .bind(org.id, projectId)
    .first<{ key: number; projectKey: number | null }>()
  const id = crypto.randomUUID()
  const added = await database
    .prepare(
      `insert into webhook_events (id, organization_key, project_key, type, trace_key, subject_id, actor_id, at, data, is_new)
     values (?1, ?2, ?3, 'span.reviewed', ?4, ?1, ?5, ?6, ?7, 0) returning sequence`,
    )
    .bind(id, owner?.key, owner?.projectKey, traceKey, actorId, at, JSON.stringify(data))
    .first<number>('sequence')
  const { results: receivers } = await env.DB.prepare(
    'select key from webhooks where organization_key = ?1 and (project_key = ?2 or project_key is null)',
  )
    .bind(owner?.key, owner?.projectKey)
    .all<{ key: number }>()
  await database
    .prepare(
      `insert into webhook_deliveries (webhook_key, sequence, state, attempts, next_attempt_at, answer)
     select value, ?2, ?3, 1, ?4, ?5 from json_each(?1)`,
    )
    .bind(
      JSON.stringify(receivers.map(({ key }) => key)),
      added,
      event.isPending ? 'pending' : 'failed',
      event.isPending ? at : null,
      answer,
    )
    .run()
  return Number(added)
}

/**
 * Creates a webhook for all events in every project. Events from keys that a test creates afterward are recorded, but
 * not sent.
 */
export async function subscribe(org: Pick<Org, 'owner'>): Promise<void> {
  const draft = { url: 'https://hooks.example.com/all', events: EVENT_TYPES }
  const { status } = await org.owner.post('/api/webhooks', draft)
  if (status !== 201) throw new Error(`creating the webhook returned ${status}`)
}

/** An event in the outbox. */
export interface RecordedEvent {
  id: string
  type: EventType
  subject_id: string
  at: number
}

/** All of an organization's events, whether they were sent or not. */
export async function recordedEvents({ id }: Pick<Org, 'id'>): Promise<RecordedEvent[]> {
  const key = await stored.prepare('select key from organizations where id = ?').bind(id).first('key')
  const { results } = await stored
    .prepare('select id, type, subject_id, at from webhook_events where organization_key = ? order by sequence')
    .bind(key)
    .all<RecordedEvent>()
  return results
}
