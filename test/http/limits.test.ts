import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import {
  MAX_BATCH_EVENTS,
  MAX_COMMENT_LENGTH,
  MAX_CONTENT_BYTES,
  MAX_CORRECTION_BYTES,
  MAX_FIELD_PATH_BYTES,
  MAX_FIELD_VALUE_BYTES,
  MAX_JSON_DEPTH,
  MAX_METADATA_BYTES,
  MAX_NAME_LENGTH,
  MAX_OBSERVATION_BYTES,
  MAX_RATE_LIMIT_PER_MINUTE,
  MAX_ROTATION_GRACE_SECONDS,
  MAX_SCHEMA_BYTES,
  MAX_SEARCH_FILTERS,
  MAX_SEARCHABLE_FIELDS,
  OBSERVATIONS_DEFAULT_LIMIT,
  OBSERVATIONS_MAX_LIMIT,
  PAGE_DEFAULT_LIMIT,
  PAGE_MAX_LIMIT,
  SEARCH_DEFAULT_LIMIT,
  SEARCH_MAX_LIMIT,
} from '../../src/limits.ts'
import { aFeedback, anObservation, aSpan, aTrace, TIME, timeAfter } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import {
  ASCII,
  alphabets,
  aPrompt,
  bytes,
  characters,
  EMOJI,
  type Field,
  inBatch,
  limitedSizes,
  limitedTexts,
  object,
  PATHS,
  type Place,
} from '../support/limited-fields.ts'
import { type ApiResponse, newOrg, type Org } from '../support/org.ts'
import { storedCounts } from '../support/stored.ts'
import { newTrace } from '../support/trace.ts'

const inAlphabets = (fields: readonly Field[]) =>
  fields.flatMap(field =>
    alphabets
      .filter(([, character]) => character === ASCII || !field.isAscii)
      .map(([alphabet, character]) => [field.name, alphabet, character, field] as const),
  )

const inAnyOrder = (values: readonly unknown[]) => values.map(value => JSON.stringify(value)).sort()

describe.for([
  ['characters', limitedTexts],
  ['bytes', limitedSizes],
] as const)('a limit in %s', ([, fields]) => {
  it.for(inAlphabets(fields))(
    'applies exactly to %s, in %s',
    { timeout: 20_000 },
    async ([, , character, field], { expect }) => {
      const place = await newTrace()
      const before = await field.held(place)
      const expected: unknown[] = []
      for (const size of [field.max - 1, field.max]) {
        const value = field.make(character, size)
        const response = await field.send(place, value)
        expect(response.status, response.body.error).toBeLessThan(300)
        expected.push(field.shown ? await field.shown(place, value) : value)
        const held = inAnyOrder(await field.held(place))
        expect(held).toEqual(inAnyOrder(field.replaces ? expected.slice(-1) : [...before, ...expected]))
      }
      const held = inAnyOrder(await field.held(place))
      const counts = await storedCounts()
      const rejected = await field.send(place, field.make(character, field.max + 1))
      expect(rejected.status).toBe(400)
      expect(rejected.body.code).toBe('invalid_request')
      expect(rejected.body.details).toHaveLength(1)
      expect(rejected.body.details[0].path).toBe(field.path)
      expect(rejected.body.details[0].message).toContain(field.says ?? String(field.max))
      expect(rejected.body.error).toBe(`${field.path}: ${rejected.body.details[0].message}`)
      expect(inAnyOrder(await field.held(place))).toEqual(held)
      expect(await storedCounts()).toEqual(counts)
    },
  )
})

describe('a required string', () => {
  const required = limitedTexts.filter(({ name }) => !/comment|note|labeller\.name|organization: slug/.test(name))
  it.for(required.map(field => [field.name, field] as const))(
    'must not be empty: %s',
    async ([, field], { expect }) => {
      const place = await newTrace()
      const counts = await storedCounts()
      const rejected = await field.send(place, '')
      expect(rejected.status).toBe(400)
      expect(rejected.body.details[0].path).toBe(field.path)
      expect(await storedCounts()).toEqual(counts)
    },
  )
})

