import { env } from 'cloudflare:workers'
import { beforeAll, describe, it } from 'vitest'
import { endpoints } from '../../src/app.ts'
import { SCOPES } from '../../src/domain/api-key.ts'
import { MAX_BODY_BYTES, MAX_BODY_DEPTH } from '../../src/limits.ts'
import { admin, client, newOrg, type Org, send } from '../support/org.ts'
import { methodOf, newWorld, sampleOf, type World } from '../support/samples.ts'
import { ORIGIN, visitor } from '../support/session.ts'

const named = endpoints.map(({ contract }) => [`${contract.method} ${contract.path}`, contract] as const)
// Exports have their own encoding, and test/otlp/ covers their order.
const withBody = named.filter(([, { body, family }]) => body !== undefined && family !== 'otlp')

let org: Org
let world: World
beforeAll(async () => {
  org = await newOrg()
  world = await newWorld(org)
})

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe.for(withBody)('%s', ([, contract]) => {
  const callerFor = () => {
    if (contract.scope === 'public') return visitor()
    return contract.scope === 'admin' ? admin() : contract.path.startsWith('/api/v1') ? org.ingest : org.owner
  }
  const post = (body: string, headers: Record<string, string> = {}) =>
    callerFor()[methodOf(contract)](sampleOf(contract).path(world), body, headers)
  const credentials = () => ({
    authorization: contract.scope === 'admin' ? `Bearer ${env.ADMIN_TOKEN}` : `Bearer ${org.projectKey}`,
    origin: ORIGIN,
  })

  it.for([
    ['malformed JSON', '{"a": }', 'Malformed JSON'],
    ['malformed JSON, with its position', '{"a" 1}', 'at character 5'],
    ['whitespace', ' ', 'Malformed JSON'],
    ['a list', '[]', 'The body must be a JSON object'],
    ['null', 'null', 'The body must be a JSON object'],
    ['a number', '7', 'The body must be a JSON object'],
    ['deep nesting', `{"metadata":${nested(1100)}}`, `is nested more than ${MAX_BODY_DEPTH} levels deep`],
  ] as const)('400s for %s', async ([, body, message], { expect }) => {
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(response.body.error).toContain(message)
    expect(response.body.code).toBe('invalid_request')
  })

  it('400s for bytes that are not UTF-8', async ({ expect }) => {
    const headers = credentials()
    const body = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])
    const url = `https://countersign.test${sampleOf(contract).path(world)}`
    const response = await send(new Request(url, { method: contract.method, headers, body }))
    expect(response.status).toBe(400)
    expect(response.body.error).toBe('The body is not valid UTF-8')
  })

  it('415s for a content type that is not JSON', async ({ expect }) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
      expect((await post('{}', { 'content-type': type })).status).toBe(415)
    }
    for (const type of ['application/json; charset=utf-8', 'application/problem+json', 'APPLICATION/JSON']) {
      expect((await post('{', { 'content-type': type })).status).toBe(400)
    }
  })

  it.for(['with content-length', 'chunked', 'chunked, with a wrong content-length'])(
    '413s past its limit, %s',
    async (how, { expect }) => {
      const limit = contract.maxBytes ?? MAX_BODY_BYTES
      const bytes = new TextEncoder().encode(`{"x":"${'x'.repeat(limit)}"}`)
      const headers: Record<string, string> = {
        ...credentials(),
        ...(how === 'with content-length' && { 'content-length': String(bytes.byteLength) }),
        ...(how.includes('wrong') && { 'content-length': '10' }),
      }
      // The content-length is enough to reject the body before any of it is read.
      const body = how === 'with content-length' ? '{' : new Blob([bytes]).stream()
      const url = `https://countersign.test${sampleOf(contract).path(world)}`
      const response = await send(new Request(url, { method: contract.method, headers, body }))
      expect(response.status).toBe(413)
      expect(response.body.error).toBe(contract.errors?.[413] ?? 'Request body too large')
    },
  )

  it('400s for a missing body if it needs one', async ({ expect }) => {
    const response = await post('')
    if (contract.body?.type === 'optional') expect(Object.keys(contract.responses)).toContain(String(response.status))
    else expect(response.body.error).toBe('The body is empty; a JSON object is required')
  })

  it('authenticates the caller before it reads the body', async ({ expect }) => {
    const nobody = client({})
    const { status } = await nobody[methodOf(contract)](sampleOf(contract).path(world), '{')
    // Signing in needs no key, but checks the origin of the page.
    expect(status).toBe(contract.scope === 'public' ? 403 : 401)
  })

  it('treats an unknown field as its interface specifies', async ({ expect }) => {
    const body = { ...sampleOf(contract).body?.(world), surprise: 1 }
    const response = await callerFor()[methodOf(contract)](sampleOf(contract).path(world), body)
    if (contract.path.startsWith('/api/v1/')) {
      expect(Object.keys(contract.responses)).toContain(String(response.status))
    } else {
      expect(response.status).toBe(400)
      expect(response.body.details).toEqual([{ path: 'surprise', message: 'is not recognized' }])
    }
  })
})

