import { env } from 'cloudflare:workers'
import { beforeAll, describe, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DELETION_SETTLE_MS, INLINE_BYTES, LABELER_PASS_MS, ORPHAN_AGE_MS } from '../../src/limits.ts'
import { databaseOf } from '../../src/store/core/store.ts'
import { aFeedback } from '../support/builders.ts'
import {
  alone,
  bindings,
  enterEpoch,
  newTenant,
  ONE,
  prepareTwoDatabases,
  projectOf,
  TWO,
  without,
  write,
} from '../support/two-databases.ts'

beforeAll(prepareTwoDatabases)

/** Each run is late enough for every pass. */
let clock = Date.now() + ORPHAN_AGE_MS
async function cron(own: Env): Promise<void> {
  clock += 2 * LABELER_PASS_MS
  await sweep(alone(own), clock)
}

/** Runs cron without the second database. */
async function cronWithoutTwo(): Promise<void> {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  await cron(without(TWO))
  log.mockRestore()
}

/** Runs cron with all databases until `isDone` returns true, but at most five times. */
async function finish(isDone: () => Promise<boolean>): Promise<void> {
  for (let run = 0; run < 5 && !(await isDone()); run++) await cron(bindings)
}

/** A tenant with a trace in each database, and a client whose jobs wait for cron. */
async function newPair() {
  const tenant = await newTenant([ONE])
  const one = await write(tenant)
  await enterEpoch(tenant, [TWO])
  const two = await write(tenant)
  const client = tenant.org.clientOf(await tenant.org.keyFor({ projectSlug: undefined }), alone(bindings))
  return { tenant, one, two, client }
}

/** The first column of the first row in a database. */
const find = (shard: number, query: string, ...values: string[]) =>
  databaseOf(bindings, shard)
    .prepare(query)
    .bind(...values)
    .raw()
    .then(([row]) => row?.[0])

const TRACE = 'select 1 from traces where id = ?'

describe('cron while a database does not respond', () => {
  it('does the work in the others first, and the rest later', async ({ expect }) => {
    const { tenant, one, two, client } = await newPair()
    const kept = [await write(tenant), await write(tenant)]
    for (const { id } of [one, two]) expect((await client.delete(`/api/traces/${id}`)).status).toBe(200)
    const path = `/api/projects/${tenant.org.project.id}`
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const silent = tenant.org.clientOf(await tenant.org.keyFor({ projectSlug: undefined }), alone(without(TWO)))
    expect((await silent.patch(path, { name: 'Renamed' })).status).toBe(200)
    log.mockRestore()
    await cronWithoutTwo()
    const isLeft = async () => [await find(ONE, TRACE, one.id), await find(TWO, TRACE, two.id)]
    const names = () =>
      Promise.all([ONE, TWO].map(shard => find(shard, 'select name from projects where id = ?', tenant.org.project.id)))
    expect(await isLeft()).toEqual([undefined, 1])
    expect(await names()).toEqual(['Renamed', 'Epoch 1'])
    const counted = async () =>
      (await tenant.api.get(`/api/insights?${projectOf(tenant)}&${NOVEMBER}`)).body.outputs.total
    await finish(async () => (await counted()) === kept.length)
    expect(await counted()).toBe(kept.length)
    expect(await isLeft()).toEqual([undefined, undefined])
    expect(await names()).toEqual(['Renamed', 'Renamed'])
  })

  it('purges a deleted project from it later', async ({ expect }) => {
    const { tenant, one, two, client } = await newPair()
    const { id } = tenant.org.project
    expect((await client.delete(`/api/projects/${id}`, { confirm: 'support' })).status).toBe(200)
    await cronWithoutTwo()
    expect(await find(TWO, TRACE, two.id)).toBe(1)
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(Date.now() + DELETION_SETTLE_MS)
    const left = async () => [
      await find(0, 'select purge_due_at from projects where id = ?', id),
      await find(ONE, TRACE, one.id),
      await find(TWO, TRACE, two.id),
    ]
    await finish(async () => !(await left()).some(Boolean))
    vi.useRealTimers()
    expect(await left()).toEqual([null, undefined, undefined])
  })

  it('removes a deleted user from it later, and keeps labelers and objects that only it refers to', async ({
    expect,
  }) => {
    const { tenant, one, two, client } = await newPair()
    const { org, api, pipeline } = tenant
    const user = (await api.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
    const reviewer = org.clientOf(await org.keyFor({ projectSlug: undefined, userId: user.id }), bindings)
    const large = 'x'.repeat(2 * INLINE_BYTES)
    for (const { spanId } of [one, two]) {
      const review = { decision: 'correct', approvedOutput: large }
      expect((await reviewer.put(`/api/spans/${spanId}/review`, review)).status).toBe(200)
    }
    const email = `${crypto.randomUUID()}@example.com`
    for (const feedback_id of ['kept', 'deleted']) {
      const feedback = aFeedback({ trace_id: two.traceId, feedback_id, labeller: { email } })
      expect((await pipeline.post('/api/v1/feedback', feedback)).status).toBe(201)
    }
    expect((await pipeline.delete('/api/v1/feedback/deleted')).status).toBe(200)
    expect((await client.delete(`/api/users/${user.id}`)).status).toBe(200)
    await env.DB.prepare("delete from sweeps where name in ('orphans', 'labellers')").run()
    await cronWithoutTwo()
    const reviewers = () => Promise.all([find(ONE, REVIEWER, one.spanId), find(TWO, REVIEWER, two.spanId)])
    expect(await reviewers()).toContain(user.id)
    await finish(async () => !(await reviewers()).includes(user.id))
    expect(await reviewers()).toEqual([expect.not.stringMatching(user.id), expect.not.stringMatching(user.id)])
    expect(await find(0, 'select unchecked_since from users where email = ?', email)).toBe(null)
    expect((await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects).toHaveLength(2)
  })
})

const REVIEWER = 'select user_id from reviews where span_id = ?'
const NOVEMBER = 'from=2026-11-01T00:00:00.000Z&to=2026-12-01T00:00:00.000Z'