describe('a large value', () => {
  const values: (readonly [name: string, send: Field['send'], held: (place: Place) => Promise<unknown>])[] = [
    [
      'observation in a batch: data',
      ({ org, trace_id }, data) =>
        inBatch(org, 'observation', anObservation({ trace_id, data, timestamp: timeAfter(1) })),
      async ({ span }) => (await span()).output,
    ],
    [
      'span: input',
      ({ org, trace_id, id }, input) => org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id: id, input })),
      async ({ org, id }) => (await org.read.get(`/api/spans/${id}`)).body.input,
    ],
    [
      'span: output',
      ({ org, trace_id, id }, output) => org.ingest.post('/api/v1/spans', aSpan({ trace_id, span_id: id, output })),
      async ({ org, id }) => (await org.read.get(`/api/spans/${id}`)).body.output,
    ],
    [
      'span in a batch: output',
      ({ org, trace_id, id }, output) => inBatch(org, 'span', aSpan({ trace_id, span_id: id, output })),
      async ({ org, id }) => (await org.read.get(`/api/spans/${id}`)).body.output,
    ],
  ]

  it.for(values.flatMap(value => alphabets.map(alphabet => [value[0], alphabet[0], value, alphabet[1]] as const)))(
    'in %s is limited by the byte size of its JSON, in %s',
    { timeout: 20_000 },
    async ([, , [, send, held], character], { expect }) => {
      const place = await newTrace()
      const valueWithSize = (size: number) => bytes(character, size - 2)
      for (const size of [MAX_OBSERVATION_BYTES - 1, MAX_OBSERVATION_BYTES]) {
        const value = valueWithSize(size)
        expect((await send(place, value)).status).toBeLessThan(300)
        // A comparison by expect() would print ten million characters.
        expect((await held(place)) === value).toBe(true)
      }
      const counts = await storedCounts()
      const rejected = await send(place, valueWithSize(MAX_OBSERVATION_BYTES + 1))
      expect(rejected.status).toBe(413)
      expect(rejected.body).toMatchObject({ error: 'Observation data too large', code: 'too_large' })
      expect((await held(place)) === valueWithSize(MAX_OBSERVATION_BYTES)).toBe(true)
      expect(await storedCounts()).toEqual(counts)
    },
  )

  it('may be both a span’s input and its output', { timeout: 20_000 }, async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const value = bytes(EMOJI, MAX_OBSERVATION_BYTES - 2)
    const span = aSpan({ trace_id, input: value, output: value, metadata: object(EMOJI, MAX_METADATA_BYTES) })
    expect((await org.ingest.post('/api/v1/spans', span)).status).toBe(202)
    const { input, output } = (await org.read.get(`/api/spans/${span.span_id}`)).body
    expect([input === value, output === value]).toEqual([true, true])
  })
})

