import { describe, it, vi } from 'vitest'
import { Countersign } from '../../src/client/index.ts'
import * as limits from '../../src/client/limits.ts'
import * as serviceLimits from '../../src/limits.ts'
import { newClient } from './service.ts'

const cycle: { self?: unknown } = {}
cycle.self = cycle
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
const unreadable = (): never => {
  throw new Error('No')
}

const throwing = {
  get field() {
    return unreadable()
  },
}

const unfit = [
  ['a cycle', cycle, 'not_serializable'],
  ['a BigInt', { count: 1n }, 'not_serializable'],
  ['a function', () => 1, 'not_serializable'],
  ['a value whose fields cannot be read', throwing, 'not_serializable'],
  ['nesting over 128 levels', nested(129), 'not_serializable'],
  ['nesting that is too deep for any parser', nested(5000), 'not_serializable'],
  ['more than 5 MiB', 'ä'.repeat(limits.MAX_VALUE_BYTES / 2), 'too_large'],
] as const

describe('a value that cannot be sent', () => {
  it.for(unfit)('is lost, but nothing else is: %s', async ([, value, reason], { expect }) => {
    const { countersign, sent, losses } = newClient()
    const trace = countersign.startTrace('run', { metadata: { good: 1 } })
    trace.observe('output', value)
    trace.state('documents', value)
    const result = await trace.span('step', () => 'result', { input: value })
    const rethrown = await trace.span('other', span => {
      span.input('good')
      return value
    })
    trace.complete({ output: value })
    await countersign.flush()
    expect(result).toBe('result')
    expect(rethrown).toBe(value)
    const lost = losses.map(({ type, field, reason }) => [type, field, reason])
    expect(lost).toEqual([
      ['observation', 'data', reason],
      ['observation', 'data', reason],
      ['span', 'input', reason],
      ['span', 'output', reason],
      ['observation', 'data', reason],
    ])
    expect(losses.every(({ traceId }) => traceId === trace.id)).toBe(true)
    expect(sent.flatMap(({ events }) => events.map(({ type, body }) => [type, body.input, body.output]))).toEqual([
      ['trace', undefined, undefined],
      ['span', undefined, 'result'],
      ['span', 'good', undefined],
      ['trace', undefined, undefined],
    ])
  })

  it('is also lost in metadata and corrections', async ({ expect }) => {
    const { countersign, sent, losses } = newClient()
    const large = { text: 'x'.repeat(limits.MAX_CORRECTION_BYTES) }
    const trace = countersign.startTrace('run', { metadata: large })
    await trace.span('step', () => 'result', { metadata: throwing })
    trace.feedback({ rating: 'negative', correction: large })
    await countersign.flush()
    expect(losses.map(({ type, field, reason }) => [type, field, reason])).toEqual([
      ['trace', 'metadata', 'too_large'],
      ['span', 'metadata', 'not_serializable'],
      ['feedback', 'correction', 'too_large'],
    ])
    expect(sent[0]?.events).toMatchObject([
      { type: 'trace', body: { name: 'run' } },
      { type: 'span', body: { output: 'result' } },
      { type: 'feedback', body: { rating: 'negative' } },
    ])
  })

  it('is replaced with the current time if it is a time', async ({ expect }) => {
    const { countersign, sent, losses } = newClient()
    const trace = countersign.startTrace('run', { timestamp: 'yesterday' })
    trace.feedback({ comment: 'Good', timestamp: new Date(Number.NaN) })
    countersign.startTrace('run', { timestamp: '2026-11-21T09:30:00Z' })
    await countersign.flush()
    expect(losses.map(({ type, field }) => [type, field])).toEqual([
      ['trace', 'timestamp'],
      ['feedback', 'timestamp'],
    ])
    const times = sent[0]?.events.map(({ body }) => body.timestamp)
    expect(times).toEqual([expect.any(String), expect.any(String), '2026-11-21T09:30:00.000Z'])
  })

  it('never invalidates a batch, even in place of a string', async ({ expect }) => {
    const { countersign, sent } = newClient()
    const hostile = nested(2000) as string
    const trace = countersign.startTrace(hostile, { traceId: (() => 1) as unknown as string })
    await trace.span(hostile, () => 1)
    trace.state(1n as unknown as string, 1)
    trace.feedback({ comment: hostile, feedbackId: Symbol() as unknown as string })
    trace.feedback(null as unknown as object)
    countersign.startTrace('good', null as unknown as object).complete(null as unknown as object)
    await countersign.flush()
    const delivered = sent.flatMap(({ events }) => events).filter(({ body }) => body.name === 'good')
    expect(delivered).toHaveLength(2)
  })

  it('differs from one that merely has unusual field names, which is sent', async ({ expect }) => {
    const { countersign, sent } = newClient()
    const metadata = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}')
    const trace = countersign.startTrace('run', { metadata })
    await trace.span('step', () => metadata, { metadata, input: metadata })
    await countersign.flush()
    const [start, span] = sent[0]?.events.map(({ body }) => body) ?? []
    for (const value of [start?.metadata, span?.metadata, span?.input, span?.output]) {
      expect(JSON.stringify(value)).toBe(JSON.stringify(metadata))
    }
  })

  it('differs from one that JSON merely changes, which is sent', async ({ expect }) => {
    const { countersign, sent, losses } = newClient()
    const trace = countersign.startTrace('run')
    const brackets = '\\"\\\\"["{'.repeat(200)
    const values = [0, null, '', false, brackets, `${brackets}\\`, nested(128), new Date(0), { a: undefined }]
    for (const value of values) trace.observe('input', value)
    await trace.span('nothing', () => {})
    await trace.span('null', () => null)
    await countersign.flush()
    expect(losses).toEqual([])
    const [, ...events] = sent[0]?.events ?? []
    const sentValues = events.map(({ type, body }) => (type === 'span' ? body.output : body.data))
    expect(sentValues).toEqual([...JSON.parse(JSON.stringify(values)), undefined, null])
  })
})

