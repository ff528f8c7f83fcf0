import { env } from 'cloudflare:workers'
import { beforeAll, describe, it, vi } from 'vitest'
import { feedbackUuid, rootSpanUuid, traceUuid } from '../../src/domain/ids.ts'
import {
  INLINE_BYTES,
  MAX_BATCH_BYTES,
  MAX_BATCH_EVENTS,
  MAX_JSON_DEPTH,
  MAX_METADATA_BYTES,
  MAX_OBSERVATION_BYTES,
} from '../../src/limits.ts'
import { event, resultsOf, sendBatch, statusesOf } from '../support/batch.ts'
import { countingBindings, failing, failingAt, failingFrom, wrapBindings } from '../support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { aTraceBeside, tracesTogether } from '../support/database.ts'
import { type Client, newOrg, type Org } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

// Large test data is slow to store on a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

type Type = Parameters<typeof event>[0]

const LOST = 'D1_ERROR: Network connection lost.'
const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'
const large = (text: string) => `${'x'.repeat(2 * INLINE_BYTES)} ${text}`
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
const uuid = () => crypto.randomUUID()

const detailOf = async (org: Org, trace_id: string) =>
  (await org.read.get(`/api/traces/${await traceUuid(org.project.id, trace_id)}`)).body

describe('a batch', () => {
  it('has the same effects and results as single calls that are sent in the same order', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    const [span_id, observation_id] = [uuid(), uuid()]
    const results = await resultsOf(org, [
      event('trace', aTrace({ trace_id, metadata: { a: 1 } })),
      event('span', aSpan({ trace_id, span_id, input: { a: 1 }, output: large('out') })),
      event('observation', anObservation({ trace_id, span_id, observation_id, type: 'input', data: { b: 2 } })),
      event('feedback', aFeedback({ trace_id, span_id, feedback_id: 'one', labeller: { email: 'ada@example.com' } })),
      event('trace', aTrace({ trace_id, status: 'completed', duration_ms: 7, metadata: { a: 1, c: 3 } })),
    ])
    const id = await traceUuid(org.project.id, trace_id)
    expect(results).toEqual([
      { status: 202, body: { status: 'accepted', trace_id, id } },
      { status: 202, body: { status: 'accepted', span_id } },
      { status: 201, body: { status: 'created', observation_id } },
      { status: 201, body: { status: 'success', feedback_id: 'one' } },
      { status: 202, body: { status: 'accepted', trace_id, id } },
    ])
    expect(await detailOf(org, trace_id)).toMatchObject({
      status: 'completed',
      durationMs: 7,
      metadata: { a: 1, c: 3 },
      spans: [
        { id: await rootSpanUuid(org.project.id, trace_id) },
        { id: span_id, input: { a: 1, b: 2 }, output: large('out') },
      ],
      feedback: [{ id: await feedbackUuid(org.project.id, 'one'), spanId: span_id }],
    })
    expect((await org.ingest.get('/api/v1/traces/search?a=1&c=3')).body.count).toBe(1)
  })

  it('may be empty', async ({ expect }) => {
    const org = await newOrg()
    expect(await resultsOf(org, [])).toEqual([])
  })

  it.for([
    ['no events', {}, 'events'],
    ['an object for events', { events: {} }, 'events'],
    ['null for events', { events: null }, 'events'],
    ['one event too many', { events: Array.from({ length: MAX_BATCH_EVENTS + 1 }, () => 0) }, 'events'],
  ] as const)('400s as a whole for %s', async ([, body, path], { expect }) => {
    const org = await newOrg()
    const response = await org.ingest.post('/api/v1/batch', body)
    expect(response.status).toBe(400)
    expect(response.body.details).toMatchObject([{ path }])
  })

  it('may have as many events as the limit allows', async ({ expect }) => {
    const org = await newOrg()
    const traces = Array.from({ length: MAX_BATCH_EVENTS / 4 }, (_, index) => aTrace({ timestamp: timeAfter(index) }))
    const statuses = await statusesOf(org, [
      ...traces.map(trace => event('trace', trace)),
      ...traces.map(({ trace_id }) => event('span', aSpan({ trace_id }))),
      ...traces.map(({ trace_id }) => event('observation', anObservation({ trace_id }))),
      ...traces.map(({ trace_id }) => event('feedback', aFeedback({ trace_id }))),
    ])
    const each = MAX_BATCH_EVENTS / 4
    expect(statuses).toEqual([...Array(2 * each).fill(202), ...Array(2 * each).fill(201)])
    const { traces: listed } = (await org.read.get('/api/traces?projectSlug=support&limit=200')).body
    expect(listed).toHaveLength(200)
    for (const item of listed) expect(item).toMatchObject({ spanCount: 2, feedbackCount: 1 })
  })

  it('is accepted just below the size limit and gets a 413 above it', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const eventsWithSize = (bytes: number) => [
      event('observation', anObservation({ trace_id, data: 'x'.repeat(MAX_OBSERVATION_BYTES - 2) })),
      event('observation', anObservation({ trace_id, type: 'input', data: 'x'.repeat(bytes - MAX_OBSERVATION_BYTES) })),
    ]
    const rejected = await sendBatch(org, eventsWithSize(MAX_BATCH_BYTES))
    expect(rejected.status).toBe(413)
    expect((await read()).spans[0]).toMatchObject({ input: null, output: null })
    expect(await statusesOf(org, eventsWithSize(MAX_BATCH_BYTES - 1000))).toEqual([201, 201])
    expect((await read()).spans[0].input).toHaveLength(MAX_BATCH_BYTES - 1000 - MAX_OBSERVATION_BYTES)
  })

  it('accepts values nested as deeply as in a single call, and rejects only the events with deeper values', async ({
    expect,
  }) => {
    const { org, trace_id, span } = await newTrace()
    const data = nested(MAX_JSON_DEPTH)
    const ofDepth = (depth: number) => event('observation', anObservation({ trace_id, data: nested(depth) }))
    const results = await resultsOf(org, [ofDepth(MAX_JSON_DEPTH), ofDepth(MAX_JSON_DEPTH + 1), ofDepth(700)])
    expect(results.map(({ status }) => status)).toEqual([201, 400, 400])
    expect(results[1]?.body.details).toMatchObject([{ path: 'events.1.body.data' }])
    expect((await span()).output).toEqual(data)
  })

  it('costs one token of the rate limit, no matter how many events it contains', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const limited = org.clientOf(await org.keyFor({ rateLimitPerMinute: 2 }))
    const events = Array.from({ length: 50 }, () => event('observation', anObservation({ trace_id })))
    const send = async () => (await limited.post('/api/v1/batch', { events })).status
    expect([await send(), await send(), await send()]).toEqual([207, 207, 429])
  })

  it('uses the project in the header if its key serves all projects', async ({ expect }) => {
    const org = await newOrg()
    const post = (headers: Record<string, string>) =>
      org.owner.post('/api/v1/batch', { events: [event('trace', aTrace())] }, headers)
    expect((await post({})).status).toBe(400)
    expect((await post({ 'x-project-slug': 'nope' })).status).toBe(404)
    expect((await post({ 'x-project-slug': 'support' })).status).toBe(207)
  })

  it('ignores fields that newer clients send', async ({ expect }) => {
    const org = await newOrg()
    expect(await statusesOf(org, [{ ...event('trace', { ...aTrace(), surprise: 1 }), id: 5 }])).toEqual([202])
  })
})

