import { describe, it } from 'vitest'
import { INLINE_BYTES, PREVIEWED_INPUTS, PREVIEWED_LENGTH, PREVIEWED_ROWS } from '../../src/limits.ts'
import { event, resultsOf } from '../support/batch.ts'
import { rowsReadBy } from '../support/bindings.ts'
import { timeAfter } from '../support/builders.ts'
import type { Org } from '../support/org.ts'
import { aHexSpanId, aMessage, exportSpans, newRun } from '../support/telemetry.ts'
import { newTrace } from '../support/trace.ts'

const listed = async (org: Org) => {
  const { inputPreview, outputPreview } = (await org.read.get('/api/traces?projectSlug=support&kind=all')).body
    .traces[0]
  return [inputPreview, outputPreview]
}

const large = { question: 'How long?', text: 'x'.repeat(INLINE_BYTES) }

describe('the previews of a listed trace', () => {
  it('are null for a trace without values', async ({ expect }) => {
    const { org } = await newTrace()
    expect(await listed(org)).toEqual([null, null])
  })

  it('show the values in the root’s observations', async ({ expect }) => {
    const { org, observe, step } = await newTrace()
    await step({ input: 'not this', output: 'nor this' })
    await observe({ type: 'input', data: { question: 'How long?' } })
    await observe({ type: 'state', key: 'chunks', data: ['a'] })
    await observe({ data: { answer: 'An hour' } })
    expect(await listed(org)).toEqual(['How long?', 'An hour'])
    await observe({ data: { answer: 'Two hours' }, timestamp: timeAfter(1) })
    await observe({ data: { answer: 'Earlier' }, timestamp: timeAfter(-1) })
    await observe({ type: 'input', data: { locale: 'en' }, timestamp: timeAfter(1) })
    expect(await listed(org)).toEqual(['{"question":"How long?","locale":"en"}', 'Two hours'])
  })

  it('show the values sent with the root span, combined with its observed values', async ({ expect }) => {
    const { org, observe, step, span } = await newTrace()
    await step({ span_id: (await span()).id, input: { a: 1 }, output: 'own' })
    expect(await listed(org)).toEqual(['{"a":1}', 'own'])
    await observe({ type: 'input', data: { b: 2 } })
    await observe({ data: 'observed' })
    expect(await listed(org)).toEqual(['{"a":1,"b":2}', 'observed'])
  })

  it('show no output if the last one is null', async ({ expect }) => {
    const { org, observe } = await newTrace()
    await observe({ data: 'first' })
    await observe({ data: null, timestamp: timeAfter(1) })
    expect(await listed(org)).toEqual([null, null])
    await observe({ data: 'third', timestamp: timeAfter(2) })
    expect(await listed(org)).toEqual([null, 'third'])
  })

  it('show the beginning of a value in R2 without fetching it', async ({ expect }) => {
    const { org, observe } = await newTrace()
    await observe({ type: 'input', data: large })
    await observe({ data: large.text })
    expect(await listed(org)).toEqual([
      expect.stringMatching(/^\{"question":"How long\?","text":"x+…$/),
      expect.stringMatching(/^x+…$/),
    ])
  })

  it('read only the beginning of a value that is stored in a row', async ({ expect }) => {
    const { org, observe } = await newTrace()
    const system = (length: number) => [
      { role: 'system', content: 's'.repeat(length) },
      { role: 'user', content: 'How long?' },
    ]
    const rest = JSON.stringify(system(0)).length
    await observe({ type: 'input', data: system(PREVIEWED_LENGTH - rest) })
    await observe({ data: 'Yes' })
    expect((await listed(org))[0]).toBe('How long?')
    const { org: other, observe: observeThere } = await newTrace()
    await observeThere({ type: 'input', data: system(PREVIEWED_LENGTH) })
    expect((await listed(other))[0]).toMatch(/^s+…$/)
  })

  it(`show the last ${PREVIEWED_INPUTS} inputs`, async ({ expect }) => {
    const { org, observe } = await newTrace()
    for (let index = 0; index <= PREVIEWED_INPUTS; index++) {
      await observe({ type: 'input', data: { [`field${index}`]: index }, timestamp: timeAfter(index) })
    }
    const last = Array.from({ length: PREVIEWED_INPUTS }, (_, index) => [`field${index + 1}`, index + 1])
    expect((await listed(org))[0]).toBe(JSON.stringify(Object.fromEntries(last)))
  })

  it('fall back to the first step with an input and the last step with an output if the root has none', async ({
    expect,
  }) => {
    const { org, observe, step } = await newTrace()
    const second = crypto.randomUUID()
    await step({ input: 'question', output: 'found', timestamp: timeAfter(1) })
    await step({ span_id: second, input: 'prompt', output: 'draft', timestamp: timeAfter(2) })
    await step({ input: undefined, output: undefined, timestamp: timeAfter(3) })
    await observe({ span_id: second, data: 'answer' })
    expect(await listed(org)).toEqual(['question', 'answer'])
    await step({ input: undefined, output: undefined, span_id: second, timestamp: timeAfter(0) })
    await observe({ span_id: second, type: 'input', data: 'more' })
    expect(await listed(org)).toEqual(['["prompt","more"]', 'found'])
  })

  it('skip a telemetry root that is a web request, and steps that only prepare or pass on values', async ({
    expect,
  }) => {
    const { org, span } = await newRun()
    const [root, agent] = [aHexSpanId(), aHexSpanId()]
    const kind = (kind: string, input: string, output: string) => ({
      'openinference.span.kind': kind,
      'input.value': input,
      'output.value': output,
    })
    await exportSpans(org, [
      span({ spanId: root, name: 'POST /chat', attributes: { 'http.request.method': 'POST' } }),
      span({ spanId: agent, parentSpanId: root, start: 1, attributes: kind('AGENT', 'How long?', 'Two years') }),
      span({ parentSpanId: agent, start: 2, attributes: kind('LLM', 'Answer: how long?', '2 years') }),
      span({ parentSpanId: agent, start: 3, attributes: kind('CHAIN', 'parse', 'parsed') }),
    ])
    expect(await listed(org)).toEqual(['How long?', '2 years'])
  })

  it('show telemetry messages that arrived as log records', async ({ expect }) => {
    const { org, traceId, span } = await newRun()
    const spanId = aHexSpanId()
    await exportSpans(org, [span({ spanId })])
    const records = ['First question', 'Last question'].map((content, index) =>
      aMessage({
        traceId,
        spanId,
        timeUnixNano: `${1763632800000 + index}000000`,
        body: {
          kvlistValue: {
            values: [
              { key: 'content', value: { stringValue: content } },
              { key: 'role', value: { stringValue: 'user' } },
            ],
          },
        },
      }),
    )
    await org.ingest.post('/v1/logs', {
      resourceLogs: [{ resource: {}, scopeLogs: [{ scope: {}, logRecords: records }] }],
    })
    expect((await listed(org))[0]).toBe('Last question')
  })

  it('read only a limited number of rows for each trace', async ({ expect }) => {
    const { org, trace_id, span } = await newTrace()
    const read = () => rowsReadBy(bindings => org.bearer(bindings).get('/api/traces?projectSlug=support'))
    await read()
    const before = await read()
    const root = (await span()).id
    const events = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        event('observation', {
          trace_id,
          span_id: root,
          type: 'state',
          key: `k${index}`,
          data: 1,
          timestamp: timeAfter(0),
        }),
      )
    await resultsOf(org, events(5))
    const few = await read()
    expect(few - before).toBeLessThan(30)
    await resultsOf(org, events(4 * PREVIEWED_ROWS))
    expect((await read()) - before).toBeLessThan(20 * PREVIEWED_ROWS)
    await resultsOf(org, events(1000))
    const many = await read()
    await resultsOf(org, events(1000))
    expect(await read()).toBe(many)
  })
})

describe('the error type of a listed trace', () => {
  const typeOf = async (org: Org, query = '') => {
    const { traces } = (await org.read.get(`/api/traces?projectSlug=support${query}`)).body
    return traces.map(({ errorType, errorTypeBy }: Record<string, unknown>) => [errorType, errorTypeBy])
  }

  it("is the newest type that a reviewer chose, or else the engine's, and the filter agrees", async ({ expect }) => {
    const { org, trace_id, step } = await newTrace()
    expect(await typeOf(org)).toEqual([[null, null]])
    const spanIds = [crypto.randomUUID(), crypto.randomUUID()]
    for (const span_id of spanIds) await step({ span_id })
    await org.ingest.post('/api/v1/feedback', { trace_id, rating: 'negative', comment: 'It is 24 months' })
    const { error_type } = (await org.ingest.post(`/api/v1/traces/${trace_id}/attribute`)).body
    expect(await typeOf(org)).toEqual([[error_type, 'engine']])
    expect(await typeOf(org, `&errorType=${error_type}`)).toHaveLength(1)
    const decide = (spanId: string | undefined, errorType?: string) =>
      org.owner.put(`/api/spans/${spanId}/review`, { decision: 'correct', approvedOutput: 'No', errorType })
    await decide(spanIds[0])
    expect(await typeOf(org)).toEqual([[error_type, 'engine']])
    await decide(spanIds[1], 'system_failure')
    await decide(spanIds[0], 'reasoning_error')
    expect(await typeOf(org)).toEqual([['reasoning_error', 'reviewer']])
    expect(await typeOf(org, '&errorType=reasoning_error')).toHaveLength(1)
    await org.owner.put(`/api/spans/${spanIds[0]}/review`, { decision: 'reset' })
    expect(await typeOf(org)).toEqual([['system_failure', 'reviewer']])
    expect(await typeOf(org, '&errorType=reasoning_error')).toHaveLength(0)
  })
})
