import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { endpoints } from '../../src/app.ts'
import { makeKey, makeToken } from '../../src/auth/keys.ts'
import type { Env } from '../../src/env.ts'
import { KEY_UNKNOWN_MS, LOOK_UP_PAUSE_MS, MAX_FAILED_LOOK_UPS, MAX_KEYLESS_CALLS } from '../../src/limits.ts'
import { addressOf } from '../../src/rate-limit/address.ts'
import { countingBindings } from '../support/bindings.ts'
import { databases } from '../support/database.ts'
import { type ApiResponse, client, newOrg } from '../support/org.ts'
import { methodOf } from '../support/samples.ts'
import { ORIGIN } from '../support/session.ts'

const LIST = '/api/traces?projectSlug=support'

/** An address that no other test uses. */
const anAddress = () => ({ 'cf-connecting-ip': `test-${crypto.randomUUID()}` })

const statusesOf = (responses: readonly ApiResponse[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const sequentially = async (count: number, callWithUnknownKey: () => Promise<ApiResponse>): Promise<ApiResponse[]> => {
  const responses: ApiResponse[] = []
  for (let index = 0; index < count; index++) responses.push(await callWithUnknownKey())
  return responses
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21) })
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds)

describe('unknown keys', () => {
  const callWithUnknownKey = async (address: object, bindings?: Env) =>
    client({ ...address, 'x-api-key': (await makeKey()).secret }, bindings).get(LIST)

  it('are looked up at most 60 times in a minute per address, and then 5 times a second', async ({ expect }) => {
    const address = anAddress()
    const { bindings, counts } = countingBindings()
    const responses = await sequentially(600, () => callWithUnknownKey(address, bindings))
    expect(statusesOf(responses)).toEqual({ 401: 65, 429: 535 })
    expect(counts.d1RoundTrips).toBe(65)
    const { headers, body } = responses[599] as ApiResponse
    expect(headers.get('retry-after')).toBe('10')
    expect(headers.get('ratelimit-policy')).toBe('"look-ups";q=60;w=60')
    expect(headers.get('ratelimit')).toBe('"look-ups";r=0;t=10')
    expect(body).toMatchObject({ error: 'Rate limit exceeded', code: 'rate_limited' })
    pass(1000)
    expect(statusesOf(await sequentially(20, () => callWithUnknownKey(address)))).toEqual({ 401: 5, 429: 15 })
  })

  it('are not looked up more often if requests are concurrent', async ({ expect }) => {
    const address = anAddress()
    const { bindings, counts } = countingBindings()
    await Promise.all(Array.from({ length: 300 }, () => callWithUnknownKey(address, bindings)))
    expect(counts.d1RoundTrips).toBe(65)
  })

  it('never block a known key, a new key that retries, or another address', async ({ expect }) => {
    const org = await newOrg()
    const address = anAddress()
    const known = client({ ...address, 'x-api-key': org.ownerKey })
    expect((await known.get(LIST)).status).toBe(200)
    await sequentially(100, () => callWithUnknownKey(address))
    expect((await known.get(LIST)).status).toBe(200)
    const fresh = client({ ...address, 'x-api-key': await org.keyFor({}) })
    expect((await fresh.get(LIST)).status).toBe(429)
    pass(1000)
    expect((await fresh.get(LIST)).status).toBe(200)
    expect((await client({ ...anAddress(), 'x-api-key': await org.keyFor({}) }).get(LIST)).status).toBe(200)
  })

  it('no longer count 10 seconds after the last attempt if the minute has ended', async ({ expect }) => {
    const address = anAddress()
    await sequentially(MAX_FAILED_LOOK_UPS - 1, () => callWithUnknownKey(address))
    pass(55_000)
    await sequentially(8, () => callWithUnknownKey(address))
    expect((await callWithUnknownKey(address)).status).toBe(429)
    pass(LOOK_UP_PAUSE_MS)
    expect(statusesOf(await sequentially(40, () => callWithUnknownKey(address)))).toEqual({ 401: 40 })
  })

  it('are not looked up again for 30 seconds', async ({ expect }) => {
    const { bindings, counts } = countingBindings()
    const key = client({ ...anAddress(), 'x-api-key': (await makeKey()).secret }, bindings)
    expect(statusesOf(await sequentially(200, () => key.get(LIST)))).toEqual({ 401: 200 })
    expect(counts.d1RoundTrips).toBe(1)
    pass(KEY_UNKNOWN_MS)
    expect((await key.get(LIST)).status).toBe(401)
    expect(counts.d1RoundTrips).toBe(2)
  })

  it('are counted even if they are malformed, but then need no query', async ({ expect }) => {
    const address = anAddress()
    const { bindings, counts } = countingBindings()
    const guess = () => client({ ...address, 'x-api-key': `cs_${'x'.repeat(5000)}` }, bindings).get(LIST)
    expect(statusesOf(await sequentially(100, guess))).toEqual({ 401: 65, 429: 35 })
    expect(counts.d1RoundTrips).toBe(0)
  })

  it('are counted on each endpoint that accepts a key, including exports', async ({ expect }) => {
    const address = anAddress()
    await sequentially(70, () => callWithUnknownKey(address))
    for (const { contract } of endpoints) {
      if (contract.scope === 'public') continue
      const guess = client({ ...address, authorization: `Bearer ${(await makeKey()).secret}` })
      const method = methodOf(contract)
      const path = contract.path.replace(/{\w+}/g, () => crypto.randomUUID())
      const response = await guess[method](path, method === 'get' ? undefined : {})
      expect(response.status, `${contract.method} ${contract.path}`).toBe(429)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    }
  })
})