describe('a bad event does not affect other events:', () => {
  const SPAN_ID = uuid()

  it.for<[name: string, bad: unknown, path: string]>([
    ['a number', 5, 'events.1'],
    ['null', null, 'events.1'],
    ['a string', 'trace', 'events.1'],
    ['a list', [], 'events.1.type'],
    ['an empty event', {}, 'events.1.type'],
    ['no type', { body: aTrace() }, 'events.1.type'],
    ['an unknown type', { type: 'metric', body: aTrace() }, 'events.1.type'],
    ['a type named __proto__', { type: '__proto__', body: aTrace() }, 'events.1.type'],
    ['no body', { type: 'trace' }, 'events.1.body'],
    ['a null body', event('span', null), 'events.1.body'],
    ['a string body', event('feedback', 'good'), 'events.1.body'],
    ['a list body', event('trace', []), 'events.1.body.trace_id'],
    [
      'a different type in an observation’s body',
      event('feedback', anObservation({ trace_id: 5 })),
      'events.1.body.trace_id',
    ],
    ['a trace without a name', event('trace', aTrace({ name: undefined })), 'events.1.body.name'],
    [
      'a trace with metadata that is too large',
      event('trace', aTrace({ metadata: { a: 'x'.repeat(MAX_METADATA_BYTES) } })),
      'events.1.body.metadata',
    ],
    [
      'an observation of an unknown type',
      event('observation', anObservation({ type: 'metric' })),
      'events.1.body.type',
    ],
    ['a state without a key', event('observation', anObservation({ type: 'state' })), 'events.1.body.key'],
    [
      'a span that is its own parent',
      event('span', aSpan({ span_id: SPAN_ID, parent_span_id: SPAN_ID })),
      'events.1.body.parent_span_id',
    ],
    ['feedback with an invalid rating', event('feedback', aFeedback({ rating: 2 })), 'events.1.body.rating'],
    [
      'feedback whose labeler has no name',
      event('feedback', aFeedback({ labeller: { name: 5 } })),
      'events.1.body.labeller.name',
    ],
  ])('%s gets a 400 with the path of the fault', async ([, bad, path], { expect }) => {
    const { org, trace_id, read } = await newTrace()
    const trace = aTrace()
    const results = await resultsOf(org, [
      event('observation', anObservation({ trace_id, data: 'before' })),
      bad,
      event('trace', trace),
      event('observation', anObservation({ trace_id: trace.trace_id, data: 'after' })),
    ])
    expect(results.map(({ status }) => status)).toEqual([201, 400, 202, 201])
    expect(results[1]?.body).toMatchObject({
      code: 'invalid_request',
      error: expect.stringContaining(`${path}: `),
      details: expect.any(Array),
      requestId: expect.any(String),
    })
    expect(results[1]?.body.details).toHaveProperty('0.path', path)
    expect((await read()).spans[0].output).toBe('before')
    expect((await detailOf(org, trace.trace_id)).spans[0].output).toBe('after')
  })

  it('a number that overflows gets a 400 with its path', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const events = [
      event('observation', anObservation({ trace_id, data: { a: ['N'] } })),
      event('observation', anObservation({ trace_id })),
    ]
    const { body } = await org.ingest.post('/api/v1/batch', JSON.stringify({ events }).replace('"N"', '1e400'))
    expect(body.results).toMatchObject([
      { status: 400, body: { details: [{ path: 'events.0.body.data.a.0', message: 'is a number out of range' }] } },
      { status: 201 },
    ])
  })

  it.for([
    ['an observation', 'observation', (trace_id: string, value: string) => anObservation({ trace_id, data: value })],
    ['a span’s input', 'span', (trace_id: string, value: string) => aSpan({ trace_id, input: value })],
    ['a span’s output', 'span', (trace_id: string, value: string) => aSpan({ trace_id, output: value })],
  ] as const)('%s that is too large gets a 413', async ([, type, bodyOf], { expect }) => {
    const { org, trace_id, read } = await newTrace()
    const results = await resultsOf(org, [
      event('observation', anObservation({ trace_id, data: 'before' })),
      event(type, bodyOf(trace_id, 'x'.repeat(MAX_OBSERVATION_BYTES - 1))),
      event('observation', anObservation({ trace_id, data: large('after'), timestamp: timeAfter(1) })),
    ])
    expect(results.map(({ status }) => status)).toEqual([201, 413, 201])
    expect(results[1]?.body).toMatchObject({ error: 'Observation data too large', code: 'too_large' })
    const { spans } = await read()
    expect(spans).toHaveLength(1)
    expect(spans[0].output).toBe(large('after'))
  })
})

