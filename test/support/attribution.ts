import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { consume } from '../../src/jobs/consumer.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { openStore } from '../../src/store/core/store.ts'
import { jobPlace, placeOf, stored } from './database.ts'
import type { Org } from './org.ts'
import { newTrace } from './trace.ts'

/** A deployment without a queue. */
export function withoutQueue(bindings: Env = env): Env {
  const { JOBS, ...rest } = bindings
  return rest
}

/** A deployment whose queue records messages instead of delivering them. */
export function withMessages(bindings: Env = env) {
  const sent: Job[] = []
  const queue = {
    send: async (message: Job) => sent.push(message),
    sendBatch: async (messages: { body: Job }[]) => sent.push(...messages.map(({ body }) => body)),
  } as unknown as Queue<Job>
  const attributions = () => sent.filter(job => job.kind === 'attribute_trace')
  return { bindings: { ...bindings, JOBS: queue, EVENTS: queue }, sent, attributions }
}

/** Opens a tenant's store as a job does. */
export async function storeOf(org: Org, bindings: Env = env) {
  const row = await stored
    .prepare(
      `select key, (select group_concat(placed.epochs, char(10)) from (
        select distinct epochs from projects where organization_key = organizations.key and epochs is not null) placed)
        as epochs from organizations where id = ?`,
    )
    .bind(org.id)
    .first<{ key: number; epochs: string | null }>()
  return openStore(
    bindings,
    { key: row?.key ?? 0, id: org.id, slug: org.slug, sentEvents: null, epochs: row?.epochs ?? null },
    new Deadline(60_000),
  )
}

/** Opens a tenant's store in the database that has a trace. */
export const storeBeside = async (org: Org, traceKey: number, bindings: Env = env) =>
  (await storeOf(org, bindings)).in((await placeOf(traceKey)).shard)

/** Creates a tenant with a disputed trace, and returns functions that analyze the trace. */
export async function newDisputed(feedback: object = { rating: 'negative', comment: 'It is 24 months' }, tenant?: Org) {
  const world = await newTrace(tenant)
  const { org, trace_id, id } = world
  await world.give(feedback)
  const row = await stored.prepare('select key, organization_key from traces where id = ?').bind(id).first()
  const traceKey = Number(row?.key)
  const job: Job = {
    kind: 'attribute_trace',
    organizationKey: Number(row?.organization_key),
    traceKey,
    ...(await jobPlace(traceKey)),
  }
  const path = `/api/v1/traces/${trace_id}`
  return {
    ...world,
    traceKey,
    job,
    ask: (bindings: Env = env, query = '', headers: Record<string, string> = {}) =>
      org.bearer(bindings).post(`${path}/attribute${query}`, undefined, headers),
    askAsync: (bindings: Env = env) =>
      org.bearer(bindings).post(`${path}/attribute`, undefined, { prefer: 'respond-async' }),
    result: () => org.ingest.get(`${path}/attribution`),
    /** The job's row and the number of results. */
    stored: () => storedJob(traceKey),
  }
}

export async function storedJob(traceKey: number) {
  const [jobs, results] = await stored.batch<Record<string, unknown>>([
    stored.prepare('select * from attribution_jobs where trace_key = ?').bind(traceKey),
    stored.prepare('select count(*) as count from attributions where trace_key = ?').bind(traceKey),
  ])
  return { job: jobs?.results[0], results: results?.results[0]?.count }
}

/** Delivers a job once. Returns whether it was acknowledged, and the delay before its retry. */
export async function deliver(job: Job, bindings: Env = env, { attempts = 1, queue = 'countersign-jobs' } = {}) {
  const message = { id: 'one', timestamp: new Date(), attempts, body: job, ack: vi.fn(), retry: vi.fn() }
  const metadata = { metrics: { backlogCount: 1, backlogBytes: 1 } }
  await consume({ queue, messages: [message], ackAll() {}, retryAll() {}, metadata }, bindings)
  const [delay] = message.retry.mock.calls[0] ?? []
  return { isTaken: message.ack.mock.calls.length === 1, retriedAfter: delay?.delaySeconds }
}
