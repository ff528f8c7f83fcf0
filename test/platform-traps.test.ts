import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { utf8Length } from '../src/domain/text.ts'
import {
  INLINE_BYTES,
  LIMITER_TIMEOUT_MS,
  MAX_BATCH_BYTES,
  MAX_BATCH_EVENTS,
  MAX_COMMENT_LENGTH,
  MAX_CONTENT_BYTES,
  MAX_CORRECTION_BYTES,
  MAX_EMAIL_LENGTH,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_NOTE_LENGTH,
  MAX_PARALLEL_CALLS,
  MAX_SCHEMA_BYTES,
  MAX_SEARCHABLE_FIELDS,
} from '../src/limits.ts'
import { recordingBindings, type Statement, wrapBindings } from './support/bindings.ts'
import { aFeedback, anObservation, aSpan, aTrace, aTraceId, TIME, timeAfter } from './support/builders.ts'
import { stored } from './support/database.ts'
import { client, newOrg } from './support/org.ts'
import { columnsOfTables } from './support/stored.ts'
import { newTrace } from './support/trace.ts'

/*
 * Pitfalls of Cloudflare's platform. D1 and R2 are more lenient in tests than in production, so these tests measure
 * what production would reject.
 */

/** D1's limits in production: https://developers.cloudflare.com/d1/platform/limits/ */
const D1_VALUE_BYTES = 2_000_000
const D1_ROW_BYTES = 2_000_000
const D1_PARAMETERS = 100
const D1_SQL_BYTES = 100_000

/** A string with the given number of bytes, all of which must be escaped in JSON and again in JSON within JSON. */
const quotes = (bytes: number) => '"'.repeat(Math.floor(bytes / 2))
const controls = (length: number) => '\u0001'.repeat(length)

const aLongLabeler = (index: number) => ({
  name: controls(MAX_NAME_LENGTH),
  email: `${index}@x.org`.padStart(MAX_EMAIL_LENGTH, '"'),
})

function mustFit(statements: readonly Statement[]): void {
  expect(statements.length).toBeGreaterThan(0)
  for (const { sql, values } of statements) {
    expect(values.length, sql).toBeLessThanOrEqual(D1_PARAMETERS)
    expect(utf8Length(sql)).toBeLessThanOrEqual(D1_SQL_BYTES)
    for (const value of values) {
      if (typeof value === 'string') expect(utf8Length(value), sql).toBeLessThanOrEqual(D1_VALUE_BYTES)
    }
  }
}

