import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { runJob } from '../../src/jobs/consumer.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { DAY_MS, MODEL_DAILY_LIMIT } from '../../src/limits.ts'
import { reserveModelCall } from '../../src/store/accounts/model-calls.ts'
import { deliver, newDisputed, storeOf, withMessages, withoutQueue } from '../support/attribution.ts'
import { jobPlace, stored as rows } from '../support/database.ts'
import { anAnswer, aProvider } from '../support/model.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

const ANSWER = anAnswer({
  quotes: [{ span_id: null, path: 'feedback.comment', quote: 'It is 24 months' }],
  span_id: null,
})
const OUTSIDE = { ...ANSWER, error_type: 'phase_of_the_moon' }
const DISPUTE = { rating: 'negative', comment: 'It is 24 months' }

const midnight = () => (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS

/** Records this many model calls for the tenant's project today. */
const spendCalls = ({ project }: Org, calls: number) =>
  env.DB.prepare(
    `insert into model_calls select key, ?2, ?3 from projects where id = ?1
     on conflict do update set calls = excluded.calls`,
  )
    .bind(project.id, Math.floor(Date.now() / DAY_MS), calls)
    .run()

const callsOf = ({ project }: Org) =>
  env.DB.prepare('select calls from model_calls where project_key = (select key from projects where id = ?)')
    .bind(project.id)
    .first('calls')

const limited = (bindings: Env, limit: number | string): Env => ({ ...bindings, MODEL_DAILY_LIMIT: String(limit) })

describe("a project's daily model calls", () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it('are counted before they are made, including repeated questions', async ({ expect }) => {
    const { ask, org } = await newDisputed()
    const { bindings, modelRequests } = await aProvider([{ answer: OUTSIDE }, { answer: ANSWER }])
    expect((await ask(withoutQueue(bindings))).status).toBe(200)
    expect(await modelRequests()).toHaveLength(2)
    expect(await callsOf(org)).toBe(2)
  })

  it('are counted even if the provider fails, but not if the rules answer', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { ask, org } = await newDisputed()
    expect((await ask(env)).status).toBe(200)
    expect(await callsOf(org)).toBeNull()
    const other = await newDisputed()
    const { bindings } = await aProvider([{ status: 500 }])
    await other.askAsync(withMessages().bindings)
    await deliver(other.job, bindings)
    expect(await callsOf(other.org)).toBe(1)
  })

  it('give a 429 with a retry time once they are used up, and the job waits until then', async ({ expect }) => {
    const { ask, askAsync, result, job, stored, org } = await newDisputed()
    const { bindings: provided, modelRequests } = await aProvider([{ answer: ANSWER }])
    const bindings = withoutQueue(limited(provided, 2))
    await spendCalls(org, 2)
    const response = await ask(bindings)
    expect(response).toMatchObject({ status: 429, body: { code: 'model_limit_reached' } })
    expect(response.body.error).toContain('00:00 UTC')
    const retryAfter = Number(response.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThanOrEqual(1)
    expect(Math.abs(Date.now() + retryAfter * 1000 - midnight())).toBeLessThan(60_000)
    const waiting = { job: { status: 'pending', attempts: 0, due_at: midnight(), lease_token: null }, results: 0 }
    expect(await stored()).toMatchObject(waiting)
    const pending = { status: 'pending', waits_until: new Date(midnight()).toISOString() }
    expect(await result()).toMatchObject({ status: 202, body: pending })
    expect(await askAsync(bindings)).toMatchObject({ status: 202, body: pending })
    // Neither the queue nor another request retries earlier.
    expect(await deliver(job, bindings)).toMatchObject({ isTaken: true })
    expect((await ask(bindings)).status).toBe(429)
    expect(await stored()).toMatchObject(waiting)
    // Nor does the dead-letter queue fail the job.
    vi.spyOn(console, 'error').mockImplementation(() => {})
    await deliver(job, bindings, { queue: 'countersign-jobs-dead' })
    expect(await stored()).toMatchObject(waiting)
    expect(await modelRequests()).toEqual([])
    expect(await callsOf(org)).toBe(2)
  })

  it('let a waiting job continue when the day is over', async ({ expect }) => {
    const { askAsync, job, stored, org } = await newDisputed()
    const { bindings: provided, modelRequests } = await aProvider([{ answer: ANSWER }])
    const bindings = limited(provided, 1)
    await spendCalls(org, 1)
    await askAsync(withMessages().bindings)
    const handing = withMessages(bindings)
    await runJob(job, handing.bindings)
    // The job is sent only once.
    expect(handing.attributions()).toEqual([])
    const sentAt = async (now: number) => {
      const { bindings, attributions } = withMessages()
      await sweep(bindings, now)
      return attributions().filter(({ traceKey }) => traceKey === job.traceKey)
    }
    const next = midnight()
    expect(await sentAt(next - 1000)).toEqual([])
    expect(await sentAt(next)).toEqual([job])
    vi.useFakeTimers({ toFake: ['Date'], now: next + 1000 })
    await runJob(job, bindings)
    expect(await stored()).toMatchObject({ job: { status: 'done' }, results: 1 })
    expect(await modelRequests()).toHaveLength(1)
    expect(await callsOf(org)).toBe(1)
  })

  it('let a manager continue as soon as the limit is raised', async ({ expect }) => {
    const { ask, org } = await newDisputed()
    const { bindings: provided } = await aProvider([{ answer: ANSWER }])
    await spendCalls(org, 1)
    expect((await ask(withoutQueue(limited(provided, 1)))).status).toBe(429)
    expect((await ask(withoutQueue(limited(provided, 2)), '?force=true')).status).toBe(200)
  })

  it('can run out between a run’s two questions', async ({ expect }) => {
    const { ask, stored, org } = await newDisputed()
    const { bindings, modelRequests } = await aProvider([{ answer: OUTSIDE }, { answer: ANSWER }])
    expect((await ask(withoutQueue(limited(bindings, 1)))).status).toBe(429)
    expect(await modelRequests()).toHaveLength(1)
    expect(await stored()).toMatchObject({ job: { status: 'pending', attempts: 0 }, results: 0 })
    expect(await callsOf(org)).toBe(1)
  })

  it('stay within the limit despite concurrent runs', { timeout: 60_000 }, async ({ expect }) => {
    const org = await newOrg()
    const disputed = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { trace_id, id, give } = await newTrace(org)
        await give(DISPUTE)
        await org.bearer(withMessages().bindings).post(`/api/v1/traces/${trace_id}/attribute`, undefined, {
          prefer: 'respond-async',
        })
        const row = await rows.prepare('select key, organization_key from traces where id = ?').bind(id).first()
        const place = await jobPlace(row?.key)
        return { traceKey: Number(row?.key), organizationKey: Number(row?.organization_key), ...place }
      }),
    )
    await spendCalls(org, 4)
    const { bindings, modelRequests } = await aProvider(Array.from({ length: 20 }, () => ({ answer: ANSWER })))
    await Promise.all(disputed.map(subject => runJob({ kind: 'attribute_trace', ...subject }, limited(bindings, 5))))
    expect(await modelRequests()).toHaveLength(1)
    expect(await callsOf(org)).toBe(5)
    const { results } = await rows
      .prepare(
        `select status, due_at from attribution_jobs
       where project_key = (select key from projects where id = ?)`,
      )
      .bind(org.project.id)
      .all<{ status: string }>()
    const waiting = { status: 'pending', due_at: midnight() }
    expect(results.toSorted((one, other) => (one.status < other.status ? -1 : 1))).toEqual([
      { status: 'done', due_at: null },
      ...Array(19).fill(waiting),
    ])
  })

  it.for([
    ['3', 3],
    ['3.7', 3],
    ['', MODEL_DAILY_LIMIT],
    ['0', MODEL_DAILY_LIMIT],
    ['-1', MODEL_DAILY_LIMIT],
    ['many', MODEL_DAILY_LIMIT],
    ['1e999', MODEL_DAILY_LIMIT],
  ] as const)('are limited by MODEL_DAILY_LIMIT %o to %i', async ([configured, limit], { expect }) => {
    for (const [calls, status] of [
      [limit - 1, 200],
      [limit, 429],
    ] as const) {
      const { ask, org } = await newDisputed()
      const { bindings } = await aProvider([{ answer: ANSWER }])
      await spendCalls(org, calls)
      expect((await ask(withoutQueue(limited(bindings, configured)))).status).toBe(status)
    }
  })

  it('are counted separately for each project, organization, and day', async ({ expect }) => {
    const org = await newOrg()
    const [store, foreign] = await Promise.all([storeOf(org), storeOf(await newOrg())])
    const projectKey = Number(
      await env.DB.prepare('select key from projects where id = ?').bind(org.project.id).first('key'),
    )
    const now = 20_000 * DAY_MS
    const reserve = (at: number) => reserveModelCall(store, projectKey, { now: at, limit: 2 })
    const reserved = [await reserve(now), await reserve(now + DAY_MS - 1), await reserve(now + 5)]
    expect(reserved).toEqual([true, true, false])
    expect(await reserve(now + DAY_MS)).toBe(true)
    // If the clock is behind, calls still count toward the day that has begun.
    expect(await reserve(now)).toBe(true)
    expect(await reserve(now + DAY_MS)).toBe(false)
    expect(await reserveModelCall(foreign, projectKey, { now: now + 9 * DAY_MS, limit: 2 })).toBe(false)
  })
})
