import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { addedUp } from '../../src/domain/output-count.ts'
import type { Env } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import {
  COUNTED_DAYS,
  COUNTED_TRACES,
  DAY_MS,
  MAX_COUNTED_STEPS,
  MIN_COUNT_REST_MS,
  NOTING_DELAY_MS,
} from '../../src/limits.ts'
import { resultsOf } from '../support/batch.ts'
import { countingBindings } from '../support/bindings.ts'
import { anObservation, aSpan, aTrace, aTraceId } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

/** Each run of cron is late enough for what was there before to be seen, and for what it counted to have rested. */
let clock = Date.now() + NOTING_DELAY_MS
async function cron(bindings: Env = env, later = 2 * MIN_COUNT_REST_MS): Promise<number> {
  clock += later
  await sweep(bindings, clock)
  return clock
}

/** What is counted of the days around those of the tests' traces. */
const insights = async ({ read }: Org, from = '2026-11-01', to = '2026-12-01') =>
  (await read.get(`/api/insights?projectSlug=support&from=${from}T00:00:00.000Z&to=${to}T00:00:00.000Z`)).body

const DAY = '2026-11-10'
const at = (day = DAY, time = '12:00:00.000') => `${day}T${time}Z`

/** A trace with an output on a day, whose step is its name. */
async function traced(org: Org, timestamp = at(), name = 'run') {
  const trace_id = aTraceId()
  const { id } = (await org.ingest.post('/api/v1/traces', aTrace({ trace_id, name, timestamp }))).body
  await org.ingest.post('/api/v1/observations', anObservation({ trace_id, timestamp }))
  const detail = await org.read.get(`/api/traces/${id}`)
  return { id, trace_id, spanId: detail.body.spans[0].id }
}