describe('an event’s result equals the single call’s response:', () => {
  let org: Org
  let other: Awaited<ReturnType<typeof newTrace>>
  let trace_id: string
  let taken: string
  let docVersion: string
  beforeAll(async () => {
    other = await newTrace()
    org = other.org
    const trace = await aTraceBeside(other.id, org.project, { metadata: { a: 'x'.repeat(40_000) } })
    trace_id = trace.trace_id
    await org.ingest.post('/api/v1/traces', trace)
    taken = uuid()
    await other.step({ span_id: taken })
    await other.give({ feedback_id: 'taken' })
    const doc = { projectSlug: 'support', slug: 'a', title: 'A', content: 'Text' }
    docVersion = (await org.owner.post('/api/knowledge-docs', doc)).body.versionId
  })

  const PATHS = { trace: 'traces', span: 'spans', observation: 'observations', feedback: 'feedback' } as const

  it.for<[name: string, status: number, type: Type, body: () => object]>([
    [
      'a trace with no room for more metadata',
      202,
      'trace',
      () => aTrace({ trace_id, metadata: { b: 'x'.repeat(40_000) } }),
    ],
    [
      'a trace whose metadata is only partly searchable',
      202,
      'trace',
      () => aTrace({ trace_id: other.trace_id, metadata: { ['x'.repeat(300)]: 1 } }),
    ],
    ['a trace without required fields', 400, 'trace', () => ({ trace_id })],
    ['a span in a missing trace', 404, 'span', () => aSpan()],
    ['a large span in a missing trace', 404, 'span', () => aSpan({ output: large('') })],
    ['a span in another trace', 409, 'span', () => aSpan({ trace_id, span_id: taken })],
    ['a large span in another trace', 409, 'span', () => aSpan({ trace_id, span_id: taken, input: large('') })],
    ['a span with an unknown prompt version', 422, 'span', () => aSpan({ trace_id, prompt_version_id: taken })],
    ['a span with a knowledge doc’s version', 422, 'span', () => aSpan({ trace_id, prompt_version_id: docVersion })],
    ['an observation on a missing trace', 404, 'observation', () => anObservation()],
    ['a large observation on a missing trace', 404, 'observation', () => anObservation({ data: large('') })],
    [
      'an observation that is too large',
      413,
      'observation',
      () => anObservation({ data: 'x'.repeat(MAX_OBSERVATION_BYTES) }),
    ],
    ['feedback on a missing trace', 404, 'feedback', () => aFeedback()],
    ['feedback on another trace', 409, 'feedback', () => aFeedback({ trace_id, feedback_id: 'taken' })],
    [
      'feedback from a labeler without an email',
      400,
      'feedback',
      () => aFeedback({ trace_id, labeller: { email: 'ada' } }),
    ],
    ['feedback with several faults', 400, 'feedback', () => aFeedback({ trace_id: 5, rating: 'good', comment: 7 })],
  ])('%s gets a %i', async ([, status, type, bodyOf], { expect }) => {
    const body = bodyOf()
    const single = await org.ingest.post(`/api/v1/${PATHS[type]}`, body)
    const [, result] = await resultsOf(org, [event('trace', aTrace()), event(type, body)])
    expect([single.status, result?.status]).toEqual([status, status])
    const { requestId: _, error, details, ...rest } = single.body
    expect(result?.body).toMatchObject(rest)
    const placed = details?.map((detail: { path: string }) => ({ ...detail, path: `events.1.body.${detail.path}` }))
    expect(result?.body.details).toEqual(placed)
    if (status >= 400) expect(result?.body.error).toBe(status === 400 ? `events.1.body.${error}` : error)
  })
})

