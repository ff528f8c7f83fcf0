import { beforeAll, describe, it } from 'vitest'
import { openApiDocument } from '../../src/api/openapi.ts'
import { endpoints } from '../../src/app.ts'
import { isJsonObject } from '../../src/domain/json.ts'
import { aFeedback, anObservation, aSpan, aTrace, TIME } from '../support/builders.ts'
import { type ApiResponse, admin, client, newOrg, type Org, send } from '../support/org.ts'
import { methodOf, newWorld, sampleOf, type World } from '../support/samples.ts'
import { storedCounts } from '../support/stored.ts'
import { newTrace } from '../support/trace.ts'

let world: World
let org: Org
beforeAll(async () => {
  org = await newOrg()
  world = await newWorld(org)
})

/** How the OpenAPI document describes a value. */
interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  required?: string[]
}

const WRONG = { null: null, boolean: true, number: 7, string: 'text', array: [], object: {} }
type Kind = keyof typeof WRONG

/** The kinds of JSON values that a schema allows, or an empty list if it allows all. */
function kindsOf({ type, const: constant, anyOf = [] }: Schema): string[] {
  const variants = anyOf.map(kindsOf)
  if (variants.some(kinds => kinds.length === 0)) return []
  if (variants.length > 0) return variants.flat()
  if (constant !== undefined) return [typeof constant]
  return type === undefined ? [] : [type === 'integer' ? 'number' : type]
}

interface BodyField {
  /** The field's path in error messages. */
  path: string
  /** Bodies that are valid except that the field's value has the wrong kind. */
  wrongs: (readonly [kind: string, body: object])[]
  /** The valid body without the field, if the field is required. */
  without: object | undefined
}

/** Every field in a body, and in its objects and lists. */
function fieldsOf(schema: Schema, base: object): BodyField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const allowed = kindsOf(field)
    const { [name]: _, ...without } = Object.fromEntries(Object.entries(base))
    const wrongKinds = Object.keys(WRONG).filter(kind => allowed.length > 0 && !allowed.includes(kind))
    const within = (path: string, wrap: (inner: object) => unknown, inner: BodyField[]) =>
      inner.map(each => ({
        path: `${path}.${each.path}`,
        wrongs: each.wrongs.map(([kind, value]) => [kind, { ...base, [name]: wrap(value) }] as const),
        without: each.without && { ...base, [name]: wrap(each.without) },
      }))
    const given = Reflect.get(base, name)
    const items = field.items
      ? fieldsOf({ properties: { 0: field.items } }, Array.isArray(given) ? { ...given } : {})
      : []
    return [
      {
        path: name,
        wrongs: wrongKinds.map(kind => [kind, { ...base, [name]: WRONG[kind as Kind] }] as const),
        without: schema.required?.includes(name) ? without : undefined,
      },
      ...within(
        name,
        inner => inner,
        (field.anyOf ?? [field]).flatMap(variant => fieldsOf(variant, isJsonObject(given) ? given : {})),
      ),
      ...within(name, inner => Object.values(inner), items),
    ]
  })
}

const document: {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
} = JSON.parse(JSON.stringify(openApiDocument(endpoints, { output: {}, input: {} })))

const EVENT_TYPES: Readonly<Record<string, string>> = {
  '/api/v1/traces': 'trace',
  '/api/v1/spans': 'span',
  '/api/v1/observations': 'observation',
  '/api/v1/feedback': 'feedback',
}

const contracts = endpoints
  .map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)
  .filter(([, { body }]) => body !== undefined)

/** The fields in every variant of a body. Each variant starts from a valid base. */
function variantsOf(path: string, method: string, base: object): BodyField[] {
  const schema = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json']?.schema ?? {}
  const differences = VARIANTS[`${method} ${path}`] ?? []
  if (!schema.oneOf) return fieldsOf(schema, base)
  return schema.oneOf.flatMap((variant, index) => fieldsOf(variant, { ...base, ...differences[index] }))
}

/** How each variant's base differs from the sample. */
const VARIANTS: Readonly<Record<string, readonly object[]>> = {
  'POST /api/v1/observations': [{ type: 'state', key: 'config' }, {}],
  'PUT /api/spans/{spanId}/review': [{}, { decision: 'accept', approvedOutput: undefined }],
}