describe('outputs', () => {
  it('are counted by cron, by step, with those that are reviewed', async ({ expect }) => {
    const made = await newReviewed('Yes')
    const { org } = made
    const spanIds = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of spanIds) await made.step({ span_id })
    await made.step({ output: undefined })
    await made.step({ output: null })
    expect((await insights(org)).outputs).toEqual({ total: 0, reviewed: 0, countedAt: null })
    const first = await cron()
    expect((await insights(org)).outputs).toEqual({ total: 4, reviewed: 0, countedAt: new Date(first).toISOString() })
    await made.review({ decision: 'accept' })
    await org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'accept' })
    await org.owner.put(`/api/spans/${spanIds[1]}/review`, { decision: 'accept' })
    await org.owner.put(`/api/spans/${spanIds[1]}/review`, { decision: 'reset' })
    const second = await cron()
    const { outputs, steps } = await insights(org)
    expect(outputs).toEqual({ total: 4, reviewed: 2, countedAt: new Date(second).toISOString() })
    expect(steps).toEqual([
      { stepId: 'generate-answer', outputs: 3, reviewed: 1, accepted: 1, corrected: 0 },
      { stepId: 'support-answer', outputs: 1, reviewed: 1, accepted: 1, corrected: 0 },
    ])
  })

  it('are those of the traces whose timestamp is in the window', async ({ expect }) => {
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

  it('go with their trace, and with what retention deletes', async ({ expect }) => {
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

  it('of a null that arrived are none', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await traced(org)
    await org.ingest.post(
      '/api/v1/observations',
      anObservation({ trace_id, data: null, timestamp: at(DAY, '13:00:00.000') }),
    )
    await cron()
    expect((await insights(org)).outputs.total).toBe(0)
  })

  it('of a day with more traces than a run looks at are stored once the day is counted whole', async ({ expect }) => {
    const org = await newOrg()
    const events = Array.from({ length: 1000 }, () => ({
      type: 'trace',
      body: aTrace({ timestamp: at(), metadata: {} }),
    }))
    const count = Math.ceil(COUNTED_TRACES / 1000) + 1
    for (let batch = 0; batch < count; batch++) {
      const fresh = events.map(event => ({ ...event, body: { ...event.body, trace_id: aTraceId() } }))
      await resultsOf(org, [
        ...fresh.slice(0, 500),
        ...fresh.slice(0, 500).map(({ body }) => ({
          type: 'observation',
          body: anObservation({ trace_id: body.trace_id, data: 'Yes', timestamp: at() }),
        })),
      ])
      await resultsOf(org, [
        ...fresh.slice(500),
        ...fresh.slice(500).map(({ body }) => ({
          type: 'observation',
          body: anObservation({ trace_id: body.trace_id, data: 'Yes', timestamp: at() }),
        })),
      ])
    }
    const other = await newOrg()
    await traced(other)
    const first = await cron()
    expect((await insights(org)).outputs).toEqual({ total: 0, reviewed: 0, countedAt: null })
    // Nobody waits for those who have more.
    expect((await insights(other)).outputs.total).toBe(1)
    for (let run = 0; run < 3; run++) await cron(env, 60_000)
    expect((await insights(org)).outputs).toEqual({
      total: count * 1000,
      reviewed: 0,
      countedAt: new Date(first).toISOString(),
    })
  })

  it('of days that stay as they are are counted again a day later and then no more, at no cost', async ({ expect }) => {
    const org = await newOrg()
    const { spanId } = await traced(org)
    const costs: number[] = []
    const run = async (later?: number) => {
      const { bindings, counts } = countingBindings()
      await cron(bindings, later)
      costs.push(counts.rowsWritten)
    }
    await run()
    await run()
    const { countedAt } = (await insights(org)).outputs
    await run(DAY_MS / 2)
    expect((await insights(org)).outputs.countedAt).toBe(countedAt)
    await run(DAY_MS)
    const settled = (await insights(org)).outputs.countedAt
    expect(settled > countedAt).toBe(true)
    for (let days = 0; days < 3; days++) await run(DAY_MS)
    expect((await insights(org)).outputs.countedAt).toBe(settled)
    await org.owner.put(`/api/spans/${spanId}/review`, { decision: 'accept' })
    await run()
    expect((await insights(org)).outputs.reviewed).toBe(1)
  })

  it('are counted in few queries, however many days wait', async ({ expect }) => {
    const org = await newOrg()
    const days = Array.from({ length: COUNTED_DAYS + 5 }, (_, index) => new Date(Date.UTC(2026, 2, 1 + index)))
    for (const day of days) await traced(org, day.toISOString())
    const { bindings, counts } = countingBindings()
    await cron(bindings)
    expect(counts.d1RoundTrips).toBeLessThan(20)
    const { total } = (await insights(org, '2026-03-01', '2026-05-01')).outputs
    // Days of other tests may have waited longer.
    expect(total > COUNTED_DAYS / 2 && total <= COUNTED_DAYS).toBe(true)
    await cron(env, 60_000)
    expect((await insights(org, '2026-03-01', '2026-05-01')).outputs.total).toBe(days.length)
  })

  it('of more steps than are counted one by one are counted together', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = await traced(org)
    const events = Array.from({ length: MAX_COUNTED_STEPS + 10 }, (_, index) => ({
      type: 'span',
      body: aSpan({ trace_id, step_id: `step-${String(index).padStart(4, '0')}` }),
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
  it('add up, those of steps past the limit together', ({ expect }) => {
    const counts = Array.from({ length: MAX_COUNTED_STEPS + 2 }, (_, index) => ({
      stepId: String(index),
      outputs: 1,
      reviewed: 0,
    }))
    const sum = addedUp(counts, counts)
    expect(sum).toHaveLength(MAX_COUNTED_STEPS + 1)
    expect(sum.at(-1)).toEqual({ stepId: '', outputs: 4, reviewed: 0 })
    expect(sum[0]).toEqual({ stepId: '0', outputs: 2, reviewed: 0 })
  })
})
