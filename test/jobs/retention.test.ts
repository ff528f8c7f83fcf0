import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Env, Job } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { RETENTION_PASS_MS, RETENTION_STEPS, RETENTION_TRACES } from '../../src/limits.ts'
import { resultsOf } from '../support/batch.ts'
import { aTraceId } from '../support/builders.ts'
import { isSharded, stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newWebhooks, storeEvent } from '../support/webhooks.ts'

const DAY_MS = 86_400_000

/** A pass starts an hour after the previous one, so each cron run here is in a different hour. */
let hour = Date.now()
async function cron(bindings: Env = env): Promise<number> {
  hour += 2 * RETENTION_PASS_MS
  await sweep(bindings, hour)
  return hour
}

/** Creates a trace that is the given number of days old and whose root has an output. */
async function aged(org: Org, days: number, fields: object = {}) {
  const timestamp = new Date(Date.now() - days * DAY_MS).toISOString()
  const trace_id = aTraceId()
  const trace = { trace_id, name: 'run', status: 'running', timestamp, ...fields }
  const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
  await org.ingest.post('/api/v1/observations', { trace_id, type: 'output', data: 'Yes', timestamp })
  return { id, trace_id }
}

const retention = (org: Org, body: object) => org.owner.patch(`/api/projects/${org.project.id}`, body)
const isThere = async (org: Org, id: string) => (await org.read.get(`/api/traces/${id}`)).status === 200
const rootOf = async (org: Org, id: string) => (await org.read.get(`/api/traces/${id}`)).body.spans[0].id

describe('a project with retentionDays', () => {
  it('deletes only older traces', async ({ expect }) => {
    const org = await newOrg()
    const [old, young] = [await aged(org, 31), await aged(org, 29)]
    await cron()
    expect(await isThere(org, old.id)).toBe(true)
    expect((await retention(org, { retentionDays: 30 })).body).toMatchObject({
      retentionDays: 30,
      retainReviewed: true,
    })
    await cron()
    expect([await isThere(org, old.id), await isThere(org, young.id)]).toEqual([false, true])
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toHaveLength(1)
  })

  it('keeps traces with a reviewed span', async ({ expect }) => {
    const org = await newOrg()
    const [reviewed, reset, commented] = [await aged(org, 40), await aged(org, 40), await aged(org, 40)]
    const review = async (id: string, decision: string) =>
      org.owner.put(`/api/spans/${await rootOf(org, id)}/review`, { decision })
    await review(reviewed.id, 'accept')
    await review(reset.id, 'accept')
    await review(reset.id, 'reset')
    await org.owner.post(`/api/spans/${await rootOf(org, commented.id)}/feedback`, { content: 'Hm' })
    await retention(org, { retentionDays: 30 })
    await cron()
    const there = async () => Promise.all([reviewed, reset, commented].map(({ id }) => isThere(org, id)))
    expect(await there()).toEqual([true, false, false])
    expect((await org.read.get(`/api/traces/${reviewed.id}`)).body.spans[0].approvedOutput).toBe('Yes')
    await retention(org, { retainReviewed: false })
    await cron()
    expect(await there()).toEqual([false, false, false])
  })

  it('leaves other projects alone', async ({ expect }) => {
    const [org, other] = [await newOrg(), await newOrg()]
    const mine = await aged(org, 400)
    const theirs = await aged(other, 400)
    await retention(org, { retentionDays: 1 })
    await cron()
    expect([await isThere(org, mine.id), await isThere(other, theirs.id)]).toEqual([false, true])
    await retention(org, { retentionDays: null })
    const later = await aged(org, 400)
    await cron()
    expect(await isThere(org, later.id)).toBe(true)
  })

  it('keeps no rows or objects of deleted traces', async ({ expect }) => {
    const org = await newOrg()
    const { id, trace_id } = await aged(org, 40, { metadata: { a: 1 } })
    const large = 'x'.repeat(20_000)
    await org.ingest.post('/api/v1/observations', {
      trace_id,
      type: 'output',
      data: large,
      timestamp: '2026-01-01T00:00:00.000Z',
    })
    await org.owner.put(`/api/spans/${await rootOf(org, id)}/review`, {
      decision: 'correct',
      approvedOutput: `${large}!`,
    })
    const key = await stored.prepare('select key from traces where id = ?').bind(id).first('key')
    await newWebhooks(org)
    await storeEvent(org, { projectId: org.project.id, traceKey: key, isPending: true })
    await retention(org, { retentionDays: 30, retainReviewed: false })
    const sent: Job[] = []
    const queue = { sendBatch: async (batch: { body: Job }[]) => sent.push(...batch.map(({ body }) => body)) }
    await cron({ ...env, JOBS: queue as unknown as Queue<Job> })
    expect(sent).toMatchObject([{ kind: 'purge_trace', traceKey: key }])
    for (const job of sent) await runJob(job, env)
    for (const table of ['spans', 'observations', 'reviews', 'feedback', 'trace_fields', 'webhook_events']) {
      const rows = await stored
        .prepare(`select count(*) as count from ${table} where trace_key = ?`)
        .bind(key)
        .first('count')
      expect(rows, table).toBe(0)
    }
    expect((await env.PAYLOADS.list({ prefix: `${org.id}/${key}/` })).objects).toEqual([])
  })

  it('deletes a limited number of traces at a time, and skips those that are kept', async ({ expect }) => {
    const org = await newOrg()
    const total = RETENTION_STEPS * RETENTION_TRACES + 150
    const traces = Array.from({ length: total }, (_, index) => ({
      trace_id: aTraceId(),
      name: 'run',
      status: 'running',
      timestamp: new Date(Date.now() - 100 * DAY_MS + index).toISOString(),
    }))
    for (let start = 0; start < total; start += 500) {
      await resultsOf(
        org,
        traces.slice(start, start + 500).map(body => ({ type: 'trace', body })),
      )
    }
    await stored
      .prepare(
        `update spans set review_state = 'accepted' where (id, trace_key) in (
         select root_span_id, key from traces where project_key = (select key from projects where id = ?)
         order by timestamp limit 130)`,
      )
      .bind(org.project.id)
      .run()
    const kept = Number(
      await stored
        .prepare(
          `select count(*) as count from spans where review_state = 'accepted' and trace_key in (
           select key from traces where project_key = (select key from projects where id = ?))`,
        )
        .bind(org.project.id)
        .first('count'),
    )
    expect(kept).toBeGreaterThanOrEqual(130)
    const left = async () =>
      stored
        .prepare(
          `select count(*) as count from traces
         where deleted_at is null and project_key = (select key from projects where id = ?)`,
        )
        .bind(org.project.id)
        .first('count')
    await retention(org, { retentionDays: 30 })
    const { JOBS, ...withoutQueue } = env
    const now = await cron(withoutQueue)
    if (!isSharded) expect(await left()).toBeGreaterThan(kept)
    // The next run continues from here.
    await sweep(withoutQueue, now + 60_000)
    expect(await left()).toBe(kept)
  })

  it.for([
    ['retentionDays', 0],
    ['retentionDays', 1.5],
    ['retentionDays', '30'],
    ['retentionDays', 3651],
    ['retainReviewed', null],
    ['retainReviewed', 'no'],
  ] as const)('400s for %s %s', async ([field, value], { expect }) => {
    const org = await newOrg()
    const response = await retention(org, { [field]: value })
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(field)
  })
})
