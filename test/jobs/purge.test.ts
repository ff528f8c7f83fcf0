import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { consume, runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { PURGE_ROWS, PURGE_STEPS, RESEND_AFTER_MS } from '../../src/limits.ts'
import { wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace } from '../support/builders.ts'
import { jobPlace, placeOf, stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { reviewerOf } from '../support/reviews.ts'
import { newWebhooks, storeEvent } from '../support/webhooks.ts'

/** A deployment without a queue, so that jobs run only when the test runs them. */
const withoutQueue = (): Env => {
  const { JOBS, ...bindings } = env
  return bindings
}

type PurgeJob = Job & { kind: 'purge_trace' }

/** A queue that records messages instead of delivering them. */
const queueInto = (sent: Job[]): Queue<Job> =>
  ({ ...env.JOBS, send: async (message: Job) => sent.push(message) }) as unknown as Queue<Job>

/** Runs cron many times. Without a queue, each run does one purge. */
async function sweepAll(now: number): Promise<void> {
  for (let run = 0; run < 20; run++) await sweep(withoutQueue(), now)
}

/** A deleted trace with rows in every table and objects in R2, and the job that its deletion sent. */
async function deletedTrace() {
  const org = await newOrg()
  const trace = aTrace()
  const { trace_id } = trace
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  for (const data of ['small', 'x'.repeat(20_000), 'y'.repeat(20_000)]) {
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id, data }))
  }
  const large = 'z'.repeat(20_000)
  const span = aSpan({ trace_id, input: large, output: large })
  await org.ingest.post('/api/v1/spans', span)
  const agent = org.clientOf(await org.keyFor({ actsAs: 'agent' }))
  await agent.put(`/api/spans/${span.span_id}/review`, { decision: 'correct', approvedOutput: large.toUpperCase() })
  await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id }))
  const { userId } = await reviewerOf(org)
  await org.owner.post('/api/review-queue/assign', { spanIds: [span.span_id], userIds: [userId] })
  const row = await stored.prepare('select key, organization_key from traces where id = ?').bind(id).first()
  const job: PurgeJob = {
    kind: 'purge_trace',
    organizationKey: Number(row?.organization_key),
    traceKey: Number(row?.key),
    ...(await jobPlace(row?.key)),
  }
  await newWebhooks(org)
  for (const isPending of [false, true]) {
    await storeEvent(org, { projectId: org.project.id, traceKey: row?.key, isPending })
  }
  await storeEvent(org, { projectId: org.project.id })
  const response = await org.bearer(withoutQueue()).delete(`/api/traces/${id}`)
  if (response.status !== 200) throw new Error(`unexpected status ${response.status}`)
  return { org, trace, id, job }
}

async function countDeliveries(organizationKey: number): Promise<unknown> {
  const { results } = await stored
    .prepare('select key from webhooks where organization_key = ?')
    .bind(organizationKey)
    .all<{ key: number }>()
  return stored
    .prepare('select count(*) as n from webhook_deliveries where webhook_key in (select value from json_each(?))')
    .bind(JSON.stringify(results.map(({ key }) => key)))
    .first('n')
}

