import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { BATCH_BYTES, MAX_BATCH_EVENTS } from '../../src/client/limits.ts'
import { batchResponse, errorResponse, jsonResponse, newClient } from './service.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1000)

/** Whether a promise has settled yet. */
function watch(promise: Promise<unknown>) {
  const state = { isSettled: false }
  promise.finally(() => {
    state.isSettled = true
  })
  return state
}

const temporary = [
  ['429', () => errorResponse(429, 'rate_limited')],
  ['500', () => errorResponse(500, 'internal')],
  ['503', () => errorResponse(503, 'unavailable')],
  ['a page that is not JSON', () => new Response('<html>', { status: 502 })],
  ['no response', () => Promise.reject(new TypeError('Network connection lost'))],
] as const

describe('attempts', () => {
  it.for(temporary)('are retried after 2 and 4 seconds on %s', async ([, fail], { expect }) => {
    const { countersign, sent, losses } = newClient((request, nth) => (nth < 3 ? fail() : batchResponse(request)))
    countersign.startTrace('run')
    const flushed = countersign.flush()
    await seconds(1.9)
    expect(sent).toHaveLength(1)
    await seconds(0.2)
    expect(sent).toHaveLength(2)
    await seconds(3.8)
    expect(sent).toHaveLength(2)
    await seconds(0.2)
    expect(sent).toHaveLength(3)
    await flushed
    expect(losses).toEqual([])
    const [first, second, third] = sent.map(({ events }) => events)
    expect(second).toEqual(first)
    expect(third).toEqual(first)
  })

  it.for(temporary)('stop after the third one on %s, and the loss is then reported', async ([, fail], { expect }) => {
    const { countersign, sent, losses } = newClient(fail)
    const trace = countersign.startTrace('run')
    const flushed = countersign.flush()
    await seconds(30)
    await flushed
    expect(sent).toHaveLength(3)
    expect(losses).toMatchObject([{ type: 'trace', traceId: trace.id, reason: 'undelivered' }])
    expect(countersign.lost).toBe(1)
    await seconds(60)
    expect(sent).toHaveLength(3)
  })

  it.for([400, 401, 403, 404, 409, 415, 422])('are not retried on %i', async (status, { expect }) => {
    const { countersign, sent, losses } = newClient(() => errorResponse(status, 'some_code'))
    countersign.startTrace('run').observe('input', 'a')
    await countersign.flush()
    expect(sent).toHaveLength(1)
    const loss = { reason: 'refused', status, message: 'It is some_code' }
    expect(losses).toMatchObject([
      { ...loss, type: 'trace' },
      { ...loss, type: 'observation' },
    ])
  })

  it('report metadata that the service left out, and are not repeated', async ({ expect }) => {
    const warnings = ['metadata: left out "a"', 'metadata: only the first 64 of 65 values are searchable']
    const { countersign, sent, losses } = newClient(({ events }) =>
      jsonResponse(207, {
        results: events.map(({ type }) => ({ status: 202, body: type === 'trace' ? { warnings } : { warnings: [] } })),
      }),
    )
    const trace = countersign.startTrace('run')
    trace.observe('input', 'a')
    await countersign.flush()
    expect(sent).toHaveLength(1)
    expect(losses).toEqual([
      {
        type: 'trace',
        traceId: trace.id,
        reason: 'incomplete',
        field: 'metadata',
        status: 202,
        message: warnings.join('; '),
      },
    ])
    expect(countersign.lost).toBe(1)
  })

  it.for([
    ['in seconds', '7', 7],
    ['immediately', '0', 0],
    ['as a date', 'Sat, 21 Nov 2026 09:30:09 GMT', 9],
    ['as a date in the past', 'Sat, 21 Nov 2026 09:29:00 GMT', 0],
    ['of an hour, which is capped at 61 seconds', '3600', 61],
    ['in an invalid format, as if there were none', 'soon', 2],
  ] as const)('follow Retry-After %s', async ([, retryAfter, after], { expect }) => {
    vi.setSystemTime('2026-11-21T09:30:00.000Z')
    const { countersign, sent } = newClient((request, nth) =>
      nth === 1 ? errorResponse(429, 'rate_limited', { 'retry-after': retryAfter }) : batchResponse(request),
    )
    countersign.startTrace('run')
    const flushed = countersign.flush()
    if (after > 0) {
      await seconds(after - 0.1)
      expect(sent).toHaveLength(1)
    }
    await seconds(0.2)
    expect(sent).toHaveLength(2)
    await flushed
  })

  it('are aborted after 5 seconds, whether or not fetch heeds the signal', async ({ expect }) => {
    const { countersign, sent, losses } = newClient((request, nth) =>
      nth < 3 ? new Promise(() => {}) : batchResponse(request),
    )
    countersign.startTrace('run')
    const flushed = countersign.flush()
    await seconds(4.9)
    expect(sent[0]?.signal?.aborted).toBe(false)
    await seconds(0.2)
    expect(sent[0]?.signal?.aborted).toBe(true)
    await seconds(20)
    await flushed
    expect(sent).toHaveLength(3)
    expect(losses).toEqual([])
  })

  it.for([
    ['a body from a different server', () => jsonResponse(200, { ok: true })],
    ['a page', () => new Response('<html>Hello</html>')],
    ['too few results', () => jsonResponse(207, { results: [] })],
  ] as const)('do not mistake %s for success', async ([, reply], { expect }) => {
    const { countersign, losses } = newClient(reply)
    countersign.startTrace('run')
    await countersign.flush()
    expect(losses).toMatchObject([{ reason: 'refused', message: /baseUrl/ }])
  })
})

