import { describe, it } from 'vitest'
import { MAX_COST_USD, MAX_NAME_LENGTH, MAX_TOKENS } from '../../src/limits.ts'
import { aHexSpanId, exportSpans, newRun } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const CALL = {
  model: 'gpt-4.1-mini',
  provider: 'openai',
  usage: { input_tokens: 412, output_tokens: 36, cached_tokens: 256 },
  cost_usd: 0.00018,
}
const USAGE = { inputTokens: 412, outputTokens: 36, totalTokens: 448, cachedTokens: 256 }

describe('the model, usage, and cost of a span', () => {
  it('appear on the span, and their sums on the trace', async ({ expect }) => {
    const { org, id, step, read, spanOf } = await newTrace()
    expect(await read()).toMatchObject({ usage: null, costUsd: null })
    const span_id = crypto.randomUUID()
    await step({ ...CALL, span_id })
    await step({ ...CALL, usage: { input_tokens: 1, output_tokens: 2, reasoning_tokens: 2 }, cost_usd: 1 })
    await step({ model: 'unpriced' })
    expect(await spanOf(span_id)).toMatchObject({
      model: 'gpt-4.1-mini',
      provider: 'openai',
      usage: USAGE,
      costUsd: 0.00018,
    })
    const detail = await read()
    expect(detail.usage).toEqual({
      inputTokens: 413,
      outputTokens: 38,
      totalTokens: 451,
      cachedTokens: 256,
      reasoningTokens: 2,
    })
    expect(detail.costUsd).toBeCloseTo(1.00018)
    const paged = (await org.read.get(`/api/traces/${id}?spanLimit=1`)).body
    expect(paged).toMatchObject({ usage: detail.usage, costUsd: detail.costUsd })
    expect(paged.spans).toHaveLength(1)
  })

  it('stay as they are if a later call omits them, and change if it does not', async ({ expect }) => {
    const { step, spanOf } = await newTrace()
    const span_id = crypto.randomUUID()
    await step({ ...CALL, span_id })
    await step({ span_id, model: null, usage: null, cost_usd: null })
    expect(await spanOf(span_id)).toMatchObject({ model: 'gpt-4.1-mini', usage: USAGE, costUsd: 0.00018 })
    await step({ span_id, model: 'gpt-4.1', usage: { total_tokens: 9 }, cost_usd: 0 })
    expect(await spanOf(span_id)).toMatchObject({
      model: 'gpt-4.1',
      provider: 'openai',
      usage: { inputTokens: 9, outputTokens: 0, totalTokens: 9 },
      costUsd: 0,
    })
  })

  it('add up without overflow over many spans', async ({ expect }) => {
    const { step, read } = await newTrace()
    const most = { input_tokens: MAX_TOKENS, output_tokens: MAX_TOKENS, total_tokens: MAX_TOKENS }
    for (let count = 0; count < 3; count++) await step({ usage: most, cost_usd: MAX_COST_USD })
    expect(await read()).toMatchObject({
      usage: { inputTokens: 3 * MAX_TOKENS, totalTokens: 3 * MAX_TOKENS },
      costUsd: 3 * MAX_COST_USD,
    })
  })

  it.for([
    ['model', { model: '' }],
    ['model', { model: 'm'.repeat(MAX_NAME_LENGTH + 1) }],
    ['provider', { provider: 7 }],
    ['usage', { usage: 12 }],
    ['usage.input_tokens', { usage: { input_tokens: -1 } }],
    ['usage.output_tokens', { usage: { output_tokens: 1.5 } }],
    ['usage.total_tokens', { usage: { total_tokens: MAX_TOKENS + 1 } }],
    ['cost_usd', { cost_usd: -0.1 }],
    ['cost_usd', { cost_usd: MAX_COST_USD + 1 }],
  ] as const)('are rejected with the name of an invalid %s', async ([path, fields], { expect }) => {
    const { org, trace_id } = await newTrace()
    const span = { trace_id, span_id: crypto.randomUUID(), step_id: 's', timestamp: '2026-11-20T10:00:00.000Z' }
    const { status, body } = await org.ingest.post('/api/v1/spans', { ...span, ...fields })
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain(`"${path}"`)
  })
})

describe('the model, usage, and cost in telemetry', () => {
  const call = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4.1-mini',
    'gen_ai.provider.name': 'openai',
    'gen_ai.usage.input_tokens': 412,
    'gen_ai.usage.output_tokens': 36,
    'gen_ai.usage.cost': 0.5,
  }

  it('appear on the call, and do not count again for the agent around it', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const root = { spanId: aHexSpanId(), attributes: { ...call, 'gen_ai.operation.name': 'invoke_agent' } }
    const child = span({ parentSpanId: root.spanId, start: 10, attributes: call })
    await exportSpans(org, [span(root), child])
    await exportSpans(org, [child])
    const usage = { inputTokens: 412, outputTokens: 36, totalTokens: 448 }
    const detail = await read()
    expect(detail.usage).toEqual(usage)
    expect(detail.spans[0]).toMatchObject({ model: 'gpt-4.1-mini', usage: null, costUsd: null })
    expect(detail.spans[1]).toMatchObject({ model: 'gpt-4.1-mini', provider: 'openai', usage })
  })

  it('fill in what a client left out, and never replace what it sent', async ({ expect }) => {
    const { org, trace_id, span, uuidOf, read } = await newRun()
    const spanId = aHexSpanId()
    const span_id = await uuidOf(spanId)
    await exportSpans(org, [span({ spanId: aHexSpanId() })])
    const mine = { trace_id, span_id, step_id: 'mine', timestamp: '2026-11-20T10:00:00.000Z', model: 'mine' }
    await org.ingest.post('/api/v1/spans', mine)
    await exportSpans(org, [span({ spanId, attributes: call })])
    const { spans } = await read()
    expect(spans.find(({ id }: { id: string }) => id === span_id)).toMatchObject({
      model: 'mine',
      provider: 'openai',
      usage: { totalTokens: 448 },
    })
  })
})
