import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import { bucketOf } from '../../src/domain/duration-histogram.ts'
import { type StepUse, sumByVersion } from '../../src/domain/step-use.ts'
import type { Env } from '../../src/env.ts'
import { sweep } from '../../src/jobs/sweep.ts'
import { COUNTED_TRACES, MAX_COUNTED_VERSIONS, MIN_COUNT_REST_MS, NOTING_DELAY_MS } from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { aSpan, aTrace } from '../support/builders.ts'
import { stored, tracesTogether } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { aHexSpanId, exportSpans, newRun } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

/** Each cron run is late enough to count everything that existed before it, and to recount days. */
let clock = Date.now() + NOTING_DELAY_MS
async function cron(bindings: Env = env, later = 2 * MIN_COUNT_REST_MS): Promise<void> {
  clock += later
  await sweep(bindings, clock)
}

const insights = async ({ read }: Org, from = '2026-11-01', to = '2026-12-01') =>
  (await read.get(`/api/insights?projectSlug=support&from=${from}T00:00:00.000Z&to=${to}T00:00:00.000Z`)).body

const counted = async (org: Org) => {
  await cron()
  return insights(org)
}

const call = (input_tokens: number, output_tokens: number, cost_usd?: number) => ({
  model: 'gpt-4.1-mini',
  usage: { input_tokens, output_tokens },
  ...(cost_usd !== undefined && { cost_usd }),
})

const NONE = { usage: null, costUsd: null }

