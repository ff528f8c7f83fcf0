import { describe, it } from 'vitest'
import { MAX_COST_USD, MAX_NAME_LENGTH, MAX_TOKENS } from '../../src/limits.ts'
import { event, statusesOf } from '../support/batch.ts'
import { aSpan } from '../support/builders.ts'
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
  it('appear on the span, and the trace shows the sums', async ({ expect }) => {
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

  it('stay as they are if a later call omits them, and change if it includes them', async ({ expect }) => {
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

  it('stay as they are if a later event in the same batch omits them, field by field', async ({ expect }) => {
    const { org, trace_id, spanOf } = await newTrace()
    const span = aSpan({ trace_id })
    const { cost_usd, ...use } = CALL
    const events = [use, { cost_usd }, {}].map(fields => event('span', { ...span, ...fields }))
    expect(await statusesOf(org, events)).toEqual([202, 202, 202])
    expect(await spanOf(span.span_id)).toMatchObject({
      model: 'gpt-4.1-mini',
      provider: 'openai',
      usage: USAGE,
      costUsd: cost_usd,
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
  ] as const)('get an error that names an invalid %s', async ([path, fields], { expect }) => {
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

  it('appear on the call, and are not counted again for the agent around it', async ({ expect }) => {
    const { org, span, read } = await newRun()
    const root = { spanId: aHexSpanId(), attributes: { ...call, 'gen_ai.operation.name': 'invoke_agent' } }
    const child = span({ parentSpanId: root.spanId, start: 10, attributes: call })
    await exportSpans(org, [span(root), child])
    await exportSpans(org, [child])
    const usage = { inputTokens: 412, outputTokens: 36, totalTokens: 448 }
    const detail = await read()
    expect(detail).toMatchObject({ model: 'gpt-4.1-mini', usage })
    expect(detail.spans[0]).toMatchObject({ model: null, provider: null, usage: null, costUsd: null })
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

describe('the model, usage, and cost of a trace', () => {
  const tokens = (input_tokens: number, output_tokens: number) => ({ usage: { input_tokens, output_tokens } })

  it.for([
    ['the only one', [{ model: 'a' }], 'a'],
    [
      'the one with the most output',
      [
        { model: 'a', ...tokens(9, 1) },
        { model: 'b', ...tokens(1, 2) },
      ],
      'b',
    ],
    ['not an embedding model', [{ model: 'a', ...tokens(9, 0) }, { model: 'a' }, { model: 'b', ...tokens(1, 1) }], 'b'],
    ['the one with the most calls', [{ model: 'a' }, { model: 'b' }, { model: 'b' }], 'b'],
    ['the first by name', [{ model: 'b' }, { model: 'a' }], 'a'],
    ['not the unnamed one', [{ model: 'b' }, tokens(1, 100)], 'b'],
    ['none', [tokens(1, 100)], null],
  ] as const)('include only one model: %s', async ([, calls, model], { expect }) => {
    const { org, step, read } = await newTrace()
    for (const call of calls) await step(call)
    expect(await read()).toMatchObject({ model })
    const { traces } = (await org.read.get('/api/traces?projectSlug=support')).body
    expect(traces).toMatchObject([{ model }])
  })

  it('are the same in the list of traces', async ({ expect }) => {
    const { org, step, read } = await newTrace()
    await newTrace(org)
    for (let call = 0; call < 3; call++) await step(CALL)
    const { model, usage, costUsd } = await read()
    expect(usage).toEqual({ inputTokens: 1236, outputTokens: 108, totalTokens: 1344, cachedTokens: 768 })
    const { traces } = (await org.read.get('/api/traces?projectSlug=support')).body
    expect(traces).toHaveLength(2)
    expect(traces).toContainEqual(expect.objectContaining({ model: 'gpt-4.1-mini', usage, costUsd }))
    expect(traces).toContainEqual(expect.objectContaining({ model: null, usage: null, costUsd: null }))
    expect(model).toBe('gpt-4.1-mini')
  })

  it.for([
    ['repeats one call', { ...tokens(10, 2), cost_usd: 5 }, [{ ...tokens(10, 2), cost_usd: 1 }], 10, 1],
    [
      'is the sum of two calls',
      { ...tokens(30, 3), cost_usd: 5 },
      [tokens(10, 1), { ...tokens(20, 2), cost_usd: 1 }],
      30,
      1,
    ],
    ['repeats a call without a cost', { ...tokens(10, 2), cost_usd: 5 }, [tokens(10, 2)], 10, 5],
    ['makes a separate call', { ...tokens(11, 2), cost_usd: 5 }, [{ ...tokens(10, 2), cost_usd: 1 }], 21, 6],
    ['has no usage', { model: 'a' }, [{ ...tokens(10, 2), cost_usd: 1 }], 10, 1],
  ] as const)('count a call once if the span above %s', async ([, above, below, inputTokens, costUsd], { expect }) => {
    const { step, read } = await newTrace()
    const span_id = crypto.randomUUID()
    for (const call of below) await step({ ...call, parent_span_id: span_id })
    await step({ ...above, span_id })
    expect(await read()).toMatchObject({ usage: { inputTokens }, costUsd })
  })

  it('count a call once if two spans above repeat it', async ({ expect }) => {
    const { step, read } = await newTrace()
    const [outer, inner] = [crypto.randomUUID(), crypto.randomUUID()]
    await step({ ...CALL, span_id: outer })
    await step({ ...CALL, span_id: inner, parent_span_id: outer })
    await step({ ...CALL, parent_span_id: inner })
    expect(await read()).toMatchObject({ usage: USAGE, costUsd: 0.00018 })
  })
})