describe('the order in a batch', () => {
  it.for<[type: Type, body: (trace_id: string) => object, status: number]>([
    ['observation', trace_id => anObservation({ trace_id, type: 'input', data: 'kept' }), 201],
    ['observation', trace_id => anObservation({ trace_id, type: 'input', data: large('kept') }), 201],
    ['span', trace_id => aSpan({ trace_id }), 202],
    ['feedback', trace_id => aFeedback({ trace_id }), 201],
  ])(
    'must put a trace before its first %s unless the trace already exists',
    async ([type, body, status], { expect }) => {
      const org = await newOrg()
      const { trace_id } = aTrace()
      const events = [event(type, body(trace_id)), event('trace', aTrace({ trace_id })), event(type, body(trace_id))]
      const [early, created, late] = await resultsOf(org, events)
      expect(early).toMatchObject({ status: 404, body: { error: 'Trace not found', code: 'not_found' } })
      expect([created?.status, late?.status]).toEqual([202, status])
      const before = await detailOf(org, trace_id)
      expect(before.spans.length - 1 + before.feedback.length + (before.spans[0].input === null ? 0 : 1)).toBe(1)
      expect((await statusesOf(org, events)).slice(0, 2)).toEqual([status, 202])
    },
  )

  it('must put an accepted trace before its first observation, because a rejected trace does not count', async ({
    expect,
  }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    const statuses = await statusesOf(org, [
      event('trace', aTrace({ trace_id, name: '' })),
      event('observation', anObservation({ trace_id })),
      event('trace', aTrace({ trace_id })),
      event('observation', anObservation({ trace_id })),
    ])
    expect(statuses).toEqual([400, 404, 202, 201])
  })

  it('decides which metadata fits, and each event’s warning lists its fields that did not fit', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    const [first, filling, completing] = await resultsOf(org, [
      event('trace', aTrace({ trace_id })),
      event('trace', aTrace({ trace_id, metadata: { a: 'x'.repeat(MAX_METADATA_BYTES - 100) } })),
      event('trace', aTrace({ trace_id, status: 'completed', metadata: { b: 'x'.repeat(200), c: 1 } })),
    ])
    expect([first?.body.warnings, filling?.body.warnings]).toEqual([undefined, undefined])
    expect(completing).toMatchObject({ status: 202, body: { warnings: [expect.stringMatching(/left out "b"$/)] } })
    const { status, metadata } = await detailOf(org, trace_id)
    expect([status, Object.keys(metadata)]).toEqual(['completed', ['group_id', 'customer', 'a', 'c']])
  })

  it('decides how calls for one trace merge', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    const call = (fields: object) => event('trace', aTrace({ trace_id, metadata: {}, ...fields }))
    await resultsOf(org, [
      call({ name: 'first', metadata: { a: 1, b: 1 } }),
      call({ name: 'second', status: 'completed', duration_ms: 5, metadata: { b: 2 }, timestamp: timeAfter(9) }),
      call({ metadata: { a: 3, b: 3, c: 3 } }),
      call({ status: 'completed', duration_ms: 9 }),
    ])
    expect(await detailOf(org, trace_id)).toMatchObject({
      name: 'first',
      status: 'completed',
      durationMs: 5,
      metadata: { a: 3, b: 2, c: 3 },
      createdAt: TIME,
    })
    const count = async (query: string) => (await org.ingest.get(`/api/v1/traces/search?${query}`)).body.count
    expect([await count('b=2'), await count('b=1'), await count('a=3')]).toEqual([1, 0, 1])
  })

  it('breaks ties between timestamps: the last output and state win, and inputs keep their order', async ({
    expect,
  }) => {
    const { org, trace_id, span } = await newTrace()
    const numbers = Array.from({ length: 300 }, (_, index) => index)
    await resultsOf(org, [
      ...numbers.map(data => event('observation', anObservation({ trace_id, type: 'input', data }))),
      ...numbers.map(data => event('observation', anObservation({ trace_id, type: 'state', key: 'a', data }))),
      ...numbers.map(data => event('observation', anObservation({ trace_id, type: 'output', data }))),
    ])
    expect(await span()).toMatchObject({ input: numbers, output: 299, state: { a: 299 } })
  })

  it('breaks ties between feedback with the same timestamp', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const comments = Array.from({ length: 50 }, (_, index) => `${index}`)
    await resultsOf(
      org,
      comments.map(comment => event('feedback', { trace_id, comment, timestamp: TIME })),
    )
    expect((await read()).feedback.map(({ content }: { content: string }) => content)).toEqual(comments)
  })
})