describe('an error that a step throws', () => {
  it.for([
    ['an error with invalid fields', Object.assign(new Error(), { name: cycle, message: { no: 1 } })],
    ['an error that cannot be read', new Proxy(new Error(), { get: unreadable, getPrototypeOf: unreadable })],
    ['a value that cannot be printed', Object.create(null)],
    ['nothing', undefined],
  ] as const)('is rethrown unchanged: %s', async ([, thrown], { expect }) => {
    const { countersign, sent, losses } = newClient()
    const step = countersign.startTrace('run').span('step', () => {
      throw thrown
    })
    expect((await step.catch((error: unknown) => ({ error }))).error === thrown).toBe(true)
    await countersign.flush()
    expect(losses).toEqual([])
    const error = { message: expect.any(String) }
    expect(sent[0]?.events[1]).toMatchObject({ type: 'span', body: { status: 'error', metadata: { error } } })
  })
})

describe('onLoss', () => {
  it('may throw, immediately or later, without stopping the pipeline', async ({ expect }) => {
    const calls: unknown[] = []
    const fail = (loss: unknown) => {
      calls.push(loss)
      throw new Error('No')
    }
    for (const onLoss of [fail, async (loss: unknown) => fail(loss)]) {
      const { countersign, sent } = newClient(undefined, { onLoss })
      const trace = countersign.startTrace('run')
      trace.observe('input', 1n)
      expect(await trace.span('step', () => 2n)).toBe(2n)
      await countersign.flush()
      expect(sent[0]?.events).toHaveLength(2)
    }
    expect(calls).toHaveLength(4)
  })

  it('defaults to one warning on the console', async ({ expect }) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    try {
      const { countersign } = newClient(undefined, { onLoss: undefined })
      const trace = countersign.startTrace('run')
      for (let index = 0; index < 3; index++) trace.observe('input', 1n)
      await countersign.flush()
      expect(countersign.lost).toBe(3)
      expect(warn).toHaveBeenCalledTimes(1)
      expect(warn).toHaveBeenCalledWith(expect.stringContaining(trace.id))
    } finally {
      warn.mockRestore()
    }
  })
})

describe('options', () => {
  it.for([
    ['a valid base URL', { baseUrl: 'countersign.example.com' }],
    ['a key', { apiKey: '' }],
  ] as const)('are rejected immediately if they lack %s', ([, fields], { expect }) => {
    expect(() => new Countersign({ baseUrl: 'https://countersign.test', apiKey: 'cs_key', ...fields })).toThrow(
      TypeError,
    )
  })

  it('start no request and no timer', ({ expect }) => {
    vi.useFakeTimers()
    try {
      newClient()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

it("the client's limits match the service's", ({ expect }) => {
  expect(limits.MAX_VALUE_BYTES).toBe(serviceLimits.MAX_OBSERVATION_BYTES)
  expect(limits.MAX_METADATA_BYTES).toBe(serviceLimits.MAX_METADATA_BYTES)
  expect(limits.MAX_CORRECTION_BYTES).toBe(serviceLimits.MAX_CORRECTION_BYTES)
  expect(limits.MAX_NAME_LENGTH).toBe(serviceLimits.MAX_NAME_LENGTH)
  expect(limits.MAX_COMMENT_LENGTH).toBe(serviceLimits.MAX_COMMENT_LENGTH)
  expect(limits.MAX_FEEDBACK_ID_LENGTH).toBe(serviceLimits.MAX_FEEDBACK_ID_LENGTH)
  expect(limits.MAX_REVIEWS).toBe(serviceLimits.MAX_REVIEWS)
  expect(limits.MAX_IMPORTED_SPANS).toBeLessThanOrEqual(serviceLimits.MAX_WRITTEN_RECORDS)
  expect(limits.IMPORT_BATCH_BYTES).toBeLessThan(serviceLimits.MAX_BATCH_BYTES)
  expect(limits.MAX_DEPTH).toBe(serviceLimits.MAX_JSON_DEPTH)
  expect(limits.MAX_BATCH_EVENTS).toBe(serviceLimits.MAX_BATCH_EVENTS)
  expect(limits.MAX_RESULTS).toBe(serviceLimits.MAX_RESULTS)
  expect(limits.PAGE_ITEMS).toBe(serviceLimits.PAGE_MAX_LIMIT)
  expect(limits.MAX_ERROR_LENGTH).toBeLessThan(serviceLimits.MAX_COMMENT_LENGTH)
  expect(limits.MAX_RETRY_AFTER_MS).toBeGreaterThanOrEqual(1000 * serviceLimits.WINDOW_SECONDS)
  expect(limits.ATTRIBUTION_REQUEST_MS).toBeGreaterThan(serviceLimits.ATTRIBUTION_WAIT_MS)
  const largestEvent = limits.MAX_VALUE_BYTES + limits.MAX_METADATA_BYTES + limits.MAX_ENVELOPE_BYTES
  expect(largestEvent).toBeLessThan(serviceLimits.MAX_BATCH_BYTES)
  expect(limits.BATCH_BYTES + largestEvent).toBeLessThan(serviceLimits.MAX_BATCH_BYTES)
})