describe('a request stays within D1’s limits for', () => {
  /** A batch with as many events as fit. */
  function batchOf(type: string, bodyOf: (index: number) => object): object {
    const events: object[] = []
    let bytes = '{"events":[]}'.length
    for (let index = 0; index < MAX_BATCH_EVENTS; index++) {
      const event = { type, body: bodyOf(index) }
      bytes += utf8Length(JSON.stringify(event)) + 1
      if (bytes > MAX_BATCH_BYTES) break
      events.push(event)
    }
    return { events }
  }
  const shortTrace = (metadata: object) => ({
    ...aTrace({ name: 'n', metadata }),
    trace_id: `trace_${crypto.randomUUID().slice(0, 9)}`,
  })
  const numbers = (from: number) => Array.from({ length: MAX_SEARCHABLE_FIELDS }, (_, index) => from + index)

  it.for([
    ['many short metadata values', () => batchOf('trace', () => shortTrace({ a: numbers(10) }))],
    [
      'many long metadata values',
      () => batchOf('trace', () => shortTrace({ a: numbers(0).map(n => controls(160) + n) })),
    ],
    ['large metadata', () => batchOf('trace', () => shortTrace({ a: quotes(MAX_METADATA_BYTES - 10) }))],
    [
      'spans with large metadata',
      ({ trace_id }) => batchOf('span', () => aSpan({ trace_id, metadata: { a: quotes(MAX_METADATA_BYTES - 10) } })),
    ],
    [
      'spans with the largest values that fit in a row',
      ({ trace_id }) =>
        batchOf('span', () => aSpan({ trace_id, input: quotes(INLINE_BYTES - 2), output: quotes(INLINE_BYTES - 2) })),
    ],
    [
      'the largest observations that fit in a row',
      ({ trace_id }) => batchOf('observation', () => anObservation({ trace_id, data: quotes(INLINE_BYTES - 2) })),
    ],
    [
      'observations that are too large for a row',
      ({ trace_id }) => batchOf('observation', () => anObservation({ trace_id, data: quotes(INLINE_BYTES) })),
    ],
    [
      'feedback from many labelers',
      ({ trace_id }) =>
        batchOf('feedback', index =>
          aFeedback({
            trace_id,
            labeller: aLongLabeler(index),
          }),
        ),
    ],
    [
      'feedback with large corrections',
      ({ trace_id }) =>
        batchOf('feedback', () =>
          aFeedback({
            trace_id,
            comment: controls(MAX_COMMENT_LENGTH),
            correction: { a: quotes(MAX_CORRECTION_BYTES - 10) },
          }),
        ),
    ],
  ] satisfies (readonly [string, (place: { trace_id: string }) => object])[])(
    'a batch of %s',
    { timeout: 20_000 },
    async ([, bodyOf], { expect }) => {
      const { org, trace_id } = await newTrace()
      const { bindings, statements } = recordingBindings()
      const { status, body } = await org.bearer(bindings).post('/api/v1/batch', bodyOf({ trace_id }))
      expect(status).toBe(207)
      for (const result of body.results) expect(result.status, JSON.stringify(result.body)).toBeLessThan(300)
      mustFit(statements)
    },
  )

  it('a batch of feedback from many labelers on traces that do not exist', async ({ expect }) => {
    const { bindings, statements } = recordingBindings()
    const batch = batchOf('feedback', index => aFeedback({ trace_id: aTraceId(), labeller: aLongLabeler(index) }))
    const { status, body } = await (await newOrg()).bearer(bindings).post('/api/v1/batch', batch)
    expect(status).toBe(207)
    for (const result of body.results) expect(result.status).toBe(404)
    mustFit(statements)
  })

  it('the largest rows that any request can create', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const metadata = Object.fromEntries(Array.from({ length: 5500 }, (_, index) => [`"${index}`, 1]))
    expect((await org.ingest.post('/api/v1/traces', aTrace({ status: 'completed', metadata }))).status).toBe(202)
    const large = { input: quotes(INLINE_BYTES - 2), output: quotes(INLINE_BYTES - 2) }
    await org.ingest.post(
      '/api/v1/spans',
      aSpan({ trace_id, ...large, metadata: { a: quotes(MAX_METADATA_BYTES - 10) } }),
    )
    const feedback = { comment: '😀'.repeat(MAX_COMMENT_LENGTH), correction: { a: quotes(MAX_CORRECTION_BYTES - 10) } }
    expect((await org.ingest.post('/api/v1/feedback', aFeedback({ trace_id, ...feedback }))).status).toBe(201)
    const text = { content: 'x'.repeat(MAX_CONTENT_BYTES), note: '😀'.repeat(MAX_NOTE_LENGTH) }
    const outputSchema = { a: quotes(MAX_SCHEMA_BYTES - 10) }
    const prompt = { projectSlug: 'support', stepId: 's', ...text, outputSchema }
    expect((await org.owner.post('/api/prompts', prompt)).status).toBe(201)
    const columns = await columnsOfTables()
    for (const table of ['traces', 'spans', 'observations', 'feedback', 'text_versions', 'trace_fields', 'users']) {
      const bytes = columns
        .get(table)
        ?.map(name => `coalesce(octet_length("${name}"), 0)`)
        .join(' + ')
      const { results } = await stored.prepare(`select ${bytes} as bytes from ${table}`).all<{ bytes: number }>()
      expect(Math.max(...results.map(row => row.bytes)), table).toBeLessThan(D1_ROW_BYTES)
    }
  })
})