describe('a body in escaped ASCII, which many JSON libraries send,', () => {
  const escaped = (body: object) =>
    JSON.stringify(body).replace(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

  it.for([
    [
      'a comment and a correction',
      'feedback',
      { comment: characters(EMOJI, MAX_COMMENT_LENGTH), correction: object(EMOJI, MAX_CORRECTION_BYTES) },
    ],
    [
      'a trace’s metadata',
      'trace',
      { name: characters(EMOJI, MAX_NAME_LENGTH), metadata: object(EMOJI, MAX_METADATA_BYTES) },
    ],
    [
      'a span’s metadata',
      'span',
      { step_id: characters(EMOJI, MAX_NAME_LENGTH), metadata: object(EMOJI, MAX_METADATA_BYTES) },
    ],
  ] as const)('has the same limits: %s', async ([, type, fields], { expect }) => {
    const { org, trace_id } = await newTrace()
    const body = { ...{ trace: aTrace(), span: aSpan(), feedback: aFeedback() }[type], trace_id, ...fields }
    const merged = { ...body, ...(type === 'trace' && { trace_id: aTrace().trace_id }) }
    const response = await org.ingest.post(PATHS[type], escaped(merged))
    expect(response.status, response.body.error).toBeLessThan(300)
  })

  it('has the same limits: content and a schema', async ({ expect }) => {
    const org = await newOrg()
    const fields = { content: bytes(EMOJI, MAX_CONTENT_BYTES), outputSchema: object(EMOJI, MAX_SCHEMA_BYTES) }
    expect((await org.owner.post('/api/prompts', escaped(aPrompt(fields)))).status).toBe(201)
  })
})

describe('an integer', () => {
  const createKey = ({ org }: Place, rateLimitPerMinute: number) =>
    org.owner.post('/api/api-keys', { name: 'x', scopes: ['read'], rateLimitPerMinute })

  it.for([
    [
      'trace: duration_ms',
      'duration_ms',
      0,
      Number.MAX_SAFE_INTEGER,
      ({ org }: Place, duration_ms: number) =>
        org.ingest.post('/api/v1/traces', aTrace({ status: 'completed', duration_ms })),
      async ({ org }: Place, { body }: ApiResponse) => (await org.read.get(`/api/traces/${body.id}`)).body.durationMs,
    ],
    [
      'span: duration_ms',
      'duration_ms',
      0,
      Number.MAX_SAFE_INTEGER,
      ({ org, trace_id }: Place, duration_ms: number) =>
        org.ingest.post('/api/v1/spans', aSpan({ trace_id, duration_ms })),
      async ({ org }: Place, { body }: ApiResponse) =>
        (await org.read.get(`/api/spans/${body.span_id}`)).body.durationMs,
    ],
    [
      'API key: rateLimitPerMinute',
      'rateLimitPerMinute',
      1,
      MAX_RATE_LIMIT_PER_MINUTE,
      createKey,
      async ({ org }: Place, { body }: ApiResponse) =>
        (await org.owner.get('/api/api-keys')).body.apiKeys.find(({ id }: { id: string }) => id === body.id)
          .rateLimitPerMinute,
    ],
    [
      'rotation: graceSeconds',
      'graceSeconds',
      0,
      MAX_ROTATION_GRACE_SECONDS,
      async (place: Place, graceSeconds: number) => {
        const { body } = await createKey(place, 1)
        const response = await place.org.owner.post(`/api/api-keys/${body.id}/rotate`, { graceSeconds })
        return { ...response, body: { ...response.body, oldId: body.id } }
      },
      async ({ org }: Place, { body }: ApiResponse) => {
        const keys: { id: string; revokedAt: string; createdAt: string }[] = (await org.owner.get('/api/api-keys')).body
          .apiKeys
        const revokedAt = keys.find(({ id }) => id === body.oldId)?.revokedAt ?? ''
        return (Date.parse(revokedAt) - Date.parse(body.createdAt)) / 1000
      },
    ],
  ] as const)('applies exact limits to %s', async ([, path, min, max, send, read], { expect }) => {
    const place = await newTrace()
    for (const value of [min, min + 1, max - 1, max]) {
      const response = await send(place, value)
      expect(response.status, response.body.error).toBeLessThan(300)
      expect(await read(place, response)).toBe(value)
    }
    for (const value of [min - 1, max + 1, min + 0.5]) {
      const rejected = await send(place, value)
      expect(rejected.status).toBe(400)
      expect(rejected.body.details).toEqual([{ path, message: expect.any(String) }])
      if (value === min - 1) expect(rejected.body.error).toContain(`at least ${min}`)
      if (value === max + 1)
        expect(rejected.body.error).toMatch(max === Number.MAX_SAFE_INTEGER ? /whole number/ : `${max}`)
    }
  })
})

describe('nesting', () => {
  const list = (depth: number): Json => (depth === 0 ? 1 : [list(depth - 1)])
  const tree = (depth: number): Json => (depth === 1 ? { a: 1 } : { a: tree(depth - 1) })

  it.for([
    ['observation: data', 'data', list, 'observation', async ({ span }: Place) => (await span()).output],
    ['span: input', 'input', list, 'span', async ({ read }: Place) => (await read()).spans[1].input],
    ['span: output', 'output', tree, 'span', async ({ read }: Place) => (await read()).spans[1].output],
    ['span: metadata', 'metadata', tree, 'span', async ({ read }: Place) => (await read()).spans[1].metadata],
    [
      'feedback: correction',
      'correction',
      tree,
      'feedback',
      async ({ read }: Place) => (await read()).feedback[0].correction,
    ],
    ['trace: metadata', 'metadata', tree, 'trace', async ({ read }: Place) => (await read()).metadata],
  ] as const)(
    'may be 128 levels deep in %s, sent by itself or in a batch',
    async ([, path, nested, type, held], { expect }) => {
      for (const send of ['by itself', 'in a batch']) {
        const place = await newTrace()
        const { org, trace_id, id } = place
        const bodyOf = (value: Json) => {
          const fields = { trace_id, [path]: value }
          if (type === 'trace')
            return { ...aTrace(fields), metadata: { group_id: 'x', customer: 'y', ...Object(value) } }
          if (type === 'span') return aSpan({ ...fields, span_id: id })
          return type === 'feedback' ? aFeedback({ ...fields, feedback_id: 'one' }) : anObservation(fields)
        }
        for (const depth of [MAX_JSON_DEPTH - 1, MAX_JSON_DEPTH]) {
          const body = bodyOf(nested(depth))
          const response =
            send === 'in a batch' ? await inBatch(org, type, body) : await org.ingest.post(PATHS[type], body)
          expect(response.status, response.body.error).toBeLessThan(300)
          expect(await held(place)).toMatchObject(Object(nested(depth)))
        }
        const deepest = JSON.stringify(await held(place))
        if (send === 'by itself') {
          const rejected = await org.ingest.post(PATHS[type], bodyOf(nested(MAX_JSON_DEPTH + 1)))
          expect(rejected.status).toBe(400)
          expect(rejected.body.details).toEqual([{ path, message: `nests deeper than ${MAX_JSON_DEPTH} levels` }])
        }
        expect(JSON.stringify(await held(place))).toBe(deepest)
      }
    },
  )

  it('may be 128 levels deep in a schema', async ({ expect }) => {
    const { org } = await newTrace()
    for (const depth of [MAX_JSON_DEPTH - 1, MAX_JSON_DEPTH]) {
      const { status, body } = await org.owner.post('/api/prompts', aPrompt({ outputSchema: tree(depth) }))
      expect(status).toBe(201)
      expect((await org.read.get(`/api/prompts/${body.id}`)).body.outputSchema).toEqual(tree(depth))
    }
    const rejected = await org.owner.post('/api/prompts', aPrompt({ outputSchema: tree(MAX_JSON_DEPTH + 1) }))
    expect(rejected.status).toBe(400)
    expect(rejected.body.details).toEqual([
      { path: 'outputSchema', message: `nests deeper than ${MAX_JSON_DEPTH} levels` },
    ])
  })
})

describe('a batch', () => {
  it('may contain at most 1,000 events', { timeout: 20_000 }, async ({ expect }) => {
    const { org, trace_id, id } = await newTrace()
    const events = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        type: 'observation',
        body: anObservation({ trace_id, type: 'input', data: index }),
      }))
    for (const count of [0, MAX_BATCH_EVENTS - 1, MAX_BATCH_EVENTS]) {
      const { status, body } = await org.ingest.post('/api/v1/batch', { events: events(count) })
      expect(status).toBe(207)
      expect(body.results.filter(({ status }: { status: number }) => status === 201)).toHaveLength(count)
    }
    const stored = (await org.read.get(`/api/traces/${id}`)).body.spans[0].input
    expect(stored).toHaveLength(2 * MAX_BATCH_EVENTS - 1)
    const counts = await storedCounts()
    const rejected = await org.ingest.post('/api/v1/batch', { events: events(MAX_BATCH_EVENTS + 1) })
    expect(rejected.status).toBe(400)
    expect(rejected.body.details).toEqual([{ path: 'events', message: `must have at most ${MAX_BATCH_EVENTS} events` }])
    expect(await storedCounts()).toEqual(counts)
  })
})