describe('an id repeated in a batch', () => {
  it('creates the feedback first and then updates it', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const give = (fields: object) => event('feedback', { trace_id, feedback_id: 'one', ...fields })
    const statuses = await statusesOf(org, [
      give({ comment: 'a', rating: 'negative', timestamp: timeAfter(1) }),
      give({ comment: 'b' }),
      event('feedback', { trace_id, feedback_id: 'two', comment: 'other' }),
      give({ rating: 'positive', timestamp: timeAfter(2) }),
      give({ comment: 'c' }),
      give({ correction: { a: 1 } }),
    ])
    expect(statuses).toEqual([201, 200, 201, 200, 200, 200])
    const { feedback } = await read()
    expect(feedback).toHaveLength(2)
    expect(feedback.find(({ content }: { content: string }) => content !== 'other')).toMatchObject({
      content: 'c',
      rating: 'positive',
      correction: { a: 1 },
      createdAt: timeAfter(2),
    })
  })

  it('updates the span in order, field by field', async ({ expect }) => {
    const { org, trace_id, read, spanOf } = await newTrace()
    const span_id = uuid()
    const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: 'a', content: 'A' })).body
    const step = (fields: object) => event('span', { trace_id, span_id, step_id: 'a', timestamp: TIME, ...fields })
    const statuses = await statusesOf(org, [
      step({ input: 1, metadata: { a: 1 } }),
      step({ output: large('first'), prompt_version_id: prompt.versionId }),
      step({ output: 'refused', prompt_version_id: span_id }),
      step({ output: 'last', step_id: 'b', status: 'error' }),
      step({ metadata: { b: 1 }, step_id: 'c' }),
    ])
    expect(statuses).toEqual([202, 202, 422, 202, 202])
    expect((await read()).spans).toHaveLength(2)
    expect(await spanOf(span_id)).toMatchObject({
      stepId: 'c',
      input: 1,
      output: 'last',
      metadata: { b: 1 },
      status: 'error',
      promptVersionId: prompt.versionId,
    })
  })

  it('gives a span to the first trace that claims it', async ({ expect }) => {
    const org = await newOrg()
    const traces = await tracesTogether(org.project, 3)
    const span_id = uuid()
    const claim = (index: number, output: number) =>
      event('span', aSpan({ trace_id: traces[index]?.trace_id, span_id, output }))
    const events = [event('span', aSpan({ span_id })), claim(0, 1), claim(1, 2), claim(0, 3), claim(2, 4)]
    expect(await statusesOf(org, [...traces.map(trace => event('trace', trace)), ...events])).toEqual([
      ...[202, 202, 202],
      ...[404, 202, 409, 202, 409],
    ])
    expect((await org.read.get(`/api/spans/${span_id}`)).body).toMatchObject({
      output: 3,
      trace: { traceId: traces[0]?.trace_id },
    })
  })

  it('gives feedback to the first trace that claims it', async ({ expect }) => {
    const org = await newOrg()
    const traces = await tracesTogether(org.project, 2)
    const claim = (index: number) =>
      event('feedback', aFeedback({ trace_id: traces[index]?.trace_id, feedback_id: 'one' }))
    const events = [...traces.map(trace => event('trace', trace)), claim(1), claim(0), claim(1)]
    expect(await statusesOf(org, events)).toEqual([202, 202, 201, 409, 200])
  })

  it.for([
    ['small', 'first', 'second'],
    ['large', large('first'), large('second')],
    ['small, then large', 'first', large('second')],
    ['large, then small', large('first'), 'second'],
  ] as const)('keeps the first body of an observation: %s', async ([, first, second], { expect }) => {
    const { org, trace_id, span } = await newTrace()
    const observation_id = uuid()
    const observe = (data: string, fields = {}) =>
      event('observation', anObservation({ trace_id, observation_id, data, timestamp: timeAfter(1), ...fields }))
    const results = await resultsOf(org, [
      observe(first),
      observe(second, { timestamp: timeAfter(2) }),
      observe(second),
    ])
    for (const result of results) expect(result).toEqual({ status: 201, body: { status: 'created', observation_id } })
    await resultsOf(org, [observe(second)])
    expect((await span()).output).toBe(first)
    const { observations } = (await org.ingest.get(`/api/v1/traces/${trace_id}/observations`)).body
    expect(observations).toHaveLength(1)
  })

  it('identifies a separate observation on another trace', async ({ expect }) => {
    const org = await newOrg()
    const traces = [aTrace(), aTrace()]
    const observation_id = uuid()
    await resultsOf(org, [
      ...traces.map(trace => event('trace', trace)),
      ...traces.map(({ trace_id }) =>
        event('observation', anObservation({ trace_id, observation_id, data: trace_id })),
      ),
    ])
    for (const { trace_id } of traces) expect((await detailOf(org, trace_id)).spans[0].output).toBe(trace_id)
  })

  it('costs no extra round trips for a span, no matter how often it is repeated', async ({ expect }) => {
    const { org, trace_id, spanOf } = await newTrace()
    const span_id = uuid()
    await sendBatch(org, [])
    const { bindings, counts } = countingBindings()
    const numbers = Array.from({ length: MAX_BATCH_EVENTS }, (_, index) => index)
    const events = numbers.map(output => event('span', aSpan({ trace_id, span_id, output })))
    expect(new Set(await statusesOf(org, events, bindings))).toEqual(new Set([202]))
    expect(counts.d1RoundTrips).toBe(1)
    expect((await spanOf(span_id)).output).toBe(MAX_BATCH_EVENTS - 1)
  })

  it('costs no extra round trips for feedback, no matter how often it is repeated', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    await sendBatch(org, [])
    const { bindings, counts } = countingBindings()
    const numbers = Array.from({ length: MAX_BATCH_EVENTS }, (_, index) => index)
    const events = numbers.map(index => event('feedback', { trace_id, feedback_id: 'one', comment: `${index}` }))
    const [first, ...others] = await statusesOf(org, events, bindings)
    expect([first, ...new Set(others)]).toEqual([201, 200])
    expect(counts.d1RoundTrips).toBe(1)
    expect((await read()).feedback).toMatchObject([{ content: `${MAX_BATCH_EVENTS - 1}` }])
  })
})