function expectFault(
  expect: (value: unknown) => Chai,
  { status, body }: Pick<ApiResponse, 'status' | 'body'>,
  path: string,
) {
  expect([status, body.code, body.details]).toEqual([
    400,
    'invalid_request',
    [{ path, message: body.details?.[0].message }],
  ])
  expect(body.error).toBe(`${path}: ${body.details[0].message}`)
}
type Chai = { toEqual: (expected: unknown) => void; toBe: (expected: unknown) => void }

describe.for(contracts)('each field of %s', ([, contract]) => {
  const fields = () => variantsOf(contract.path, contract.method, sampleOf(contract).body?.(world) ?? {})
  const caller = () => (contract.scope === 'admin' ? admin() : org.owner)
  /** The response, or the first item's result if each item has a separate result. */
  const call = async (body: object): Promise<ApiResponse> => {
    const path = sampleOf(contract).path(world)
    const response = await caller()[methodOf(contract)](path, body, { 'x-project-slug': 'support' })
    return response.status === 207 ? response.body.results[0] : response
  }
  const type = EVENT_TYPES[contract.path]

  it('gets a 400 that names it if its value has the wrong type, and nothing is stored', async ({ expect }) => {
    const before = await storedCounts()
    for (const { path, wrongs } of fields()) {
      for (const [kind, body] of wrongs) {
        expectFault(value => expect(value, `${path} as ${kind}`), await call(body), path)
        if (!type) continue
        const { results } = (await org.ingest.post('/api/v1/batch', { events: [{ type, body }] })).body
        expectFault(value => expect(value, `${path} as ${kind}, in a batch`), results[0], `events.0.body.${path}`)
      }
    }
    expect(await storedCounts()).toEqual(before)
  })

  it('gets a 400 that names it if it is required and missing', async ({ expect }) => {
    const before = await storedCounts()
    for (const { path, without } of fields()) {
      if (!without) continue
      const response = await call(without)
      expectFault(value => expect(value, path), response, path)
      expect(response.body.details[0].message).toBe('is required')
      if (!type) continue
      const { results } = (await org.ingest.post('/api/v1/batch', { events: [{ type, body: without }] })).body
      expectFault(value => expect(value, `${path}, in a batch`), results[0], `events.0.body.${path}`)
    }
    expect(await storedCounts()).toEqual(before)
  })
})

describe('an invalid event', () => {
  it.for([
    ['null', null, 'events.0'],
    ['a number', 7, 'events.0'],
    ['a string', 'trace', 'events.0'],
    ['a list', [], 'events.0.type'],
    ['without a type', { body: {} }, 'events.0.type'],
    ['with an unknown type', { type: 'metric', body: {} }, 'events.0.type'],
    ['with a number as its type', { type: 1, body: {} }, 'events.0.type'],
    ['with the type __proto__', { type: '__proto__', body: {} }, 'events.0.type'],
    ['with the type constructor', { type: 'constructor', body: {} }, 'events.0.type'],
    ['without a body', { type: 'trace' }, 'events.0.body'],
    ['with null as its body', { type: 'feedback', body: null }, 'events.0.body'],
    ['with a string as its body', { type: 'span', body: 'x' }, 'events.0.body'],
  ] as const)('gets a 400 and does not affect other events: %s', async ([, event, path], { expect }) => {
    const valid = aTrace()
    const { status, body } = await org.ingest.post('/api/v1/batch', { events: [event, { type: 'trace', body: valid }] })
    expect(status).toBe(207)
    expect(body.results[0].status).toBe(400)
    expect(body.results[0].body.details[0].path).toBe(path)
    expect(body.results[1]).toMatchObject({ status: 202, body: { trace_id: valid.trace_id } })
  })

  it('gets errors with field paths, even for faults that are found only when the event is stored', async ({
    expect,
  }) => {
    const { org, trace_id, give } = await newTrace()
    const other = aTrace()
    await org.ingest.post('/api/v1/traces', other)
    await give({ feedback_id: 'mine' })
    const span = aSpan({ trace_id })
    await org.ingest.post('/api/v1/spans', span)
    const events = [
      { type: 'feedback', body: { trace_id: other.trace_id, feedback_id: 'mine' } },
      { type: 'span', body: { ...span, trace_id: other.trace_id } },
      { type: 'span', body: aSpan({ trace_id, prompt_version_id: crypto.randomUUID() }) },
    ]
    const { results } = (await org.ingest.post('/api/v1/batch', { events })).body
    const paths = results.map(({ status, body }: ApiResponse) => [status, body.details[0].path])
    expect(paths).toEqual([
      [409, 'events.0.body.feedback_id'],
      [409, 'events.1.body.span_id'],
      [422, 'events.2.body.prompt_version_id'],
    ])
  })
})

