import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import { sumByStep } from '../../src/domain/output-count.ts'
import type { Env } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  COUNT_REST_PER_TRACE_MS,
  COUNTED_DAYS,
  COUNTED_TRACES,
  DAY_MS,
  MAX_COUNTED_STEPS,
  MIN_COUNT_REST_MS,
  NOTING_DELAY_MS,
} from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { countingBindings, failingAt, rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { anObservation, aSpan, aTrace, aTraceId } from '../support/builders.ts'
import { databases, isSharded, stored, tracesTogether } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

/** Each cron run is late enough to count everything that existed before it, and to recount days. */
let clock = Date.now() + NOTING_DELAY_MS
async function cron(bindings: Env = env, later = 2 * MIN_COUNT_REST_MS): Promise<number> {
  clock += later
  await sweep(bindings, clock)
  return clock
}

/** The counts for a range of days that includes the tests' traces. */
const insights = async ({ read }: Org, from = '2026-11-01', to = '2026-12-01') =>
  (await read.get(`/api/insights?projectSlug=support&from=${from}T00:00:00.000Z&to=${to}T00:00:00.000Z`)).body

const DAY = '2026-11-10'
const at = (day = DAY, time = '12:00:00.000') => `${day}T${time}Z`

/** Creates a trace with an output on a day. The trace's name is also its step. */
async function traced(org: Org, timestamp = at(), name = 'run', trace_id = aTraceId()) {
  const { id } = (await org.ingest.post('/api/v1/traces', aTrace({ trace_id, name, timestamp }))).body
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id, timestamp }))
  const detail = await org.read.get(`/api/traces/${id}`)
  return { id, trace_id, spanId: detail.body.spans[0].id }
}