describe('large values in a batch', () => {
  it('share one object per trace, and are not stored for a missing trace', async ({ expect }) => {
    const org = await newOrg()
    const traces = [aTrace(), aTrace()]
    const events = traces.flatMap(({ trace_id }) => [
      event('span', aSpan({ trace_id, span_id: uuid(), input: large('in'), output: large('out') })),
      event('observation', anObservation({ trace_id, type: 'input', data: large('observed') })),
    ])
    const { bindings, counts } = countingBindings()
    const missing = [event('observation', anObservation({ data: large('nowhere') }))]
    const statuses = await statusesOf(
      org,
      [...traces.map(trace => event('trace', trace)), ...events, ...missing],
      bindings,
    )
    expect(statuses).toEqual([202, 202, 202, 201, 202, 201, 404])
    expect(counts.r2Calls).toBe(2)
    expect((await env.PAYLOADS.list({ prefix: `${org.id}/` })).objects).toHaveLength(2)
    for (const { trace_id } of traces) {
      const { spans } = await detailOf(org, trace_id)
      expect(spans).toMatchObject([{ input: large('observed') }, { input: large('in'), output: large('out') }])
    }
  })
})

describe('concurrent batches', () => {
  it('apply identical events once, and different events separately', async ({ expect }) => {
    const org = await newOrg()
    const { trace_id } = aTrace()
    const [span_id, observation_id] = [uuid(), uuid()]
    const same = [
      event('trace', aTrace({ trace_id, metadata: { same: 1 } })),
      event('span', aSpan({ trace_id, span_id, output: large('span') })),
      event('observation', anObservation({ trace_id, observation_id, type: 'input', data: large('observed') })),
      event('feedback', aFeedback({ trace_id, feedback_id: 'same' })),
    ]
    const batches = Array.from({ length: 6 }, (_, index) => [
      ...same,
      event('trace', aTrace({ trace_id, status: 'completed', metadata: { [`own${index}`]: index } })),
      event('span', aSpan({ trace_id, output: index })),
    ])
    const statuses = await Promise.all(batches.map(events => statusesOf(org, events)))
    expect(statuses.map(each => each.toSpliced(3, 1))).toEqual(batches.map(() => [202, 202, 201, 202, 202]))
    expect(statuses.filter(each => each[3] === 201)).toHaveLength(1)
    const { spans, feedback, metadata, status } = await detailOf(org, trace_id)
    expect({ status, metadata }).toEqual({
      status: 'completed',
      metadata: Object.fromEntries([['same', 1], ...batches.map((_, index) => [`own${index}`, index])]),
    })
    expect(feedback).toHaveLength(1)
    expect(spans).toHaveLength(8)
    expect(spans[0].input).toBe(large('observed'))
    const outputs = spans.slice(1).map(({ output }: { output: unknown }) => output)
    expect(new Set(outputs)).toEqual(new Set([large('span'), ...batches.keys()]))
  })

  it('never fail if one call deletes the trace that another writes to', async ({ expect }) => {
    const { org, trace_id, id } = await newTrace()
    const events = [
      event('trace', aTrace({ trace_id })),
      event('span', aSpan({ trace_id, output: large('') })),
      event('observation', anObservation({ trace_id, data: large('') })),
      event('feedback', aFeedback({ trace_id })),
    ]
    const responses = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        index % 3 === 0 ? org.owner.delete(`/api/traces/${id}`) : sendBatch(org, events),
      ),
    )
    for (const { status, body } of responses) {
      expect([200, 207, 404]).toContain(status)
      const statuses: number[] = (body.results ?? []).map((result: { status: number }) => result.status)
      for (const each of statuses) expect([201, 202, 404]).toContain(each)
    }
  })
})