describe('tokens, cost, and durations', () => {
  it('are counted by step and version, including calls without an output', async ({ expect }) => {
    const { org, step } = await newTrace()
    expect(await insights(org)).toMatchObject({ ...NONE, versions: [], useDays: [] })
    await step({ step_id: 'answer', ...call(100, 20, 0.1), duration_ms: 1000 })
    await step({ step_id: 'answer', ...call(50, 5, 0.2), duration_ms: 3000 })
    await step({ step_id: 'embed', output: undefined, ...call(7, 0, 0.000_000_14), duration_ms: 10 })
    await step({ step_id: 'plain', duration_ms: 5 })
    await step({ step_id: 'none', output: undefined, duration_ms: 5 })
    const found = await counted(org)
    expect(found).toMatchObject({ usage: { inputTokens: 157, outputTokens: 25 }, costUsd: 0.300_000_14 })
    const answer = {
      stepId: 'answer',
      usage: { inputTokens: 150, outputTokens: 25 },
      costUsd: 0.3,
      duration: { count: 2, p50Ms: 1151, p95Ms: 2728 },
    }
    const embed = {
      stepId: 'embed',
      usage: { inputTokens: 7, outputTokens: 0 },
      costUsd: 0.000_000_14,
      duration: { count: 1, p50Ms: 12, p95Ms: 12 },
    }
    const plain = { stepId: 'plain', ...NONE, duration: { count: 1, p50Ms: 5, p95Ms: 5 } }
    const versions = [answer, embed, plain].map(each => ({ ...each, promptVersionId: null }))
    expect(found.versions).toEqual(versions)
    expect(found.useDays).toEqual(versions.map(each => ({ day: '2026-11-20', ...each })))
    expect(found.steps).toEqual([
      { outputs: 2, reviewed: 0, accepted: 0, corrected: 0, ...answer },
      { outputs: 1, reviewed: 0, accepted: 0, corrected: 0, ...plain },
    ])
  })

  it('are counted by the prompt version that a span names', async ({ expect }) => {
    const { org, step } = await newReviewed('Yes')
    const prompt = { projectSlug: 'support', stepId: 'answer', content: 'Answer.' }
    const { id } = (await org.owner.post('/api/prompts', prompt)).body
    const version = async () =>
      (await org.owner.post(`/api/prompts/${id}/versions`, { content: crypto.randomUUID() })).body.id
    const ids = [await version(), await version()].toSorted()
    for (const prompt_version_id of ids) await step({ step_id: 'answer', prompt_version_id, ...call(10, 1) })
    await step({ step_id: 'answer', ...call(10, 1) })
    const { versions, steps } = await counted(org)
    const usage = { inputTokens: 10, outputTokens: 1 }
    const ofAnswer = versions.filter(({ stepId }: { stepId: string }) => stepId === 'answer')
    expect(ofAnswer).toMatchObject([null, ...ids].map(promptVersionId => ({ promptVersionId, usage })))
    expect(steps).toContainEqual(
      expect.objectContaining({ stepId: 'answer', usage: { inputTokens: 30, outputTokens: 3 } }),
    )
  })

  it('from telemetry are counted once: not again for the agent around a call or for a repeated export', async ({
    expect,
  }) => {
    const { org, span } = await newRun()
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4.1-mini',
      'gen_ai.usage.input_tokens': 412,
      'gen_ai.usage.output_tokens': 36,
    }
    const root = { spanId: aHexSpanId(), attributes: { ...attributes, 'gen_ai.operation.name': 'invoke_agent' } }
    const outer = span({ spanId: aHexSpanId(), parentSpanId: root.spanId, attributes })
    const inner = span({ parentSpanId: outer.spanId, attributes })
    const embedding = span({
      parentSpanId: root.spanId,
      attributes: { ...attributes, 'gen_ai.operation.name': 'embeddings', 'gen_ai.usage.output_tokens': 0 },
    })
    await exportSpans(org, [span(root), outer])
    await cron()
    await exportSpans(org, [inner, embedding])
    await exportSpans(org, [inner, embedding])
    expect((await counted(org)).usage).toEqual({ inputTokens: 2 * 412, outputTokens: 36 })
  })

  it('change if a span is sent again with different usage, and if its output changes after a review', async ({
    expect,
  }) => {
    const { org, step } = await newTrace()
    const span_id = crypto.randomUUID()
    await step({ span_id, ...call(1, 1, 1), duration_ms: 5 })
    expect(await counted(org)).toMatchObject({ usage: { inputTokens: 1 }, costUsd: 1 })
    await org.owner.put(`/api/spans/${span_id}/review`, { decision: 'accept' })
    await step({ span_id, output: 'Changed', ...call(5, 1, 2), duration_ms: 5 })
    // The review marks the day, so it's counted again.
    const found = await counted(org)
    expect(found).toMatchObject({ usage: { inputTokens: 5, outputTokens: 1 }, costUsd: 2 })
    expect(found.versions).toMatchObject([{ duration: { count: 1 } }])
  })

  it('are subtracted if a call deletes their trace, but stay if retention deletes it', async ({ expect }) => {
    const { org, id, step } = await newTrace()
    const kept = await newTrace(org)
    await step(call(1, 1, 1))
    await kept.step(call(10, 1, 2))
    const old = { ...aTrace(), timestamp: '2026-01-05T10:00:00.000Z' }
    await org.ingest.post('/api/v1/traces', old)
    const { trace_id, timestamp } = old
    await org.ingest.post('/api/v1/spans', aSpan({ trace_id, timestamp, ...call(100, 1, 4) }))
    expect(await counted(org)).toMatchObject({ usage: { inputTokens: 11 }, costUsd: 3 })
    await org.owner.delete(`/api/traces/${id}`)
    expect(await counted(org)).toMatchObject({ usage: { inputTokens: 10 }, costUsd: 2 })
    await org.owner.patch(`/api/projects/${org.project.id}`, { retentionDays: 100 })
    await cron(env, 3_600_000)
    await cron()
    expect((await org.read.get('/api/traces?projectSlug=support')).body.traces).toHaveLength(1)
    const january = await insights(org, '2026-01-01', '2026-02-01')
    expect(january).toMatchObject({ outputs: { total: 0 }, usage: { inputTokens: 100 }, costUsd: 4 })
    // Retention doesn't cause the day to be counted again.
    const due = 'select 1 from counted_days where is_use_kept = 1 and due_at is not null'
    await cron(env, 2 * 86_400_000)
    await cron(env, 2 * 86_400_000)
    expect(await stored.prepare(due).first()).toBe(null)
  })

  it('are read under the new names of renamed steps', async ({ expect }) => {
    const { org, step } = await newTrace()
    await step({ step_id: 'old', ...call(1, 1), duration_ms: 1000 })
    await step({ step_id: 'new', ...call(2, 1), duration_ms: 1000 })
    await cron()
    await org.owner.put(`/api/projects/${org.project.id}/step-names`, { names: { old: 'new' } })
    const usage = { inputTokens: 3, outputTokens: 2 }
    const { versions, useDays } = await insights(org)
    for (const list of [versions, useDays]) {
      expect(list).toMatchObject([{ stepId: 'new', usage, duration: { count: 2, p50Ms: 1151 } }])
    }
  })

  it('are stored only when all of a day’s traces are counted, over several runs if necessary', async ({ expect }) => {
    const org = await newOrg()
    const count = COUNTED_TRACES + 500
    const all = await tracesTogether(org.project, count, { metadata: {} })
    for (let start = 0; start < count; start += 500) {
      const traces = all.slice(start, start + 500)
      await resultsOf(
        org,
        traces.flatMap(trace => [
          event('trace', trace),
          event('span', aSpan({ trace_id: trace.trace_id, step_id: 'a', ...call(1, 1, 0.1), duration_ms: 1 })),
        ]),
      )
    }
    await cron()
    expect(await insights(org)).toMatchObject(NONE)
    for (let run = 0; run < 3; run++) await cron(env, 60_000)
    expect(await insights(org)).toMatchObject({
      usage: { inputTokens: count, outputTokens: count },
      costUsd: count / 10,
    })
    expect((await insights(org)).versions).toMatchObject([{ duration: { count } }])
  })

  it('are put in the same buckets by SQL as by JavaScript', async ({ expect }) => {
    const { org, step } = await newTrace()
    const durations = [0, 1, 2, 3, 10, 1000, 60_000, 86_400_000]
    for (const duration_ms of durations) await step({ step_id: 'a', duration_ms })
    await cron()
    const query =
      "select durations from use_days where step_id = 'a' and project_key = (select key from projects where id = ?)"
    const kept = await stored.prepare(query).bind(org.project.id).first<string>('durations')
    expect(JSON.parse(kept ?? '')).toEqual(
      Object.fromEntries([...Map.groupBy(durations, bucketOf)].map(([bucket, same]) => [bucket, same.length])),
    )
  })
})

describe('uses by version', () => {
  it('add up, and versions beyond the limit share one use', ({ expect }) => {
    const uses = Array.from(
      { length: MAX_COUNTED_VERSIONS + 2 },
      (_, index): StepUse => ({
        stepId: String(index),
        promptVersionId: 'v',
        inputTokens: 1,
        outputTokens: null,
        costNanoUsd: null,
        durations: { 3: 1 },
      }),
    )
    const sums = sumByVersion(uses, uses)
    expect(sums).toHaveLength(MAX_COUNTED_VERSIONS + 1)
    expect(sums[0]).toEqual({ ...uses[0], inputTokens: 2, durations: { 3: 2 } })
    expect(sums.at(-1)).toEqual({ ...uses[0], stepId: '', promptVersionId: '', inputTokens: 4, durations: { 3: 4 } })
  })
})