describe('searchable metadata', () => {
  const count = async (org: Org, path: string, value: string) =>
    (await org.ingest.get(`/api/v1/traces/search?${encodeURIComponent(path)}=${encodeURIComponent(value)}`)).body.count

  it.for([MAX_SEARCHABLE_FIELDS - 1, MAX_SEARCHABLE_FIELDS, MAX_SEARCHABLE_FIELDS + 1])(
    'includes the first 64 of %i values',
    async (leaves, { expect }) => {
      const org = await newOrg()
      const metadata = Object.fromEntries(Array.from({ length: leaves }, (_, index) => [`f${index}`, index]))
      const { body } = await org.ingest.post('/api/v1/traces', aTrace({ metadata }))
      expect(body.warnings?.length ?? 0).toBe(leaves > MAX_SEARCHABLE_FIELDS ? 1 : 0)
      expect(await count(org, `f${leaves - 1}`, String(leaves - 1))).toBe(leaves > MAX_SEARCHABLE_FIELDS ? 0 : 1)
      expect((await org.read.get(`/api/traces/${body.id}`)).body.metadata).toEqual(metadata)
    },
  )

  it.for(alphabets)('limits paths to 256 bytes, in %s', async ([, character], { expect }) => {
    const org = await newOrg()
    for (const [size, isSearchable] of [
      [MAX_FIELD_PATH_BYTES - 1, true],
      [MAX_FIELD_PATH_BYTES, true],
      [MAX_FIELD_PATH_BYTES + 1, false],
    ] as const) {
      const [outer, inner] = ['o', bytes(character, size - 2)]
      const metadata = { [outer]: { [inner]: size } }
      const { status, body } = await org.ingest.post('/api/v1/traces', aTrace({ metadata }))
      expect(status).toBe(202)
      expect(body.warnings ?? []).toEqual(
        isSearchable ? [] : [`metadata: values with a path over ${MAX_FIELD_PATH_BYTES} bytes are not searchable`],
      )
      expect(await count(org, `${outer}.${inner}`, String(size))).toBe(isSearchable ? 1 : 0)
      expect((await org.read.get(`/api/traces/${body.id}`)).body.metadata).toEqual(metadata)
    }
  })

  it.for(alphabets)(
    'may have values of any length, stored in at most 256 bytes, in %s',
    async ([, character], { expect }) => {
      const org = await newOrg()
      const values = [-1, 0, 1].map(more => bytes(character, MAX_FIELD_VALUE_BYTES + more))
      for (const value of values) await org.ingest.post('/api/v1/traces', aTrace({ metadata: { a: value } }))
      for (const value of values) expect(await count(org, 'a', value)).toBe(1)
      expect(await count(org, 'a', bytes(character, MAX_FIELD_VALUE_BYTES + 2))).toBe(0)
      const { results } = await stored
        .prepare(
          'select octet_length(value) as bytes from trace_fields f join projects p on p.key = f.project_key where p.id = ?',
        )
        .bind(org.project.id)
        .all<{ bytes: number }>()
      expect(results.map(({ bytes }) => bytes).sort((a, b) => a - b)).toEqual([
        71,
        MAX_FIELD_VALUE_BYTES - 1,
        MAX_FIELD_VALUE_BYTES,
      ])
    },
  )
})