describe('a fault in a batch', () => {
  /** Events on two traces in the same database. */
  const world = async ({ project }: Org) => {
    const [first, second] = await tracesTogether(project, 2, { metadata: {} })
    const traces = [{ ...first, metadata: { group_id: 'new' } }, second]
    const [trace_id, span_id] = [first?.trace_id, uuid()]
    return [
      ...traces.map(trace => event('trace', trace)),
      event('span', aSpan({ trace_id, span_id, output: 'given' })),
      event('span', aSpan({ trace_id, span_id: uuid(), output: large('given') })),
      event('span', aSpan({ trace_id, prompt_version_id: span_id })),
      event('observation', anObservation({ trace_id, observation_id: uuid(), type: 'input', data: 'a' })),
      event('observation', anObservation({ trace_id, span_id, observation_id: uuid(), data: large('b') })),
      event('feedback', aFeedback({ trace_id, feedback_id: 'one', labeller: { email: 'ada@example.com' } })),
      event('feedback', aFeedback({ trace_id, feedback_id: 'two', timestamp: TIME })),
      event('trace', { ...traces[1], status: 'completed', metadata: { group_id: 'changed' } }),
    ]
  }
  /** The statuses when the events are sent for the first time. */
  const FIRST = [202, 202, 202, 202, 422, 201, 201, 201, 201, 202]

  const expectOneEffect = async (expect: typeof import('vitest').expect, org: Org, read: Client) => {
    const { traces } = (await read.get('/api/traces?projectSlug=support')).body
    expect(traces).toHaveLength(2)
    const full = traces.find(({ spanCount }: { spanCount: number }) => spanCount > 1)
    expect(full).toMatchObject({ spanCount: 3, feedbackCount: 2 })
    const detail = (await read.get(`/api/traces/${full.id}`)).body
    expect(detail.spans[0].input).toBe('a')
    expect(detail.spans.map(({ output }: { output: string | null }) => output).sort()).toEqual(
      [null, large('b'), large('given')].sort(),
    )
    for (const group of ['new', 'changed']) {
      expect((await org.ingest.get(`/api/v1/traces/search?group_id=${group}`)).body.count).toBe(1)
    }
    const { observations } = (await org.ingest.get(`/api/v1/traces/${full.traceId}/observations`)).body
    expect(observations).toHaveLength(2)
  }

  it('causes a 503 for the whole batch if it is in any D1 call, and a retry takes effect once', async ({ expect }) => {
    let faults = 0
    for (let first = 1; ; first++) {
      const org = await newOrg()
      await sendBatch(org, [])
      const events = await world(org)
      const failed = await sendBatch(org, events, wrapBindings(failingFrom(first, OVERLOADED)))
      if (failed.status === 207) break
      faults++
      expect(failed.status).toBe(503)
      expect(Number(failed.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(failed.body.results).toBeUndefined()
      const retried = await statusesOf(org, events)
      // The second attempt updates the feedback that the first one created.
      expect(retried.map(status => (status === 200 ? 201 : status))).toEqual(FIRST)
      await expectOneEffect(expect, org, org.read)
    }
    expect(faults).toBeGreaterThanOrEqual(5)
  })

  it.for(['before', 'after'] as const)(
    'does not affect the results if it is a transient D1 fault %s the commit',
    async (when, { expect }) => {
      for (let nth = 1; nth <= 7; nth++) {
        const org = await newOrg()
        await sendBatch(org, [])
        expect(await statusesOf(org, await world(org), wrapBindings(failingAt(nth, LOST, when)))).toEqual(FIRST)
        await expectOneEffect(expect, org, org.read)
      }
    },
  )

  it('causes a 503 for the whole batch if it is in R2, and a retry takes effect once', async ({ expect }) => {
    const org = await newOrg()
    const events = await world(org)
    const down = wrapBindings(failing('PAYLOADS', 'internal error (10001)', Number.POSITIVE_INFINITY))
    expect((await sendBatch(org, events, down)).status).toBe(503)
    expect(await statusesOf(org, events)).toEqual(FIRST)
    await expectOneEffect(expect, org, org.read)
  })
})