describe('a batch', () => {
  it('is sent after a delay, with everything recorded in the meantime', async ({ expect }) => {
    const { countersign, batches, sent } = newClient()
    const trace = countersign.startTrace('run')
    await seconds(1)
    trace.observe('input', 'a')
    await seconds(0.9)
    expect(batches()).toEqual([])
    await seconds(0.2)
    expect(batches()).toEqual([['trace', 'observation']])
    expect(sent[0]?.headers.get('authorization')).toBe('Bearer cs_key')
    expect(sent[0]).toMatchObject({ method: 'POST', path: '/api/v1/batch' })
    trace.complete()
    await seconds(2)
    expect(batches()).toEqual([['trace', 'observation'], ['trace']])
  })

  it('is sent immediately if it has many events', async ({ expect }) => {
    const { countersign, sent } = newClient(undefined, { flushAt: 3 })
    const trace = countersign.startTrace('run')
    trace.observe('input', 1)
    await seconds(0)
    expect(sent).toHaveLength(0)
    trace.observe('input', 2)
    trace.observe('input', 3)
    await seconds(0)
    expect(sent.map(({ events }) => events.length)).toEqual([4])
  })

  it('is sent immediately if it is large', async ({ expect }) => {
    const { countersign, sent } = newClient()
    const trace = countersign.startTrace('run')
    trace.observe('input', 'x'.repeat(BATCH_BYTES))
    await seconds(0)
    expect(sent.map(({ events }) => events.length)).toEqual([1, 1])
  })

  it('contains at most 1,000 events, in the order in which they were recorded', async ({ expect }) => {
    const { countersign, sent } = newClient()
    const trace = countersign.startTrace('run')
    for (let index = 0; index < 2500; index++) trace.observe('input', index)
    await countersign.flush()
    expect(sent.map(({ events }) => events.length)).toEqual([MAX_BATCH_EVENTS, MAX_BATCH_EVENTS, 501])
    const values = sent.flatMap(({ events }) => events).flatMap(({ type, body }) => (type === 'trace' ? [] : body.data))
    expect(values).toEqual(Array.from({ length: 2500 }, (_, index) => index))
  })

  it('waits for the previous batch', async ({ expect }) => {
    let release: (() => void) | undefined
    const { countersign, batches } = newClient(async (request, nth) => {
      if (nth === 1) await new Promise<void>(resolve => (release = resolve))
      return batchResponse(request)
    })
    const trace = countersign.startTrace('run')
    const first = watch(countersign.flush())
    await seconds(0)
    trace.complete()
    const second = watch(countersign.flush())
    await seconds(1)
    expect(batches()).toEqual([['trace']])
    release?.()
    await seconds(0)
    expect(batches()).toEqual([['trace'], ['trace']])
    expect([first, second]).toEqual([{ isSettled: true }, { isSettled: true }])
  })

  it('is halved if a proxy has a lower body limit than the service', async ({ expect }) => {
    const { countersign, sent, losses } = newClient(request =>
      JSON.stringify(request.events).length > 3000 ? errorResponse(413, 'too_large') : batchResponse(request),
    )
    const trace = countersign.startTrace('run')
    for (let index = 0; index < 40; index++) trace.observe('input', 'x'.repeat(200))
    trace.state('documents', 'x'.repeat(4000))
    trace.complete()
    await countersign.flush()
    expect(losses).toMatchObject([{ type: 'observation', reason: 'refused', status: 413 }])
    expect(sent.length).toBeLessThan(40)
  })
})

describe('a flush', () => {
  it('resolves when everything recorded before it is delivered, even if more is recorded after it', async ({
    expect,
  }) => {
    const { countersign, sent } = newClient(undefined, { flushAt: 1 })
    const trace = countersign.startTrace('run')
    const flushed = watch(countersign.flush())
    for (let index = 0; index < 10; index++) {
      trace.observe('input', index)
      await seconds(0)
    }
    expect(flushed.isSettled).toBe(true)
    expect(sent.length).toBeGreaterThan(1)
    const empty = watch(countersign.flush())
    await seconds(0)
    expect(empty.isSettled).toBe(true)
  })

  it('happens at the end of a block', async ({ expect }) => {
    const { countersign, batches } = newClient()
    await (async () => {
      await using inBlock = countersign
      inBlock.startTrace('run')
    })()
    expect(batches()).toEqual([['trace']])
  })

  it('continues the work of a run that died with its request', async ({ expect }) => {
    const { countersign, batches, losses } = newClient((request, nth) =>
      // As in a Worker, the dead request's responses and timers never fire.
      nth === 1 ? new Promise(() => vi.clearAllTimers()) : batchResponse(request),
    )
    const trace = countersign.startTrace('run')
    void countersign.flush()
    await seconds(0)
    trace.complete()
    const flushed = watch(countersign.flush())
    await seconds(11)
    expect(batches()).toEqual([['trace'], ['trace', 'trace']])
    expect(flushed.isSettled).toBe(true)
    expect(losses).toEqual([])
  })

  it('ignores a response that arrives after its run was abandoned', async ({ expect }) => {
    let answerLate: () => void = () => {}
    const { countersign, batches, losses } = newClient((request, nth) => {
      if (nth > 1) return batchResponse(request)
      vi.clearAllTimers()
      return new Promise(resolve => (answerLate = () => resolve(batchResponse(request))))
    })
    const trace = countersign.startTrace('run')
    void countersign.flush()
    await seconds(11)
    const flushed = countersign.flush()
    await flushed
    trace.complete()
    answerLate()
    await seconds(3)
    expect(batches()).toEqual([['trace'], ['trace'], ['trace']])
    expect(losses).toEqual([])
  })
})