describe('outputs', () => {
  it('are counted by cron for each step, together with the reviewed ones', async ({ expect }) => {
    const fixture = await newReviewed('Yes')
    const { org } = fixture
    const spanIds = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of spanIds) await fixture.step({ span_id })
    await fixture.step({ output: undefined })
    const withoutOutput = crypto.randomUUID()
    await fixture.step({ span_id: withoutOutput, output: undefined })
    await fixture.observe({ span_id: withoutOutput, data: null })
    expect((await insights(org)).outputs).toEqual({ total: 0, reviewed: 0, countedAt: null })
    const first = await cron()
    expect((await insights(org)).outputs).toEqual({ total: 4, reviewed: 0, countedAt: new Date(first).toISOString() })
    await fixture.review({ decision: 'accept' })
    await org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    await org.owner.put(`/api/spans/${spanIds[1]}/review`, { decision: 'accept' })
    await org.owner.put(`/api/spans/${spanIds[1]}/review`, { decision: 'reset' })
    const second = await cron()
    const { outputs, steps } = await insights(org)
    expect(outputs).toEqual({ total: 4, reviewed: 2, countedAt: new Date(second).toISOString() })
    expect(steps).toMatchObject([
      { stepId: 'generate-answer', outputs: 3, reviewed: 1, accepted: 1, corrected: 0 },
      { stepId: 'support-answer', outputs: 1, reviewed: 1, accepted: 1, corrected: 0 },
    ])
  })

  it('are counted if their trace’s timestamp is in the window', async ({ expect }) => {
    const org = await newOrg()
    for (const timestamp of [at('2026-11-09', '23:59:59.999'), at(DAY, '00:00:00.000'), at(DAY, '23:59:59.999')]) {
      await traced(org, timestamp)
    }
    await traced(org, at('2026-11-11', '00:00:00.000'))
    await traced(org, '1969-12-31T23:59:59.999Z')
    await cron()
    expect((await insights(org, DAY, '2026-11-11')).outputs.total).toBe(2)
    expect((await insights(org)).outputs.total).toBe(4)
    expect((await insights(org, '1969-12-31', '1970-01-01')).outputs.total).toBe(1)
    expect((await insights(org, '1970-01-01', '1970-01-02')).outputs.total).toBe(0)
  })

  it('are removed from the counts when their trace is deleted by a call or by retention', async ({ expect }) => {
    const org = await newOrg()
    const [{ id }] = [await traced(org), await traced(org), await traced(org, at('2026-01-05'))]
    await cron()
    expect((await insights(org)).outputs.total).toBe(2)
    await org.owner.delete(`/api/traces/${id}`)
    await cron()
    expect((await insights(org)).outputs.total).toBe(1)
    expect((await insights(org, '2026-01-01', '2026-02-01')).outputs.total).toBe(1)
    await org.owner.patch(`/api/projects/${org.project.id}`, { retentionDays: 100 })
    await cron(env, 3_600_000)
    await cron()
    expect((await insights(org, '2026-01-01', '2026-02-01')).outputs.total).toBe(0)
    expect((await insights(org)).outputs.total).toBe(1)
  })

  it('are not counted if they are null', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await traced(org)
    await org.ingest.post(
      '/api/v1/observations',
      anObservation({ trace_id, data: null, timestamp: at(DAY, '13:00:00.000') }),
    )
    await cron()
    expect((await insights(org)).outputs.total).toBe(0)
  })

  it('are stored for a day only when all of its traces are counted, over several runs if necessary', async ({
    expect,
  }) => {
    const org = await newOrg()
    const count = COUNTED_TRACES + 1000
    const all = await tracesTogether(org.project, count, { timestamp: at(), metadata: {} })
    for (let start = 0; start < count; start += 500) {
      const traces = all.slice(start, start + 500)
      await resultsOf(
        org,
        traces.flatMap(trace => [
          event('trace', trace),
          event('observation', anObservation({ trace_id: trace.trace_id, timestamp: at() })),
        ]),
      )
    }
    const other = await newOrg()
    await traced(other)
    const first = await cron()
    expect((await insights(org)).outputs).toEqual({ total: 0, reviewed: 0, countedAt: null })
    // Other tenants don't wait for this tenant.
    expect((await insights(other)).outputs.total).toBe(1)
    for (let run = 0; run < 3; run++) await cron(env, 60_000)
    expect((await insights(org)).outputs).toEqual({
      total: count,
      reviewed: 0,
      countedAt: new Date(first).toISOString(),
    })
  })

  it('are counted once more, a day later, if their day did not change', async ({ expect }) => {
    const org = await newOrg()
    const { spanId } = await traced(org)
    const countedAt = async (): Promise<string> => (await insights(org)).outputs.countedAt
    const isSettled = async () => {
      const query = 'select due_at from counted_days where project_key = (select key from projects where id = ?)'
      return (await stored.prepare(query).bind(org.project.id).first('due_at')) === null
    }
    await cron()
    await cron()
    const second = await countedAt()
    await cron(env, DAY_MS / 2)
    expect(await countedAt()).toBe(second)
    await cron(env, DAY_MS)
    expect((await countedAt()) > second).toBe(true)
    await cron(env, DAY_MS)
    const settled = await countedAt()
    expect(await isSettled()).toBe(true)
    await cron(env, 10 * DAY_MS)
    expect(await countedAt()).toBe(settled)
    // A change makes the day due again.
    await org.owner.put(`/api/spans/${spanId}/review`, { decision: 'accept' })
    expect(await isSettled()).toBe(false)
    await cron()
    expect((await insights(org)).outputs.reviewed).toBe(1)
  })

  it('are counted less often if their day is large', async ({ expect }) => {
    const org = await newOrg()
    const [late, ...traces] = await tracesTogether(org.project, 201, { timestamp: at(), metadata: {} })
    await resultsOf(
      org,
      traces.map(trace => event('trace', trace)),
    )
    await cron(env, DAY_MS)
    const countedAt = async (): Promise<string> => (await insights(org)).outputs.countedAt
    const first = await countedAt()
    expect(first).not.toBe(null)
    const rest = 200 * COUNT_REST_PER_TRACE_MS
    await resultsOf(org, [event('trace', late)])
    await cron(env, rest - 1000)
    expect(await countedAt()).toBe(first)
    await cron(env, 1000)
    expect((await countedAt()) > first).toBe(true)
  })

  it('cost 6 row reads for each trace with one span, and none if nothing is new', async ({ expect }) => {
    const org = await newOrg()
    await cron(env, 2 * DAY_MS)
    await cron(env, 2 * DAY_MS)
    await cron()
    // A busy queue may have left a purge of an earlier test's trace, which is then due in one of these two runs.
    const idle = Math.min(await rowsReadBy(cron), await rowsReadBy(cron))
    await resultsOf(
      org,
      Array.from({ length: 300 }, () => {
        const body = aTrace({ timestamp: at(), metadata: {} })
        return [event('trace', body), event('observation', anObservation({ trace_id: body.trace_id, timestamp: at() }))]
      }).flat(),
    )
    // Each trace costs three more rows once, to mark its day as changed.
    expect(await rowsReadBy(cron)).toBeLessThan(idle + 300 * (6 + 3) + 100)
    expect((await insights(org)).outputs.total).toBe(300)
    // Each of cron's passes reads a few rows. With shards, cron also reads from the copies.
    expect(idle).toBeLessThan(isSharded ? 400 : 100)
  })

  it('are counted once, even if the response to any database call is lost', async ({ expect }) => {
    const errorLog = vi.spyOn(console, 'error').mockImplementation(() => {})
    for (let call = 1; call <= 14; call++) {
      const org = await newOrg()
      await traced(org)
      await traced(org)
      clock += 2 * MIN_COUNT_REST_MS
      await sweep(wrapBindings(failingAt(call, 'D1_ERROR: Network connection lost.', 'after')), clock)
      await cron()
      expect((await insights(org)).outputs.total, `call ${call}`).toBe(2)
    }
    errorLog.mockRestore()
  })

  it('are counted in few queries, even if many days are due', async ({ expect }) => {
    const org = await newOrg()
    const days = Array.from({ length: COUNTED_DAYS + 5 }, (_, index) => new Date(Date.UTC(2026, 2, 1 + index)))
    const traces = await tracesTogether(org.project, days.length)
    for (const [index, day] of days.entries()) {
      await traced(org, day.toISOString(), 'run', traces[index]?.trace_id)
    }
    const { bindings, counts } = countingBindings()
    await cron(bindings)
    // This includes cron's other queries. The free plan allows 50 queries.
    expect(counts.d1RoundTrips).toBeLessThan(36 * databases.length)
    const { total } = (await insights(org, '2026-03-01', '2026-05-01')).outputs
    // Days from other tests may have been due for longer, so they come first.
    expect(total > COUNTED_DAYS / 2 && total <= COUNTED_DAYS).toBe(true)
    await cron(env, 60_000)
    expect((await insights(org, '2026-03-01', '2026-05-01')).outputs.total).toBe(days.length)
  })

  it('are counted together for steps beyond the limit', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await traced(org)
    const events = Array.from({ length: MAX_COUNTED_STEPS + 10 }, (_, index) => ({
      type: 'span',
      body: aSpan({ trace_id, step_id: `step-${String(index).padStart(4, '0')}`, output: index }),
    }))
    await resultsOf(org, events)
    await cron()
    await cron(env, 60_000)
    const { outputs, steps } = await insights(org)
    expect(outputs.total).toBe(MAX_COUNTED_STEPS + 11)
    expect(steps).toHaveLength(MAX_COUNTED_STEPS)
  })
})

describe('counts by step', () => {
  it('add up, and steps beyond the limit share one count', ({ expect }) => {
    const counts = Array.from({ length: MAX_COUNTED_STEPS + 2 }, (_, index) => ({
      stepId: String(index),
      outputs: 1,
      reviewed: 0,
    }))
    const sum = sumByStep(counts, counts)
    expect(sum).toHaveLength(MAX_COUNTED_STEPS + 1)
    expect(sum.at(-1)).toEqual({ stepId: '', outputs: 4, reviewed: 0 })
    expect(sum[0]).toEqual({ stepId: '0', outputs: 2, reviewed: 0 })
  })
})