async function leftOf({ job, org }: { job: PurgeJob; org: { id: string } }) {
  const count = async (table: string, column = 'trace_key') =>
    (await stored.prepare(`select count(*) as n from ${table} where ${column} = ?`).bind(job.traceKey).first())?.n
  return {
    traces: await count('traces', 'key'),
    fields: await count('trace_fields'),
    spans: await count('spans'),
    observations: await count('observations'),
    feedback: await count('feedback'),
    suggestions: await count('suggestions'),
    assignments: await count('review_assignments'),
    events: await count('webhook_events'),
    deliveries: await countDeliveries(job.organizationKey),
    objects: (await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects.length,
  }
}

const EVERYTHING = {
  traces: 1,
  fields: 2,
  spans: 2,
  observations: 3,
  feedback: 1,
  suggestions: 1,
  assignments: 1,
  events: 2,
  deliveries: 6,
  objects: 4,
}
const NOTHING = {
  traces: 0,
  fields: 0,
  spans: 0,
  observations: 0,
  feedback: 0,
  suggestions: 0,
  assignments: 0,
  events: 0,
  // The deliveries of an event that isn't about a trace.
  deliveries: 2,
  objects: 0,
}

describe('the purge of a deleted trace', () => {
  it('removes every row and every object', async ({ expect }) => {
    const deleted = await deletedTrace()
    expect(await leftOf(deleted)).toEqual(EVERYTHING)
    await runJob(deleted.job, env)
    expect(await leftOf(deleted)).toEqual(NOTHING)
  })

  it('removes thousands of objects and spans', { timeout: 30_000 }, async ({ expect }) => {
    const deleted = await deletedTrace()
    const prefix = `${deleted.org.id}/${deleted.job.traceKey}/`
    const names = Array.from({ length: 1100 }, () => prefix + crypto.randomUUID())
    await Promise.all(names.map(name => env.PAYLOADS.put(name, '1')))
    const { database } = await placeOf(deleted.job.traceKey)
    await database
      .prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
       insert into spans (id, trace_key, is_root, step_id, timestamp) select 's' || i, ?, 0, 'step', 0 from n`,
      )
      .bind(deleted.job.traceKey)
      .run()
    await runJob(deleted.job, env)
    expect(await leftOf(deleted)).toEqual(NOTHING)
  })

  it('is queued by the deletion and run by the consumer', async ({ expect }) => {
    const { org, id, job } = await deletedTrace()
    const again = aTrace()
    const created = (await org.ingest.post('/api/v1/traces', again)).body
    const sent: Job[] = []
    const bindings: Env = { ...env, JOBS: queueInto(sent) }
    await org.bearer(bindings).delete(`/api/traces/${created.id}`)
    expect(created.id).not.toBe(id)
    const traceKey = await stored.prepare('select key from traces where id = ?').bind(created.id).first<number>('key')
    const { kind, organizationKey } = job
    expect(sent).toEqual([{ kind, organizationKey, traceKey, ...(await jobPlace(traceKey)) }])
    const batch = createMessageBatch<Job>('countersign-jobs', [
      { id: 'one', timestamp: new Date(), attempts: 1, body: job },
      { id: 'twice', timestamp: new Date(), attempts: 1, body: job },
    ])
    await consume(batch, env)
    expect((await getQueueResult(batch, createExecutionContext())).explicitAcks).toEqual(['one', 'twice'])
    expect(await leftOf({ org, job })).toEqual(NOTHING)
  })

  it('runs automatically, through the queue that wrangler.toml declares', async ({ expect }) => {
    const org = await newOrg()
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id }))
    const key = await stored.prepare('select key from traces where id = ?').bind(id).first('key')
    await org.owner.delete(`/api/traces/${id}`)
    const left = () => stored.prepare('select count(*) as n from observations where trace_key = ?').bind(key).first('n')
    await expect.poll(left, { timeout: 10_000 }).toBe(0)
  })

  it('does not affect a live trace with the trace_id of the deleted one', async ({ expect }) => {
    const { org, trace, id, job } = await deletedTrace()
    await org.ingest.post('/api/v1/traces', trace)
    await org.ingest.post('/api/v1/observations', anObservation({ trace_id: trace.trace_id, data: 'z'.repeat(20_000) }))
    await runJob(job, env)
    await runJob(job, env)
    const read = (await org.read.get(`/api/traces/${id}`)).body
    expect(read.spans[0].output).toBe('z'.repeat(20_000))
    expect((await org.ingest.get('/api/v1/traces/search?group_id=session-1')).body.count).toBe(1)
    const live = await stored
      .prepare('select key, organization_key from traces where id = ? and deleted_at is null')
      .bind(id)
      .first()
    await runJob(
      {
        kind: 'purge_trace',
        organizationKey: Number(live?.organization_key),
        traceKey: Number(live?.key),
        ...(await jobPlace(live?.key)),
      },
      env,
    )
    expect((await org.read.get(`/api/traces/${id}`)).status).toBe(200)
  })

  it('does nothing for a different organization', async ({ expect }) => {
    const deleted = await deletedTrace()
    await runJob({ ...deleted.job, organizationKey: deleted.job.organizationKey + 1 }, env)
    expect(await leftOf(deleted)).toEqual(EVERYTHING)
  })

  it('is retried after a fault, with increasing delays', async ({ expect }) => {
    const deleted = await deletedTrace()
    const broken = wrapBindings(async () => {
      throw new Error('D1_ERROR: D1 DB is overloaded. Requests queued for too long.')
    })
    for (const [attempts, delaySeconds] of [
      [1, 2],
      [4, 16],
      [20, 3600],
    ] as const) {
      const message = { id: 'one', timestamp: new Date(), attempts, body: deleted.job, ack: vi.fn(), retry: vi.fn() }
      const metadata = { metrics: { backlogCount: 1, backlogBytes: 1 } }
      await consume({ queue: 'countersign-jobs', messages: [message], ackAll() {}, retryAll() {}, metadata }, broken)
      expect(message.ack).not.toHaveBeenCalled()
      expect(message.retry).toHaveBeenCalledExactlyOnceWith({ delaySeconds })
    }
    expect(await leftOf(deleted)).toEqual(EVERYTHING)
  })

  it('is removed from the dead-letter queue if it failed permanently, and cron finds its trace again', async ({
    expect,
  }) => {
    const deleted = await deletedTrace()
    const batch = createMessageBatch<Job>('of-any-name-dead', [
      { id: 'dead', timestamp: new Date(), attempts: 1, body: deleted.job },
    ])
    await consume(batch, env)
    expect((await getQueueResult(batch, createExecutionContext())).explicitAcks).toEqual(['dead'])
    expect(await leftOf(deleted)).toEqual(EVERYTHING)
    await sweepAll(Date.now())
    expect(await leftOf(deleted)).toEqual(EVERYTHING)
    await sweepAll(Date.now() + RESEND_AFTER_MS + 1)
    expect(await leftOf(deleted)).toEqual(NOTHING)
  })

  it('is queued again by cron once a minute', async ({ expect }) => {
    const jobs: Job[] = []
    for (let index = 0; index < 3; index++) jobs.push((await deletedTrace()).job)
    const sent: Job[] = []
    const bindings: Env = { ...env, JOBS: queueInto(sent) }
    const later = Date.now() + RESEND_AFTER_MS + 1
    await sweep(bindings, later)
    expect(sent).toEqual(expect.arrayContaining(jobs))
    const first = sent.length
    await sweep(bindings, later + RESEND_AFTER_MS - 1)
    expect(sent).toHaveLength(first)
    await sweep(bindings, later + RESEND_AFTER_MS)
    expect(sent).toHaveLength(2 * first)
  })

  it('never affects a new trace with the same trace_id, even if the purge is still running', async ({ expect }) => {
    const deleted = await deletedTrace()
    let isHeld = true
    // The first run waits for R2 while a second run finishes and the trace_id is used again.
    const held = wrapBindings(async (binding, call) => {
      while (binding === 'PAYLOADS' && isHeld) await scheduler.wait(5)
      return call()
    })
    const late = runJob(deleted.job, held)
    await runJob(deleted.job, env)
    await deleted.org.ingest.post('/api/v1/traces', deleted.trace)
    await deleted.org.ingest.post(
      '/api/v1/observations',
      anObservation({ trace_id: deleted.trace.trace_id, data: 'new' }),
    )
    isHeld = false
    await late
    const read = (await deleted.org.read.get(`/api/traces/${deleted.id}`)).body
    expect(read.spans).toMatchObject([{ output: 'new' }])
  })

  it('runs in bounded parts, each of which queues the next', async ({ expect }) => {
    const deleted = await deletedTrace()
    const rows = PURGE_ROWS * PURGE_STEPS + 1000
    const { database } = await placeOf(deleted.job.traceKey)
    await database
      .prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
       insert into observations (trace_key, id, type, data, timestamp, received_at)
       select ?, 'o' || i, 'input', '1', 0, 0 from n`,
      )
      .bind(rows, deleted.job.traceKey)
      .run()
    const sent: Job[] = []
    const bindings: Env = { ...env, JOBS: queueInto(sent) }
    await runJob(deleted.job, bindings)
    expect(sent).toEqual([deleted.job])
    expect((await leftOf(deleted)).observations).toBeLessThan(rows)
    await runJob(deleted.job, bindings)
    expect(sent).toHaveLength(1)
    expect(await leftOf(deleted)).toEqual(NOTHING)
  })
})