describe('results of individual events', () => {
  it('are handled one by one: each event is retried, or its loss is reported', async ({ expect }) => {
    const { countersign, sent, losses } = newClient((request, nth) =>
      batchResponse(request, nth === 1 ? [202, 503, 400, 429, 202] : nth === 2 ? [500, 202] : [503]),
    )
    const trace = countersign.startTrace('run')
    for (const value of ['a', 'b', 'c', 'd']) trace.observe('input', value)
    const flushed = countersign.flush()
    await seconds(10)
    await flushed
    expect(sent.map(({ events }) => events.map(({ body }) => body.data))).toEqual([
      [undefined, 'a', 'b', 'c', 'd'],
      ['a', 'c'],
      ['a'],
    ])
    expect(losses).toMatchObject([
      { reason: 'refused', status: 400, type: 'observation', message: 'It is 400' },
      { reason: 'undelivered', status: 503, type: 'observation' },
    ])
    expect(losses[0]?.id).toBe(sent[0]?.events[2]?.body.observation_id)
  })

  it('hold back events whose trace is being retried', async ({ expect }) => {
    const { countersign, batches, losses } = newClient((request, nth) =>
      batchResponse(request, nth === 1 ? [503, 404, 404] : 202),
    )
    const trace = countersign.startTrace('run')
    trace.observe('input', 'a')
    await trace.span('step', () => 'b')
    const flushed = countersign.flush()
    await seconds(1)
    trace.complete()
    await seconds(2)
    await flushed
    await countersign.flush()
    expect(batches()).toEqual([
      ['trace', 'observation', 'span'],
      ['trace', 'observation', 'span', 'trace'],
    ])
    expect(losses).toEqual([])
  })

  it('never let a retried event overwrite a later update', async ({ expect }) => {
    const { countersign, sent } = newClient((request, nth) => batchResponse(request, nth === 1 ? [202, 503, 202] : 202))
    const trace = countersign.startTrace('run')
    const feedbackId = trace.feedback({ rating: 'negative' })
    trace.feedback({ feedbackId, rating: 'positive' })
    const flushed = countersign.flush()
    await seconds(2)
    await flushed
    expect(sent[1]?.events.map(({ body }) => body.rating)).toEqual(['negative', 'positive'])
  })
})

describe('memory', () => {
  it('is bounded, and events beyond the limit are lost and reported', async ({ expect }) => {
    let isUp = false
    const { countersign, losses, sent } = newClient(
      request => (isUp ? batchResponse(request) : errorResponse(503, 'unavailable')),
      { maxQueueBytes: 2000 },
    )
    const trace = countersign.startTrace('run')
    for (let index = 0; index < 50; index++) trace.observe('input', 'x'.repeat(100))
    const full = losses.length
    expect(full).toBeGreaterThan(30)
    expect(new Set(losses.map(({ reason }) => reason))).toEqual(new Set(['queue_full']))
    isUp = true
    await countersign.flush()
    expect(sent.flatMap(({ events }) => events)).toHaveLength(51 - full)
    trace.complete()
    await countersign.flush()
    expect(losses).toHaveLength(full)
    expect(countersign.lost).toBe(full)
  })
})

describe('waitUntil', () => {
  it('gets a promise for each event, and each promise resolves when everything has been sent', async ({ expect }) => {
    const waiting: Promise<unknown>[] = []
    const { countersign, sent } = newClient(undefined, { waitUntil: promise => waiting.push(promise) })
    const trace = countersign.startTrace('run')
    trace.complete()
    expect(waiting).toHaveLength(2)
    const all = watch(Promise.all(waiting))
    await seconds(1.9)
    expect(all.isSettled).toBe(false)
    await seconds(0.2)
    expect(all.isSettled).toBe(true)
    expect(sent).toHaveLength(1)
  })

  it('may fail', async ({ expect }) => {
    const { countersign, sent } = newClient(undefined, {
      waitUntil: () => {
        throw new TypeError('Illegal invocation')
      },
    })
    countersign.startTrace('run')
    await countersign.flush()
    expect(sent).toHaveLength(1)
  })
})