describe('guessing a different secret', () => {
  it.for<[string, (address: Record<string, string>) => Promise<ApiResponse>]>([
    [
      'a session',
      async address => client({ ...address, cookie: `__Host-countersign=${(await makeToken()).secret}` }).get(LIST),
    ],
    [
      'the deployment’s admin token',
      address => client({ ...address, authorization: 'Bearer guess' }).post('/api/orgs', {}),
    ],
    [
      'a key to sign in with',
      async address =>
        client({ ...address, origin: ORIGIN }).post('/api/session', { apiKey: (await makeKey()).secret }),
    ],
    [
      'a sign-in link',
      async address =>
        client({ ...address, origin: ORIGIN }).post('/api/session', { link: (await makeToken()).secret }),
    ],
  ])('is limited: %s', async ([, guess], { expect }) => {
    const address = anAddress()
    expect(statusesOf(await sequentially(100, () => guess(address)))).toEqual({ 401: 65, 429: 35 })
  })

  it('does not block a caller who retries with the admin token', async ({ expect }) => {
    const address = anAddress()
    const make = (token: unknown) =>
      client({ ...address, authorization: `Bearer ${token}` }).post('/api/orgs', {
        slug: crypto.randomUUID(),
        name: 'Test',
      })
    await sequentially(100, () => make('guess'))
    expect((await make(env.ADMIN_TOKEN)).status).toBe(429)
    pass(1000)
    expect((await make(env.ADMIN_TOKEN)).status).toBe(201)
  })
})

describe('calls without a key that query the database', () => {
  it('are limited to 120 a minute per address', async ({ expect }) => {
    const address = anAddress()
    const { bindings, counts } = countingBindings()
    const probe = () => client(address, bindings).get('/readyz')
    expect(statusesOf(await sequentially(MAX_KEYLESS_CALLS + 20, probe))).toEqual({ 200: MAX_KEYLESS_CALLS, 429: 20 })
    expect(counts.d1RoundTrips).toBe(MAX_KEYLESS_CALLS * databases.length)
    pass(20_000)
    expect((await probe()).headers.get('retry-after')).toBe('40')
    expect((await client(anAddress()).get('/readyz')).status).toBe(200)
    pass(40_000)
    expect((await probe()).status).toBe(200)
  })

  it('never keep people behind a busy address from signing in', async ({ expect }) => {
    const address = anAddress()
    const org = await newOrg()
    const page = client({ ...address, origin: 'https://elsewhere.test' })
    for (const path of ['/readyz', '/api/session/organizations', '/api/session']) {
      await sequentially(MAX_KEYLESS_CALLS + 1, () => page.get(path))
    }
    await sequentially(MAX_KEYLESS_CALLS + 1, () => page.post('/api/session', { apiKey: org.ownerKey }))
    const { status } = await client({ ...address, origin: ORIGIN }).post('/api/session', { apiKey: org.ownerKey })
    expect(status).toBe(201)
  })

  it('are all limited, unlike calls that do not query it', ({ expect }) => {
    const open = endpoints.map(({ contract }) => contract).filter(({ scope }) => scope === 'public')
    const free = open.filter(({ isLimitedByAddress }) => !isLimitedByAddress).map(({ path }) => path)
    expect(free).toEqual(['/openapi.json', '/healthz'])
  })
})

describe('an address', () => {
  it.for<[string, string]>([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::6', '2001:db8:1:2'],
    ['2001:db8::6', '2001:db8:0:0'],
    ['2001:db8:1::5:6', '2001:db8:1:0'],
  ])('%s is counted as %s', ([ip, counted], { expect }) => {
    const request = new Request('https://countersign.test/', { headers: { 'cf-connecting-ip': ip } })
    expect(addressOf(request)).toBe(counted)
  })
})