describe.for(named.filter(([, { query }]) => query && 'projectSlug' in query.entries))('%s', ([, contract]) => {
  it.for(['projectSlug=', 'projectId='])('400s for an empty selector: %s', async (selector, { expect }) => {
    const { pathname, searchParams } = new URL(sampleOf(contract).path(world), 'https://countersign.test')
    for (const name of ['projectSlug', 'projectId']) searchParams.delete(name)
    const path = `${pathname}?${searchParams}&${selector}`
    const response = await org.clientOf(world.reviewerKey).get(path)
    const read = response.status === 403 ? await org.read.get(path) : response
    expect(read.status).toBe(400)
    expect(read.body.error).toBe('projectSlug or projectId is required')
  })
})

describe.for(named.filter(([, { scope }]) => scope !== 'public' && scope !== 'admin'))('%s', ([, contract]) => {
  it('429s before it checks the body or the query, but after it checks the scope', async ({ expect }) => {
    const spent = async (scopes: readonly string[]) => {
      const key = client({
        'x-api-key': await org.keyFor({ scopes, rateLimitPerMinute: 1 }),
        'content-type': 'text/plain',
      })
      await key.get('/api/session')
      const path = contract.path.replace(/{\w+}/g, 'x')
      return key[methodOf(contract)](`${path}?a=1&a=2`, contract.method === 'GET' ? undefined : 'x'.repeat(1024))
    }
    expect((await spent(SCOPES)).status).toBe(429)
    const accepted: readonly string[] = typeof contract.scope === 'string' ? [contract.scope] : contract.scope
    const others = SCOPES.filter(scope => !accepted.includes(scope))
    if (others.length > 0) expect((await spent(others)).status).toBe(403)
  })
})

describe('any request', () => {
  it.for([
    ['GET', '/nope'],
    ['POST', '/api/v2/traces'],
    ['GET', '/api'],
    ['GET', '//api/traces'],
    ['OPTIONS', '/nope'],
  ] as const)('404s as JSON for %s %s', async ([method, path], { expect }) => {
    const response = await send(new Request(`https://countersign.test${path}`, { method }))
    expect(response.status).toBe(404)
    expect(response.body).toMatchObject({ error: 'Not found', code: 'not_found' })
    expect(response.body.requestId).toBe(response.headers.get('x-request-id'))
  })

  it('405s with the methods that the path supports, before it authenticates the caller', async ({ expect }) => {
    const response = await client({}).put('/api/v1/observations', {})
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST, OPTIONS')
    expect((await client({}).post('/api/traces', {})).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })

  it.for([
    ['/api/traces?projectSlug=support', 200],
    ['/api/traces', 400],
    ['/nope', 404],
    ['/api/v1/spans', 405],
  ] as const)('responds to HEAD %s with %i and no body', async ([path, status], { expect }) => {
    const url = `https://countersign.test${path}`
    const response = await send(new Request(url, { method: 'HEAD', headers: { 'x-api-key': org.ownerKey } }))
    expect(response.status).toBe(status)
    expect(response.body).toBeUndefined()
  })

  it('with a key may come from any origin', async ({ expect }) => {
    const preflight = await send(new Request('https://countersign.test/api/v1/traces', { method: 'OPTIONS' }))
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('x-project-slug')
    expect(preflight.headers.has('access-control-allow-credentials')).toBe(false)
  })

  it.for([
    ['a repeated parameter', '/api/traces?projectSlug=a&projectSlug=b', 'projectSlug'],
    ['an unknown parameter', '/api/traces?projectSlug=support&page=2', 'page'],
    ['a parameter named __proto__', '/api/traces?projectSlug=support&__proto__=1', '__proto__'],
    ['a parameter named constructor', '/api/traces?projectSlug=support&constructor=1', 'constructor'],
    ['a limit of 0', '/api/traces?projectSlug=support&limit=0', 'limit'],
    ['a limit over 200', '/api/traces?projectSlug=support&limit=201', 'limit'],
    ['a limit that is not a number', '/api/traces?projectSlug=support&limit=10abc', 'limit'],
    ['an invalid cursor', '/api/traces?projectSlug=support&cursor=abc', 'cursor'],
    ['a parameter on a call that accepts none', '/api/projects?typo=1', 'typo'],
    [
      'an unknown parameter on a call for a trace',
      '/api/traces/7c5be9e2-5a6a-4a35-b8c9-2f1d6a7f0c11?payload=preview',
      'payload',
    ],
    ['two project selectors', '/api/traces?projectSlug=support&projectId=1', 'projectId'],
  ] as const)('400s for %s', async ([, path, field], { expect }) => {
    const response = await org.read.get(path)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(field)
  })
})
