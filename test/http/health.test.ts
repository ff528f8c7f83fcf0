import { env } from 'cloudflare:workers'
import { describe, it } from 'vitest'
import type { Env } from '../../src/env.ts'
import { STORE_DEADLINE_MS } from '../../src/limits.ts'
import { failing, type Intercept, wrapBindings } from '../support/bindings.ts'
import { databases } from '../support/database.ts'
import { send } from '../support/org.ts'

const get = (path: string, bindings?: Env, init?: RequestInit) =>
  send(new Request(`https://countersign.test${path}`, init), bindings)

/** Bindings that record every call and never respond. */
function silentBindings(): { bindings: Env; called: string[] } {
  const called: string[] = []
  const bindings = wrapBindings(binding => {
    called.push(binding)
    return new Promise(() => {})
  })
  return { bindings, called }
}

const OK = { status: 200, body: { status: 'ok' } }
const UNAVAILABLE = {
  status: 503,
  body: { error: 'Temporarily unavailable; please retry', code: 'unavailable' },
}

describe('/healthz', () => {
  it('responds without calling any dependency', async ({ expect }) => {
    const { bindings, called } = silentBindings()
    expect(await get('/healthz', bindings)).toMatchObject(OK)
    expect(called).toEqual([])
  })

  it.for<[string, HeadersInit]>([
    ['no credentials', {}],
    ['an invalid key', { 'x-api-key': 'cs_none' }],
    ['an unknown organization', { 'x-org-slug': 'nope' }],
  ])('responds with %s', async ([, headers], { expect }) => {
    const response = await get('/healthz', env, { headers })
    expect(response).toMatchObject(OK)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-request-id')).toEqual(expect.any(String))
  })
})

describe.for(['/healthz', '/readyz'])('%s', path => {
  it('accepts HEAD and any query, but no other method', async ({ expect }) => {
    expect(await get(path, env, { method: 'HEAD' })).toMatchObject({ status: 200, body: undefined })
    expect(await get(`${path}?probe=1`)).toMatchObject(OK)
    const response = await get(path, env, { method: 'POST', body: '{}' })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })
})

describe('/readyz', () => {
  it('responds after one call per database if all databases are reachable and migrated', async ({ expect }) => {
    const called: string[] = []
    const bindings = wrapBindings((binding, call) => {
      called.push(binding)
      return call()
    })
    expect(await get('/readyz', bindings)).toMatchObject(OK)
    expect(called).toEqual(databases.map(() => 'DB'))
  })

  it('survives one lost connection', async ({ expect }) => {
    const bindings = wrapBindings(failing('DB', 'D1_ERROR: Network connection lost.', 1))
    expect(await get('/readyz', bindings)).toMatchObject(OK)
  })

  it.for([
    'D1_ERROR: Network connection lost.',
    'D1_ERROR: D1 DB is overloaded. Requests queued for too long.',
    'D1_ERROR: no such table: sweeps: SQLITE_ERROR',
    'D1_ERROR: an unknown message',
  ])(
    'returns a 503 with Retry-After if D1 fails with %o, and does not reveal the message',
    async (message, { expect }) => {
      const response = await get('/readyz', wrapBindings(failing('DB', message, Number.POSITIVE_INFINITY)))
      expect(response).toMatchObject(UNAVAILABLE)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      const { requestId, ...shown } = response.body
      expect([requestId, shown]).toEqual([expect.any(String), UNAVAILABLE.body])
    },
  )

  it('returns a 503 while a table is missing, and then recovers', async ({ expect }) => {
    await env.DB.exec('alter table sweeps rename to sweeps_away')
    try {
      const response = await get('/readyz')
      expect(response).toMatchObject(UNAVAILABLE)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    } finally {
      await env.DB.exec('alter table sweeps_away rename to sweeps')
    }
    expect(await get('/readyz')).toMatchObject(OK)
  })

  it('returns a 503 in bounded time if D1 never responds', async ({ expect }) => {
    const { bindings, called } = silentBindings()
    const begin = Date.now()
    const response = await get('/readyz', bindings)
    expect(response).toMatchObject(UNAVAILABLE)
    expect(Date.now() - begin).toBeLessThan(STORE_DEADLINE_MS + 500)
    expect(called.length).toBeGreaterThan(0)
  }, 10_000)

  it.for<[string, Intercept]>([
    ['the storage', failing('PAYLOADS', 'down', 99)],
    ['the limiter', failing('RATE_LIMITER', 'down', 99)],
    ['the queue', failing('JOBS', 'down', 99)],
  ])('does not depend on %s', async ([, intercept], { expect }) => {
    expect(await get('/readyz', wrapBindings(intercept))).toMatchObject(OK)
  })
})