describe('the response to bad input', () => {
  it('never mistakes text in the body for the position of a JSON error', async ({ expect }) => {
    for (const body of [
      '{"a": position 99}',
      '{"a": at position 99 (line 1 column 100)}',
      '{"a": "x" at position 99',
    ]) {
      expect((await org.ingest.post('/api/v1/traces', body)).body.error).not.toContain('99')
    }
    expect((await org.ingest.post('/api/v1/traces', '{"a": 1,}')).body.error).toBe('Malformed JSON at character 8')
  })

  it('is short, even if there are many faults or the faults are long', async ({ expect }) => {
    const long = 'x'.repeat(7000)
    const responses = [
      await org.owner.post('/api/api-keys', { name: 'x', scopes: Array.from({ length: 50_000 }, () => 0) }),
      await org.read.get(`/api/traces?projectSlug=support&${long}=1&${long}=2`),
      await org.read.get(`/api/traces?projectSlug=support&${long}${long}=1`),
      await org.owner.post('/api/projects', { slug: 'x', name: 'X', ['y'.repeat(100_000)]: 1 }),
      await org.ingest.post(
        '/api/v1/observations',
        `{"trace_id":"trace_a","type":"input","timestamp":"${TIME}","data":{"${'z'.repeat(100_000)}":1e400}}`,
      ),
      await org.ingest.post('/api/v1/traces', `{"${'w'.repeat(100_000)}" 1}`),
    ]
    for (const { status, body } of responses) {
      expect(status).toBe(400)
      expect(JSON.stringify(body).length).toBeLessThan(4000)
    }
  })

  it('explains the problem with an empty field name', async ({ expect }) => {
    const responses = [
      await org.read.get('/api/traces?projectSlug=support&=1'),
      await org.owner.post('/api/projects', { slug: 'x', name: 'X', '': 1 }),
    ]
    for (const { status, body } of responses) {
      expect(status).toBe(400)
      expect(body.error).toContain('without a name')
    }
  })
})

