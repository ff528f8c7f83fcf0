import { evictDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, it, vi } from 'vitest'
import { wrapBindings } from '../support/bindings.ts'
import { aTrace } from '../support/builders.ts'
import { client, newOrg } from '../support/org.ts'
import { page, signIn } from '../support/session.ts'

describe('the rate limit', () => {
  it('admits exactly as many requests as the key’s limit, and reports when to retry', async ({ expect }) => {
    const org = await newOrg()
    const key = client({ 'x-api-key': await org.keyFor({ rateLimitPerMinute: 5 }) })
    const responses = await Promise.all(Array.from({ length: 12 }, () => key.post('/api/v1/traces', aTrace())))
    const admitted = responses.filter(({ status }) => status === 202)
    const rejected = responses.filter(({ status }) => status === 429)
    expect([admitted.length, rejected.length]).toEqual([5, 7])
    for (const { headers, body } of rejected) {
      expect(body).toMatchObject({ error: 'Rate limit exceeded', code: 'rate_limited' })
      expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(headers.get('ratelimit-policy')).toBe('"default";q=5;w=60')
      expect(headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/)
    }
    const left = admitted.map(({ headers }) => /r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    expect(left.sort()).toEqual(['0', '1', '2', '3', '4'])
  })

  it('covers both interfaces and all calls from the key’s sessions', async ({ expect }) => {
    const org = await newOrg()
    const secret = await org.keyFor({ rateLimitPerMinute: 4 })
    const key = client({ 'x-api-key': secret })
    const cookie = await signIn(secret)
    const responses = [
      await key.get('/api/traces?projectSlug=support'),
      await key.post('/api/v1/traces', aTrace()),
      await page(cookie).get('/api/session'),
      await page(cookie).get('/api/traces?projectSlug=support'),
    ]
    expect(responses.map(({ headers }) => headers.get('ratelimit')?.split(';')[1])).toEqual([
      'r=3',
      'r=2',
      'r=1',
      'r=0',
    ])
    for (const rejected of [
      await key.get('/api/v1/traces/search?name=a'),
      await page(cookie).get('/api/session'),
      await key.delete(`/api/traces/${crypto.randomUUID()}`),
    ]) {
      expect(rejected.status).toBe(429)
      expect(rejected.headers.get('ratelimit-policy')).toBe('"default";q=4;w=60')
    }
  })

  it('never reports a reset that is further away than its window, even if a token returns a second late', async ({
    expect,
  }) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21) })
    const org = await newOrg()
    const key = client({ 'x-api-key': await org.keyFor({ rateLimitPerMinute: 1 }) })
    const times = []
    for (let index = 0; index < 3; index++) {
      const { headers } = await key.get('/api/projects')
      times.push([headers.get('ratelimit'), headers.get('retry-after')])
    }
    vi.useRealTimers()
    expect(times).toEqual([
      ['"default";r=0;t=60', null],
      ['"default";r=0;t=60', '61'],
      ['"default";r=0;t=60', '61'],
    ])
  })

  it('defaults to the deployment’s limit if the key has none', async ({ expect }) => {
    const org = await newOrg()
    expect((await org.ingest.post('/api/v1/traces', aTrace())).headers.get('ratelimit-policy')).toContain('q=6000')
    const configured = org.bearer({ ...env, RATE_LIMIT_PER_MINUTE: '77' })
    expect((await configured.post('/api/v1/traces', aTrace())).headers.get('ratelimit-policy')).toContain('q=77')
    for (const RATE_LIMIT_PER_MINUTE of ['', '0', '-1', 'many', '6,000']) {
      const misconfigured = org.bearer({ ...env, RATE_LIMIT_PER_MINUTE })
      expect((await misconfigured.post('/api/v1/traces', aTrace())).headers.get('ratelimit-policy')).toContain('q=6000')
    }
  })

  it('counts a request before reading its body, and is reported even on a 400', async ({ expect }) => {
    const org = await newOrg()
    const response = await org.ingest.post('/api/v1/traces', '{')
    expect(response.status).toBe(400)
    expect(response.headers.get('ratelimit')).toContain('r=5999')
  })

  it('survives the eviction of its Durable Object', async ({ expect }) => {
    const org = await newOrg()
    const created = await org.owner.post('/api/api-keys', {
      name: 'x',
      projectSlug: 'support',
      scopes: ['ingest'],
      rateLimitPerMinute: 1,
    })
    const key = client({ 'x-api-key': created.body.key })
    expect((await key.post('/api/v1/traces', aTrace())).status).toBe(202)
    await evictDurableObject(env.RATE_LIMITER.get(env.RATE_LIMITER.idFromName(created.body.id)))
    expect((await key.post('/api/v1/traces', aTrace())).status).toBe(429)
  })

  it.for([
    ['fails', () => Promise.reject(new Error('Durable Object is overloaded.'))],
    ['hangs', () => new Promise<never>(() => {})],
  ] as const)('lets requests through while its Durable Object %s', async ([, fault], { expect }) => {
    const org = await newOrg()
    const bindings = wrapBindings((binding, call) => (binding === 'RATE_LIMITER' ? fault() : call()))
    const response = await org.bearer(bindings).post('/api/v1/traces', aTrace())
    expect(response.status).toBe(202)
    expect(response.headers.has('ratelimit')).toBe(false)
  })
})