describe('a value', () => {
  const spelled = [
    ['1.0', '1'],
    ['-0', '0'],
    ['1e2', '100'],
    ['9007199254740993', '9007199254740992'],
    ['12345678901234567890', '12345678901234567000'],
    ['1e21', '1e+21'],
    ['5e-324', '5e-324'],
    ['1e-400', '0'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['{"b":1,"a":2,"b":3}', '{"b":3,"a":2}'],
    ['{"2":0,"1":0}', '{"1":0,"2":0}'],
    ['"\\u00e9\\/\\n"', '"é/\\n"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ['"\\ud800"', '"\\ud800"'],
    ['"\\u0000"', '"\\u0000"'],
    ['" \\u2028"', '" \u2028"'],
    [' [ ] ', '[]'],
    ['null', 'null'],
    ['false', 'false'],
    ['0', '0'],
    ['""', '""'],
  ] as const

  it.for(spelled)('keeps its meaning: %s is returned as %s, from D1 or from R2', async ([sent, back], { expect }) => {
    const { org, trace_id, read } = await newTrace()
    const spanId = crypto.randomUUID()
    const post = (path: string, body: object, field: string, json: string) =>
      org.ingest.post(path, `${JSON.stringify(body).slice(0, -1)},"${field}":${json}}`)
    const filler = `"${'x'.repeat(INLINE_BYTES)}"`
    const { data: _, ...observation } = anObservation({ trace_id, type: 'state' })
    const span = { trace_id, span_id: spanId, step_id: 's', timestamp: TIME }
    const responses = [
      await post('/api/v1/observations', { ...observation, key: 'small' }, 'data', sent),
      await post('/api/v1/observations', { ...observation, key: 'large' }, 'data', `[${sent},${filler}]`),
      await post('/api/v1/spans', span, 'input', `{"a":${sent}}`),
      await post('/api/v1/spans', span, 'metadata', `{"a":${sent}}`),
      await post('/api/v1/feedback', { trace_id }, 'correction', `{"a":${sent}}`),
      await post('/api/v1/traces', { ...aTrace({ trace_id }), metadata: undefined }, 'metadata', `{"a":${sent}}`),
    ]
    expect(responses.map(({ status }) => status)).toEqual([201, 201, 202, 202, 201, 202])
    const { metadata, spans, feedback } = await read()
    const values = [spans[0].state.small, spans[0].state.large[0], spans[1].input.a, spans[1].metadata.a]
    for (const value of [...values, feedback[0].correction.a, metadata.a]) expect(JSON.stringify(value)).toBe(back)
  })

  it.for([
    ['a trace', '/api/v1/traces', aTrace(), 'metadata', 'metadata.a'],
    ['a span’s input', '/api/v1/spans', aSpan(), 'input', 'input.a'],
    ['a span’s output', '/api/v1/spans', aSpan(), 'output', 'output.a'],
    ['a span', '/api/v1/spans', aSpan(), 'metadata', 'metadata.a'],
    ['a correction', '/api/v1/feedback', aFeedback(), 'correction', 'correction.a'],
    ['a rating', '/api/v1/feedback', aFeedback(), 'rating', 'rating'],
    ['a duration', '/api/v1/traces', aTrace(), 'duration_ms', 'duration_ms'],
    ['a limit', '/api/api-keys', { name: 'x', scopes: ['read'] }, 'rateLimitPerMinute', 'rateLimitPerMinute'],
    [
      'a schema',
      '/api/prompts',
      { projectSlug: 'support', stepId: 's', content: 'c' },
      'outputSchema',
      'outputSchema.a',
    ],
  ] as const)(
    'is rejected if it is a number that overflows: in %s',
    async ([, path, body, field, place], { expect }) => {
      const org = await newOrg()
      const value = place.endsWith('.a') ? '{"a":-1e400}' : '1e400'
      const { [field as keyof typeof body]: _, ...rest } = body
      const text = `${JSON.stringify(rest).slice(0, -1)},"${field}":${value}}`
      const response = await org.owner.post(path, text, { 'x-project-slug': 'support' })
      expect(response.status).toBe(400)
      expect(response.body.details[0].path).toBe(place)
    },
  )
})

describe('metadata', () => {
  it('is rejected if it is nested 1,100 levels deep, but accepted at the limit, and the search still works', async ({
    expect,
  }) => {
    const org = await newOrg()
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    const post = (depth: number) =>
      org.ingest.post('/api/v1/traces', JSON.stringify(aTrace({ metadata: {} })).replace('{}', nested(depth)))
    expect((await post(1100)).status).toBe(400)
    expect((await post(128)).status).toBe(202)
    const path = Array.from({ length: 128 }, () => 'a').join('.')
    expect((await org.ingest.get(`/api/v1/traces/search?${path}=1`)).body.count).toBe(1)
    expect((await org.ingest.get('/api/v1/traces/search?group_id=none')).body.count).toBe(0)
  })

  it('is kept but not searchable under a 1 KB key', async ({ expect }) => {
    const org = await newOrg()
    const key = 'k'.repeat(1024)
    const { body } = await org.ingest.post('/api/v1/traces', aTrace({ metadata: { [key]: 1, short: 2 } }))
    expect(body.warnings).toHaveLength(1)
    expect((await org.read.get(`/api/traces/${body.id}`)).body.metadata).toEqual({ [key]: 1, short: 2 })
    expect((await org.ingest.get(`/api/v1/traces/search?${key}=1`)).body.count).toBe(0)
    expect((await org.ingest.get('/api/v1/traces/search?short=2')).body.count).toBe(1)
  })
})

describe('a trace with 300 observations, 50 of them in R2,', () => {
  it('is read in full, in order, with at most 6 concurrent R2 calls', { timeout: 20_000 }, async ({ expect }) => {
    const { org, trace_id, id } = await newTrace()
    const values = Array.from(
      { length: 300 },
      (_, index) => `${index} ${'x'.repeat(index % 6 === 0 ? INLINE_BYTES : 9)}`,
    )
    const bodies = values.map((data, index) =>
      anObservation({ trace_id, type: 'input', data, timestamp: timeAfter(index) }),
    )
    const isLarge = (_: unknown, index: number) => index % 6 === 0
    // Large observations are sent one by one, because a batch would put them all in one object.
    for (const body of bodies.filter(isLarge)) await org.ingest.post('/api/v1/observations', body)
    const events = bodies.filter((_, index) => !isLarge(_, index)).map(body => ({ type: 'observation', body }))
    await org.ingest.post('/api/v1/batch', { events })
    let underWay = 0
    let most = 0
    let calls = 0
    const bindings = wrapBindings(async (binding, call) => {
      if (binding !== 'PAYLOADS') return call()
      calls++
      most = Math.max(most, ++underWay)
      await scheduler.wait(2)
      return call().finally(() => underWay--)
    })
    const detail = (await org.bearer(bindings).get(`/api/traces/${id}`)).body
    expect(detail.spans[0].input).toEqual(values)
    expect([calls, most]).toEqual([50, MAX_PARALLEL_CALLS])
  })
})

describe('a span sent in 50 concurrent requests', () => {
  it('is stored once', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const span = aSpan({ trace_id, input: 'x'.repeat(INLINE_BYTES + 1) })
    const responses = await Promise.all(Array.from({ length: 50 }, () => org.ingest.post('/api/v1/spans', span)))
    expect(new Set(responses.map(({ status, body }) => `${status} ${body.span_id}`))).toEqual(
      new Set([`202 ${span.span_id}`]),
    )
    const { spans, spanCount } = await read()
    expect([spans.length, spanCount]).toEqual([2, 2])
    expect(spans[1].input).toBe(span.input)
  })
})

describe('after its trace is deleted', () => {
  it.for([
    ['an observation', 'observation', { type: 'input' }],
    ['a large observation', 'observation', { data: 'x'.repeat(INLINE_BYTES + 1) }],
    ['a span', 'span', {}],
    ['a large span', 'span', { output: 'x'.repeat(INLINE_BYTES + 1) }],
    ['feedback', 'feedback', { labeller: { email: 'ada@example.com' } }],
  ] as const)('%s gets a 404, by itself and in a batch', async ([, type, fields], { expect }) => {
    const { org, trace_id, id } = await newTrace()
    await org.owner.delete(`/api/traces/${id}`)
    const body = {
      ...{ observation: anObservation(), span: aSpan(), feedback: aFeedback() }[type],
      trace_id,
      ...fields,
    }
    const path = { observation: '/api/v1/observations', span: '/api/v1/spans', feedback: '/api/v1/feedback' }[type]
    expect((await org.ingest.post(path, body)).status).toBe(404)
    const { results } = (await org.ingest.post('/api/v1/batch', { events: [{ type, body }] })).body
    expect(results).toMatchObject([{ status: 404, body: { error: 'Trace not found' } }])
  })
})

describe('the rate limiter', () => {
  it('admits no more than the limit, even if it is evicted within the minute', async ({ expect }) => {
    const org = await newOrg()
    const draft = { name: 'x', projectSlug: 'support', scopes: ['ingest'], rateLimitPerMinute: 20 }
    const { id, key } = (await org.owner.post('/api/api-keys', draft)).body
    const limited = client({ 'x-api-key': key })
    const burst = async () => {
      const responses = await Promise.all(Array.from({ length: 15 }, () => limited.post('/api/v1/traces', aTrace())))
      return responses.filter(({ status }) => status === 202).length
    }
    expect(await burst()).toBe(15)
    await evictDurableObject(env.RATE_LIMITER.get(env.RATE_LIMITER.idFromName(id)))
    expect(await burst()).toBe(5)
  })

  it('delays a request by only a quarter of a second if the limiter hangs', async ({ expect }) => {
    const org = await newOrg()
    const bindings = wrapBindings((binding, call) => (binding === 'RATE_LIMITER' ? new Promise(() => {}) : call()))
    const since = Date.now()
    expect((await org.bearer(bindings).post('/api/v1/traces', aTrace())).status).toBe(202)
    expect(Date.now() - since).toBeLessThan(LIMITER_TIMEOUT_MS + 750)
  })
})

describe('a deployment without a queue', () => {
  it('accepts feedback and deletes a trace', async ({ expect }) => {
    const { org, trace_id, id } = await newTrace()
    const { JOBS, ...withoutQueue } = env
    const owner = client({ 'x-api-key': org.ownerKey, 'x-project-slug': 'support' }, withoutQueue)
    expect((await owner.post('/api/v1/feedback', aFeedback({ trace_id }))).status).toBe(201)
    expect((await owner.delete(`/api/traces/${id}`)).status).toBe(200)
    expect((await org.read.get(`/api/traces/${id}`)).status).toBe(404)
  })
})

describe('a time', () => {
  const VALID = [
    '2026-11-20T10:00:00.000Z',
    '2024-02-29T23:59:59.999Z',
    '1970-01-01T00:00:00.000Z',
    '0001-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
  ]
  const INVALID = [
    '2026-11-20T10:00:00Z',
    '2026-11-20T10:00:00.0Z',
    '2026-11-20T10:00:00.000000Z',
    '2026-11-20T10:00:00,000Z',
    '2026-11-20T10:00:00.000',
    '2026-11-20T10:00:00.000z',
    '2026-11-20t10:00:00.000Z',
    '2026-11-20 10:00:00.000Z',
    '2026-11-20T10:00:00.000+00:00',
    '2026-11-20T10:00:00.000-08:00',
    '2026-11-20T24:00:00.000Z',
    '2026-06-30T23:59:60.000Z',
    '2026-02-30T10:00:00.000Z',
    '2025-02-29T10:00:00.000Z',
    '2026-13-01T10:00:00.000Z',
    '2026-00-10T10:00:00.000Z',
    '+012026-11-20T10:00:00.000Z',
    '-000001-11-20T10:00:00.000Z',
    '10000-01-01T00:00:00.000Z',
    ' 2026-11-20T10:00:00.000Z',
    '2026-11-20T10:00:00.000Z\n',
    '２０２６-11-20T10:00:00.000Z',
    '2026-11-20',
    '1763632800000',
    'now',
    '',
  ]

  const places: (readonly [
    name: string,
    path: string,
    send: (
      place: Awaited<ReturnType<typeof newTrace>>,
      time: string,
    ) => Promise<{ status: number; body: { details?: { path: string }[] } }>,
    read?: (place: Awaited<ReturnType<typeof newTrace>>) => Promise<string>,
  ])[] = [
    ['trace', 'timestamp', ({ org }, timestamp) => org.ingest.post('/api/v1/traces', aTrace({ timestamp }))],
    [
      'observation',
      'timestamp',
      ({ observe }, timestamp) => observe({ timestamp }),
      async ({ org, trace_id }) =>
        (await org.ingest.get(`/api/v1/traces/${trace_id}/observations?limit=1`)).body.observations[0].timestamp,
    ],
    [
      'span',
      'timestamp',
      ({ org, trace_id, id }, timestamp) =>
        org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id: id, timestamp })),
      async ({ org, id }) => (await org.read.get(`/api/spans/${id}`)).body.createdAt,
    ],
    [
      'feedback',
      'timestamp',
      ({ give }, timestamp) => give({ feedback_id: 'one', timestamp }),
      async ({ read }) => (await read()).feedback[0].createdAt,
    ],
    [
      'list, from',
      'from',
      ({ org }, time) => org.read.get(`/api/traces?projectSlug=support&from=${encodeURIComponent(time)}`),
    ],
    [
      'list, to',
      'to',
      ({ org }, time) => org.read.get(`/api/traces?projectSlug=support&to=${encodeURIComponent(time)}`),
    ],
  ]

  it.for(places)(
    'must be a real time in the form YYYY-MM-DDTHH:mm:ss.sssZ: %s',
    async ([, path, send, read], { expect }) => {
      for (const time of VALID) {
        const place = await newTrace()
        expect((await send(place, time)).status, time).toBeLessThan(300)
        if (read) expect(await read(place)).toBe(time)
      }
      const place = await newTrace()
      for (const time of INVALID) {
        const { status, body } = await send(place, time)
        expect([status, body.details?.[0]?.path], time).toEqual([400, path])
      }
    },
  )
})
