import { describe, it } from 'vitest'
import { INLINE_BYTES, MAX_JSON_DEPTH, MAX_OBSERVATION_BYTES, MAX_STATE_KEY_LENGTH } from '../../src/limits.ts'
import { rowsReadBy, wrapBindings } from '../support/bindings.ts'
import { anObservation, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { newOrg } from '../support/org.ts'
import { newTrace } from '../support/trace.ts'

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

describe('an observation', () => {
  it.for([
    ['missing data', { data: undefined }, 'data', 'is required'],
    ['a missing type', { type: undefined }, 'type', 'is required'],
    ['an unknown type', { type: 'metric' }, 'type', 'must be "state" or "input" or "output"'],
    ['a state with no key', { type: 'state' }, 'key', 'is required'],
    [
      'a state with an empty key',
      { type: 'state', key: '' },
      'key',
      `must have 1 to ${MAX_STATE_KEY_LENGTH} characters`,
    ],
    ['a state with a key that is not a string', { type: 'state', key: 5 }, 'key', 'must be a string'],
    ['a missing trace_id', { trace_id: undefined }, 'trace_id', 'is required'],
    [
      'a trace_id without its prefix',
      { trace_id: 'abc' },
      'trace_id',
      'must be trace_ followed by 1 to 122 letters, digits, _, or -',
    ],
    ['a missing timestamp', { timestamp: undefined }, 'timestamp', 'is required'],
    [
      'a time without milliseconds',
      { timestamp: '2026-11-20T10:00:00Z' },
      'timestamp',
      'must be a valid time in the form YYYY-MM-DDTHH:mm:ss.sssZ',
    ],
    [
      'a time with an offset',
      { timestamp: '2026-11-20T10:00:00.000+01:00' },
      'timestamp',
      'must be a valid time in the form YYYY-MM-DDTHH:mm:ss.sssZ',
    ],
    [
      '30 February',
      { timestamp: '2026-02-30T10:00:00.000Z' },
      'timestamp',
      'must be a valid time in the form YYYY-MM-DDTHH:mm:ss.sssZ',
    ],
    [
      '24:00',
      { timestamp: '2026-02-20T24:00:00.000Z' },
      'timestamp',
      'must be a valid time in the form YYYY-MM-DDTHH:mm:ss.sssZ',
    ],
    [
      'a leap second',
      { timestamp: '2026-06-30T23:59:60.000Z' },
      'timestamp',
      'must be a valid time in the form YYYY-MM-DDTHH:mm:ss.sssZ',
    ],
    ['an observation_id that is not a UUID', { observation_id: 'x' }, 'observation_id', 'must be a UUID'],
    ['a span_id that is not a UUID', { span_id: 'x' }, 'span_id', 'must be a UUID'],
    [
      'nesting past the limit',
      { data: nested(MAX_JSON_DEPTH + 1) },
      'data',
      `nests deeper than ${MAX_JSON_DEPTH} levels`,
    ],
  ] as const)('400s for %s', async ([, fields, path, message], { expect }) => {
    const { observe } = await newTrace()
    const response = await observe(fields)
    expect(response.status).toBe(400)
    expect(response.body).toMatchObject({
      error: `${path}: ${message}`,
      code: 'invalid_request',
      details: [{ path, message }],
    })
  })

  it('400s with the path of a number that overflows', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const body = `{"trace_id":"${trace_id}","type":"input","timestamp":"${TIME}","data":{"a":[1,1e400]}}`
    const response = await org.ingest.post('/api/v1/observations', body)
    expect(response.status).toBe(400)
    expect(response.body.details).toEqual([{ path: 'data.a.1', message: 'is a number out of range' }])
  })

  it('404s for a missing trace', async ({ expect }) => {
    const org = await newOrg()
    for (const data of ['small', 'x'.repeat(INLINE_BYTES + 1)]) {
      const response = await org.ingest.post('/api/v1/observations', anObservation({ data }))
      expect(response.status).toBe(404)
      expect(response.body.error).toBe('Trace not found')
    }
  })

  it.for([
    ['null', null],
    ['false', false],
    ['zero', 0],
    ['an empty string', ''],
    ['an empty array', []],
    ['half a surrogate pair', 'a\ud800b'],
    ['a NUL', 'a\u0000b'],
    ['the largest exact integer', Number.MAX_SAFE_INTEGER],
    ['nesting at the limit', nested(MAX_JSON_DEPTH)],
    ['emoji and right-to-left text', '👩‍👩‍👧 שלום'],
  ] as const)('returns %s unchanged', async ([, data], { expect }) => {
    const { observe, span } = await newTrace()
    expect((await observe({ type: 'output', data })).status).toBe(201)
    expect((await span()).output).toEqual(data)
  })

  it('keeps the IEEE 754 values of its numbers, not their notation', async ({ expect }) => {
    const { org, trace_id, span } = await newTrace()
    const data = '[1.0, 1e2, -0.0, 9007199254740993, 0.1000000000000000055, 1e-400]'
    const body = `{"trace_id":"${trace_id}","type":"output","timestamp":"${TIME}","data":${data}}`
    expect((await org.ingest.post('/api/v1/observations', body)).status).toBe(201)
    expect(JSON.stringify((await span()).output)).toBe('[1,100,0,9007199254740992,0.1,0]')
  })

  it('keeps fields with the names of built-in properties', async ({ expect }) => {
    const { org, trace_id, span, observe } = await newTrace()
    const data = '{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}'
    const body = `{"trace_id":"${trace_id}","type":"input","timestamp":"${TIME}","data":${data}}`
    await org.ingest.post('/api/v1/observations', body)
    await observe({ type: 'input', data: { more: 1 }, timestamp: timeAfter(1) })
    expect(JSON.stringify((await span()).input)).toBe(`${data.slice(0, -1)},"more":1}`)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it.for([
    ['ASCII', 'x'],
    ['4-byte UTF-8', '😀'],
  ] as const)('is limited by the byte size of its JSON, in %s', async ([, character], { expect }) => {
    const { observe, span } = await newTrace()
    const bytes = new TextEncoder().encode(character).byteLength
    const bodyWithSize = (size: number) =>
      character.repeat((size - 2) >> (bytes === 4 ? 2 : 0)) + 'x'.repeat((size - 2) % bytes)
    for (const size of [MAX_OBSERVATION_BYTES - 1, MAX_OBSERVATION_BYTES]) {
      expect((await observe({ data: bodyWithSize(size) })).status).toBe(201)
    }
    expect((await span()).output.length).toBe(bodyWithSize(MAX_OBSERVATION_BYTES).length)
    const response = await observe({ data: bodyWithSize(MAX_OBSERVATION_BYTES + 1) })
    expect(response.status).toBe(413)
    expect(response.body.error).toBe('Observation data too large')
  })

  it.for([INLINE_BYTES - 1, INLINE_BYTES, INLINE_BYTES + 1, INLINE_BYTES * 40])(
    'is read back unchanged at %i bytes, whether from D1 or R2',
    async (size, { expect }) => {
      const { observe, span } = await newTrace()
      const data = { text: 'é'.repeat((size - 11) >> 1) + 'x'.repeat((size - 11) % 2) }
      expect(new TextEncoder().encode(JSON.stringify(data)).byteLength).toBe(size)
      await observe({ type: 'state', key: 'documents', data })
      expect((await span()).state).toEqual({ documents: data })
    },
  )

  it.for(['small', 'x'.repeat(INLINE_BYTES * 2)])(
    'is stored once even if sent repeatedly, and keeps its first body',
    async (data, { expect }) => {
      const { observe, span } = await newTrace()
      const observation_id = crypto.randomUUID()
      const responses = await Promise.all(
        Array.from({ length: 10 }, () =>
          observe({ type: 'input', observation_id: observation_id.toUpperCase(), data }),
        ),
      )
      for (const response of responses) {
        expect(response.status).toBe(201)
        expect(response.body).toEqual({ status: 'created', observation_id })
      }
      expect((await observe({ type: 'input', observation_id, data: 'another' })).status).toBe(201)
      expect((await span()).input).toBe(data)
    },
  )

  it('404s if its trace is deleted during the write to R2, even if the trace is then re-created', async ({
    expect,
  }) => {
    const { org, trace_id, id, span } = await newTrace()
    const data = 'x'.repeat(INLINE_BYTES * 2)
    let isFirst = true
    const bindings = wrapBindings(async (binding, call) => {
      const result = await call()
      if (binding === 'PAYLOADS' && isFirst) {
        isFirst = false
        await org.owner.delete(`/api/traces/${id}`)
        await org.ingest.post('/api/v1/traces', aTrace({ trace_id }))
      }
      return result
    })
    const response = await org.bearer(bindings).post('/api/v1/observations', anObservation({ trace_id, data }))
    expect(response.status).toBe(404)
    expect((await span()).output).toBeNull()
    const { results } = await stored
      .prepare('select 1 from observations o join traces t on t.key = o.trace_key where t.id = ?')
      .bind(id)
      .all()
    expect(results).toEqual([])
  })

  it('makes its span reviewable only if the stored observation is an output', async ({ expect }) => {
    const { observe, id } = await newTrace()
    const isMarked = async () =>
      (
        await stored
          .prepare(
            'select s.has_output from spans s join traces t on t.root_span_id = s.id and t.key = s.trace_key where t.id = ?',
          )
          .bind(id)
          .first()
      )?.has_output
    const observation_id = crypto.randomUUID()
    await observe({ type: 'input', observation_id })
    await observe({ type: 'output', observation_id })
    const nothing = { type: 'output', observation_id: crypto.randomUUID() }
    await observe({ ...nothing, data: null })
    await observe({ ...nothing, data: 'too late' })
    expect(await isMarked()).toBe(0)
    await observe({ type: 'output' })
    expect(await isMarked()).toBe(1)
  })

  it('413s for data that is too large, even if it is also invalid', async ({ expect }) => {
    const { observe } = await newTrace()
    const data = 'x'.repeat(MAX_OBSERVATION_BYTES)
    expect((await observe({ data, timestamp: undefined })).status).toBe(413)
    expect((await observe({ data, trace_id: 'trace_none' })).status).toBe(413)
  })

  it('accepts a value with millions of items', async ({ expect }) => {
    const { observe, span } = await newTrace()
    const data = Array.from({ length: 2_000_000 }, () => 1)
    expect((await observe({ data })).status).toBe(201)
    expect((await span()).output).toHaveLength(2_000_000)
  })

  it('ignores its key unless it is a state', async ({ expect }) => {
    const { observe } = await newTrace()
    expect((await observe({ type: 'input', key: 5 })).status).toBe(201)
  })

  it('uses the project in the header if its key serves all projects', async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const post = (headers: Record<string, string>) =>
      org.owner.post('/api/v1/observations', anObservation({ trace_id }), headers)
    expect((await post({})).status).toBe(400)
    expect((await post({})).body.details[0].path).toBe('x-project-slug')
    expect((await post({ 'x-project-slug': 'support' })).status).toBe(201)
    expect((await post({ 'x-project-slug': 'nope' })).status).toBe(404)
    const other = await org.ingest.post('/api/v1/observations', anObservation({ trace_id }), {
      'x-project-slug': 'nope',
    })
    expect(other.status).toBe(403)
  })
})

describe('an observation on a trace with 20,000 observations', () => {
  it.for<[name: string, fields: Record<string, unknown>]>([
    ['an input', { type: 'input' }],
    ['a state', { type: 'state', key: 'config' }],
    ['an output', { type: 'output' }],
    ['null as an output', { type: 'output', data: null }],
    ['an output for a step', { type: 'output', isOfStep: true }],
    ['an output that is sent again', { type: 'output', observation_id: crypto.randomUUID(), isAgain: true }],
  ])(
    'reads no more rows than on a trace with one observation: %s',
    async ([, { isOfStep, isAgain, ...fields }], { expect }) => {
      const rowsFor = async (count: number) => {
        const { org, id, trace_id, step, observe } = await newTrace()
        const span_id = isOfStep ? crypto.randomUUID() : undefined
        if (span_id) await step({ span_id })
        // A seek that ends at the last row of a table reads one fewer row, so this span comes last.
        await step({ span_id: 'ffffffff-ffff-4fff-bfff-ffffffffffff' })
        if (isAgain) await observe(fields)
        await stored
          .prepare(
            `with n(i) as (select 1 union all select i + 1 from n where i < ?)
         insert into observations (trace_key, id, type, data, timestamp, received_at)
         select key, 'many-' || i, 'output', '"Earlier"', 0, 0 from traces cross join n where id = ? and deleted_at is null`,
          )
          .bind(count, id)
          .run()
        const observation = anObservation({ trace_id, span_id, ...fields })
        await org.bearer().get('/api/projects')
        return rowsReadBy(async bindings => {
          expect((await org.bearer(bindings).post('/api/v1/observations', observation)).status).toBe(201)
        })
      }
      const few = await rowsFor(1)
      expect(few).toBeLessThan(60)
      expect(await rowsFor(20_000)).toBe(few)
    },
  )
})