describe('filters', () => {
  const names = Array.from({ length: MAX_SEARCH_FILTERS + 1 }, (_, index) => `f${index}`)
  const query = (count: number, prefix = '') =>
    names
      .slice(0, count)
      .map(name => `${prefix}${name}=1`)
      .join('&')

  it.for([
    ['the search', '/api/v1/traces/search?', '', 0],
    ['the search, including name and status', '/api/v1/traces/search?name=n&status=running&', '', 2],
    ['the trace list', '/api/traces?projectSlug=support&', 'metadata.', 0],
    [
      'the trace list, in addition to all other filters',
      `/api/traces?projectSlug=support&name=n&stepId=n&status=running&hasFeedback=false&from=${TIME}&to=${timeAfter(1)}&`,
      'metadata.',
      0,
    ],
  ] as const)('are limited to 10 in %s', async ([, path, prefix, others], { expect }) => {
    const org = await newOrg()
    const metadata = Object.fromEntries(names.map(name => [name, 1]))
    await org.ingest.post('/api/v1/traces', aTrace({ name: 'n', metadata }))
    const get = (count: number) => org.ingest.get(path + query(count - others, prefix))
    for (const count of [MAX_SEARCH_FILTERS - 1, MAX_SEARCH_FILTERS]) {
      const { status, body } = await get(count)
      expect(status).toBe(200)
      expect(body.traces).toHaveLength(1)
    }
    const rejected = await get(MAX_SEARCH_FILTERS + 1)
    expect(rejected.status).toBe(400)
    expect(rejected.body.error).toContain(`At most ${MAX_SEARCH_FILTERS}`)
  })
})