describe('fields with the names of built-in properties', () => {
  const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'then', 'toJSON', '']
  /** This is parsed from JSON because __proto__ in an object literal sets the prototype, not a field. */
  const OBJECT = `{${NAMES.map(name => `"${name}":{"polluted":true}`).join()}}`

  const values: (readonly [
    string,
    (trace_id: string) => readonly [path: string, body: string],
    (id: string) => Promise<unknown>,
  ])[] = [
    [
      'a trace’s metadata',
      () => ['/api/v1/traces', withField(aTrace({ trace_id: 'trace_proto' }), 'metadata')],
      async () => {
        const { traces } = (await org.read.get('/api/traces?projectSlug=support')).body
        return traces.find(({ traceId }: { traceId: string }) => traceId === 'trace_proto').metadata
      },
    ],
    [
      'a span’s metadata',
      trace_id => ['/api/v1/spans', withField(aSpan({ trace_id }), 'metadata')],
      async id => (await detail(id)).spans[1].metadata,
    ],
    [
      'a span’s input',
      trace_id => ['/api/v1/spans', withField(aSpan({ trace_id }), 'input')],
      async id => (await detail(id)).spans[1].input,
    ],
    [
      'an observation’s data',
      trace_id => ['/api/v1/observations', withField(anObservation({ trace_id }), 'data')],
      async id => (await detail(id)).spans[0].output,
    ],
    [
      'a correction',
      trace_id => ['/api/v1/feedback', withField(aFeedback({ trace_id }), 'correction')],
      async id => (await detail(id)).feedback[0].correction,
    ],
    [
      'a schema',
      () => ['/api/prompts', withField({ projectSlug: 'support', stepId: 'proto', content: 'C' }, 'outputSchema')],
      async () => (await org.read.get('/api/prompts?projectSlug=support&stepId=proto')).body.prompts[0].outputSchema,
    ],
  ]
  const withField = (base: object, field: string) => `${JSON.stringify(base).slice(0, -1)},"${field}":${OBJECT}}`
  const detail = async (id: string) => (await org.read.get(`/api/traces/${id}`)).body

  it.for(values)('are returned unchanged in %s', async ([, request, read], { expect }) => {
    const trace = aTrace()
    const { id } = (await org.ingest.post('/api/v1/traces', trace)).body
    const [path, body] = request(trace.trace_id)
    expect((await org.ingest.post(path, body)).status).toBeLessThan(300)
    expect(JSON.stringify(await read(id))).toBe(OBJECT)
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  it('merge with other metadata, and keep their values from a completing call', async ({ expect }) => {
    const trace = aTrace({ metadata: {} })
    const call = (status: string, metadata: string) =>
      org.ingest.post(
        '/api/v1/traces',
        JSON.stringify({ ...trace, status }).replace('"metadata":{}', `"metadata":${metadata}`),
      )
    const { id } = (await call('running', '{"a":1,"__proto__":0,"constructor":0}')).body
    await call('completed', '{"__proto__":{"b":1}}')
    await call('running', '{"__proto__":2,"constructor":2}')
    expect(JSON.stringify((await detail(id)).metadata)).toBe('{"a":1,"__proto__":{"b":1},"constructor":2}')
    const found = await org.ingest.get('/api/v1/traces/search?__proto__.b=1&constructor=2&a=1')
    expect(found.body.count).toBe(1)
    expect((await org.read.get('/api/traces?projectSlug=support&metadata.__proto__.b=1')).body.traces).toHaveLength(1)
  })

  it('can be state keys', async ({ expect }) => {
    const { observe, span, org, trace_id } = await newTrace()
    const names = NAMES.filter(name => name !== '')
    for (const [index, key] of names.entries()) await observe({ type: 'state', key, data: index })
    const state = `{${names.map((name, index) => `"${name}":${index}`).join()}}`
    expect(JSON.stringify(Object.entries((await span()).state).sort())).toBe(
      JSON.stringify(Object.entries(JSON.parse(state)).sort()),
    )
    const { observations } = (await org.ingest.get(`/api/v1/traces/${trace_id}/observations`)).body
    expect(observations.map(({ key }: { key: string }) => key).sort()).toEqual(names.toSorted())
  })

  it.for(['__proto__', 'constructor', 'toString'])(
    'are treated as unknown fields in a body: %s',
    async (name, { expect }) => {
      const rejected = await org.owner.post('/api/projects', `{"slug":"x","name":"X","${name}":{"slug":"y"}}`)
      expect(rejected.body.details).toEqual([{ path: name, message: 'is not recognized' }])
      const trace = aTrace()
      const ignored = `${JSON.stringify(trace).slice(0, -1)},"${name}":{"name":"other"}}`
      const { status, body } = await org.ingest.post('/api/v1/traces', ignored)
      expect(status).toBe(202)
      expect((await detail(body.id)).name).toBe(trace.name)
      const { name: _, ...nameless } = trace
      const inherited = `${JSON.stringify(nameless).slice(0, -1)},"${name}":{"name":"other"}}`
      expect((await org.ingest.post('/api/v1/traces', inherited)).body.details[0].path).toBe('name')
    },
  )

  it.for([
    ['a status', '/api/v1/traces', aTrace({ status: '__proto__' }), 'status'],
    ['a type', '/api/v1/observations', anObservation({ type: 'constructor' }), 'type'],
    ['a rating', '/api/v1/feedback', aFeedback({ rating: 'toString' }), 'rating'],
    ['a scope', '/api/api-keys', { name: 'x', scopes: ['__proto__'] }, 'scopes.0'],
  ] as const)('are not valid as %s', async ([, path, body, field], { expect }) => {
    const response = await org.owner.post(path, body, { 'x-project-slug': 'support' })
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(field)
  })
})

/** Moves a row's status to second place, where the test titles expect it. */
const statusSecond = <Input>([name, input, status]: readonly [string, Input, number]) => [name, status, input] as const

describe('an odd query string', () => {
  const LONG = 'x'.repeat(7500)

  const searches = [
    ['nothing', '', 400],
    ['an empty name and value', '=', 200],
    ['only separators', '&&&', 400],
    ['a name without a value', 'a', 200],
    ['a NUL', '%00=%00', 200],
    ['a broken escape', '%zz=%', 200],
    ['escaped bytes that are not UTF-8', '%ff=%c3%28', 200],
    ['an escaped half of a surrogate pair', '%ed%a0%80=1', 200],
    ['a plus sign for a space', 'a+b=c+d', 200],
    ['a semicolon', 'a=1;b=2', 200],
    ['brackets', 'a[]=1&a[0]=2', 200],
    ['a parameter of 15 KB', `${LONG}=${LONG}`, 200],
    ['15 KB of parameters', Array.from({ length: 3000 }, (_, index) => `${index}=`).join('&'), 400],
    ['a repeated parameter, 15 KB in total', 'a&'.repeat(7500), 400],
    ['a repeated name, escaped in one place', 'a=1&%61=2', 400],
    ['a limit with a sign', 'a=1&limit=%2B5', 400],
    ['a limit with a space', 'a=1&limit=+5', 400],
    ['an empty limit', 'a=1&limit=', 400],
    ['a limit in non-ASCII digits', 'a=1&limit=٣', 400],
    ['an empty status', 'status=', 400],
  ] as const

  it.for(searches.map(statusSecond))('with %s gets a %i from the search', async ([, status, query], { expect }) => {
    const response = await org.ingest.get(`/api/v1/traces/search?${query}`)
    expect(response.status).toBe(status)
    if (status === 200) expect(response.body).toEqual({ traces: [], count: 0 })
    else expect(response.body).toMatchObject({ code: 'invalid_request', details: [{ message: expect.any(String) }] })
  })

  const lists = [
    ['an unknown name with a broken escape', 'projectSlug=support&%zz=1', 400],
    ['a NUL in a slug', 'projectSlug=support%00', 404],
    ['bytes that are not UTF-8 in a slug', 'projectSlug=%ff', 404],
    ['a NUL in a project id', 'projectId=%00', 404],
    ['a NUL in a name', 'projectSlug=support&name=%00', 200],
    ['a name of 15 KB', `projectSlug=support&name=${LONG}${LONG}`, 200],
    ['a cursor of 15 KB', `projectSlug=support&cursor=${LONG}${LONG}`, 400],
    ['a cursor with invalid characters', 'projectSlug=support&cursor=%00%ff%F0%9F%98%80', 400],
    ['an empty cursor', 'projectSlug=support&cursor=', 400],
    ['a metadata filter without a path', 'projectSlug=support&metadata.=1', 200],
    ['a metadata filter without a dot', 'projectSlug=support&metadata=1', 400],
    ['a name in a different case', 'projectslug=support', 400],
    ['separators around', '&&projectSlug=support&&', 200],
  ] as const

  it.for(lists.map(statusSecond))('with %s gets a %i from a list', async ([, status, query], { expect }) => {
    const response = await org.read.get(`/api/traces?${query}`)
    expect(response.status).toBe(status)
  })

  it('matches its filters verbatim', async ({ expect }) => {
    const metadata = { 'a+b': 'c+d', 'a b': 'c d', 'é😀': '%zz', '&=': '&=', '\u0000': '\u0000', '': '' }
    const { org } = await newTrace()
    await org.ingest.post('/api/v1/traces', aTrace({ metadata }))
    for (const [name, value] of Object.entries(metadata)) {
      const query = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
      expect((await org.ingest.get(`/api/v1/traces/search?${query}`)).body.count).toBe(1)
      expect((await org.read.get(`/api/traces?projectSlug=support&metadata.${query}`)).body.traces).toHaveLength(1)
    }
    expect((await org.ingest.get('/api/v1/traces/search?a+b=c+d')).body.count).toBe(1)
  })

  it('is accepted by endpoints that read no parameters', async ({ expect }) => {
    expect((await org.ingest.post('/api/v1/traces?a=1&a=2', aTrace())).status).toBe(202)
    for (const path of ['/healthz?a=1&a=2', '/openapi.json?v=1&v=2'])
      expect((await client({}).get(path)).status).toBe(200)
    const { traceId } = world
    expect((await org.ingest.get(`/api/v1/traces/${traceId}/observations?a=1&a=2`)).status).toBe(200)
    expect((await org.ingest.get(`/api/v1/traces/${traceId}/observations?limit=1&limit=2`)).status).toBe(400)
  })
})

describe('an odd path', () => {
  const LONG = 'x'.repeat(15_000)

  const paths: (readonly [name: string, path: () => string, status: number])[] = [
    ['a trailing slash', () => '/api/traces/?projectSlug=support', 200],
    ['a trailing slash after an id', () => `/api/traces/${world.id}/`, 200],
    ['a double slash', () => '/api//traces?projectSlug=support', 404],
    ['an escaped slash between segments', () => `/api/traces%2F${world.id}`, 404],
    ['an escaped slash in an id', () => `/api/traces/%2F${world.id}`, 404],
    [
      'an escaped letter in an id',
      () => `/api/traces/${world.id.replace(/^./, first => `%${first.charCodeAt(0).toString(16)}`)}`,
      200,
    ],
    ['an escaped space after an id', () => `/api/traces/${world.id}%20`, 404],
    ['a NUL in an id', () => '/api/traces/%00', 404],
    ['a broken escape in an id', () => '/api/traces/%zz', 404],
    ['bytes that are not UTF-8 in an id', () => '/api/traces/%ff', 404],
    ['parent directories', () => `/api/prompts/../traces/${world.id}`, 200],
    ['escaped dots', () => '/api/traces/%2e%2e%2ftraces', 404],
    ['a different case', () => '/API/traces?projectSlug=support', 404],
    ['an id of 15 KB', () => `/api/traces/${LONG}`, 404],
    ['an id named __proto__', () => '/api/traces/__proto__', 404],
    ['a path named __proto__', () => '/api/__proto__', 404],
    ['a path parameter in place of the id', () => '/api/traces/:traceId', 404],
    ['a semicolon', () => `/api/traces/${world.id};a=1`, 404],
  ]

  it.for(paths.map(statusSecond))('with %s gets a %i', async ([, status, path], { expect }) => {
    const response = await org.read.get(path())
    expect(response.status).toBe(status)
    if (status === 404) expect(response.body).toMatchObject({ error: 'Not found', code: 'not_found' })
  })

  it.for(['%2F', '%00', '%zz', 'abc', 'trace_', 'trace_%2F', 'trace_a%0A', 'trace_😀', 'Trace_a', LONG])(
    '400s for the trace_id %s',
    async (traceId, { expect }) => {
      const response = await org.ingest.get(`/api/v1/traces/${traceId}/observations`)
      expect(response.status).toBe(400)
      expect(response.body.details[0].path).toBe('trace_id')
    },
  )

  it.for(['%00', '%zz', '__proto__', 'constructor', '%2F', '%F0%9F%98%80'])(
    '404s for the organization %s',
    async (slug, { expect }) => {
      expect((await admin().post(`/api/orgs/${slug}/api-keys`, {})).status).toBe(404)
    },
  )

  it.for(['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])('405s for the method %s', async (method, { expect }) => {
    const response = await send(new Request('https://countersign.test/api/traces', { method }))
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })
})

describe('odd headers', () => {
  it.for([
    ['an empty key', { 'x-api-key': '' }, 401],
    ['a key of 15 KB', { 'x-api-key': 'x'.repeat(15_000) }, 401],
    ['a bearer without a key', { authorization: 'Bearer ' }, 401],
    ['a different scheme', { authorization: 'Basic YTpi' }, 401],
    ['a key named __proto__', { 'x-api-key': '__proto__' }, 401],
  ] as const)('get a 401 for %s', async ([, headers, status], { expect }) => {
    const response = await client({ ...headers }).get('/api/traces?projectSlug=support')
    expect(response.status).toBe(status)
    expect(response.body.error).toBe('Not authenticated')
  })

  it.for(['', '__proto__', 'x'.repeat(15_000), 'support '.repeat(2)])(
    'get a 404 for the x-project-slug %o',
    async (slug, { expect }) => {
      const response = await org.owner.post('/api/v1/traces', aTrace(), { 'x-project-slug': slug })
      expect(response.status).toBe(404)
      expect(response.body.error).toBe('Project not found')
    },
  )
})