describe('a page', () => {
  const manyTraces = async (count: number) => {
    const org = await newOrg()
    const events = Array.from({ length: count }, () => ({ type: 'trace', body: aTrace() }))
    await org.ingest.post('/api/v1/batch', { events })
    return org
  }

  it('contains at most 100 search hits, even if the limit is higher', async ({ expect }) => {
    const org = await manyTraces(SEARCH_MAX_LIMIT + 1)
    const found = async (limit: string) =>
      (await org.ingest.get(`/api/v1/traces/search?name=support-answer${limit}`)).body.traces.length
    expect(await found('')).toBe(SEARCH_DEFAULT_LIMIT)
    for (const limit of [SEARCH_MAX_LIMIT - 1, SEARCH_MAX_LIMIT]) expect(await found(`&limit=${limit}`)).toBe(limit)
    for (const limit of [String(SEARCH_MAX_LIMIT + 1), '1000000000', '9'.repeat(400)]) {
      expect(await found(`&limit=${limit}`)).toBe(SEARCH_MAX_LIMIT)
    }
  })

  it('contains at most 200 traces', async ({ expect }) => {
    const org = await manyTraces(PAGE_MAX_LIMIT + 1)
    const get = (limit: string) => org.read.get(`/api/traces?projectSlug=support${limit}`)
    expect((await get('')).body.traces).toHaveLength(PAGE_DEFAULT_LIMIT)
    for (const limit of [PAGE_MAX_LIMIT - 1, PAGE_MAX_LIMIT]) {
      expect((await get(`&limit=${limit}`)).body.traces).toHaveLength(limit)
    }
  })

  it('contains at most 1,000 observations', { timeout: 20_000 }, async ({ expect }) => {
    const { org, trace_id } = await newTrace()
    const body = anObservation({ trace_id, type: 'input', data: 1 })
    const events = Array.from({ length: OBSERVATIONS_MAX_LIMIT }, () => ({ type: 'observation', body }))
    await org.ingest.post('/api/v1/batch', { events })
    await org.ingest.post('/api/v1/observations', body)
    const get = (limit: string) => org.ingest.get(`/api/v1/traces/${trace_id}/observations${limit}`)
    expect((await get('')).body.observations).toHaveLength(OBSERVATIONS_DEFAULT_LIMIT)
    for (const limit of [OBSERVATIONS_MAX_LIMIT - 1, OBSERVATIONS_MAX_LIMIT]) {
      expect((await get(`?limit=${limit}`)).body.observations).toHaveLength(limit)
    }
    expect((await get(`?limit=${OBSERVATIONS_MAX_LIMIT + 1}`)).body.error).toContain(`1 to ${OBSERVATIONS_MAX_LIMIT}`)
  })

  it.for([
    '/api/traces?projectSlug=support&',
    '/api/prompts?projectSlug=support&',
    '/api/knowledge-docs?projectSlug=support&',
    '/api/projects?',
    '/api/api-keys?',
    '/api/users?',
  ])('accepts a limit from 1 to 200: %s', async (path, { expect }) => {
    const org = await newOrg()
    for (const limit of [1, PAGE_MAX_LIMIT - 1, PAGE_MAX_LIMIT]) {
      expect((await org.read.get(`${path}limit=${limit}`)).status).toBe(200)
    }
    for (const limit of ['0', '-1', '', '1.5', '1e2', '٣', String(PAGE_MAX_LIMIT + 1)]) {
      const rejected = await org.read.get(`${path}limit=${encodeURIComponent(limit)}`)
      expect(rejected.status).toBe(400)
      expect(rejected.body.details).toEqual([
        { path: 'limit', message: `must be a whole number from 1 to ${PAGE_MAX_LIMIT}` },
      ])
    }
  })
})
