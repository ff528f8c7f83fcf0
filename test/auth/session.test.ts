import { afterEach, beforeAll, describe, it, vi } from 'vitest'
import { sha256Hex } from '../../src/domain/hash.ts'
import { KEY_FRESH_MS, SESSION_SECONDS } from '../../src/limits.ts'
import { countingBindings, failing, failingFrom, wrapBindings } from '../support/bindings.ts'
import { aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { client, newOrg, type Org, REVIEWER_EMAIL, send } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { cookieIn, ORIGIN, page, signIn, visitor } from '../support/session.ts'
import { anExport, anExportedSpan } from '../support/telemetry.ts'

const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'
const TRACES = '/api/traces?projectSlug=support'

let org: Org
beforeAll(async () => {
  org = await newOrg()
  org.userId = (await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Ada' })).body.id
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const secretIn = (cookie: string): string => cookie.slice(cookie.indexOf('=') + 1)

/** Advances the clock, so that the cache is empty or stale, as in another isolate. */
const later = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms })

const newLink = async (key: string, body?: object): Promise<string> =>
  (await client({ 'x-api-key': key }).post('/api/sign-in-links', body)).body.token

describe('signing in with a key', () => {
  it('sets a cookie that no script can read and no other site can send, and stores only its hash', async ({
    expect,
  }) => {
    const response = await visitor().post('/api/session', { apiKey: org.projectKey })
    expect(response.status).toBe(201)
    const [value = '', ...attributes] = (response.headers.get('set-cookie') ?? '').split('; ')
    expect(value).toMatch(/^__Host-countersign=[0-9A-Za-z]{32}$/)
    expect(attributes).toEqual(['Path=/', 'Max-Age=43200', 'HttpOnly', 'SameSite=Strict', 'Secure'])
    expect(response.headers.has('access-control-allow-origin')).toBe(false)
    const { results } = await stored
      .prepare('select * from sessions where hash = ?')
      .bind(await sha256Hex(secretIn(value)))
      .all()
    expect(results).toHaveLength(1)
    expect(JSON.stringify(results)).not.toContain(secretIn(value))
    expect(JSON.stringify(response.body)).not.toContain(secretIn(value))
  })

  it('uses a cookie name that browsers accept without https on localhost', async ({ expect }) => {
    const request = (method: string, headers: Record<string, string>, body?: object) =>
      new Request('http://localhost:8787/api/session', {
        method,
        headers: { origin: 'http://localhost:8787', 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      })
    const response = await send(request('POST', {}, { apiKey: org.projectKey }))
    expect(response.headers.get('set-cookie')).toMatch(
      /^countersign=\w{32}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect((await send(request('GET', { cookie: cookieIn(response) }))).status).toBe(200)
    // Over https, another host on the domain could have set a cookie with this name, so it's ignored.
    expect((await page(cookieIn(response)).get('/api/session')).status).toBe(401)
  })

  it('returns who is signed in, and what they may do and see', async ({ expect }) => {
    const apiKey = await org.keyFor({ name: 'Of Ada', userId: org.userId, scopes: ['review', 'read'] })
    const response = await visitor().post('/api/session', { apiKey })
    const project = { id: org.project.id, slug: 'support', name: 'Support' }
    const session = {
      organization: { id: org.id, slug: org.slug, name: 'Test' },
      project,
      projects: [project],
      user: { id: org.userId, email: REVIEWER_EMAIL, name: 'Ada', adjudicator: false },
      key: { id: expect.any(String), name: 'Of Ada', prefix: apiKey.slice(0, 8) },
      actorId: org.userId,
      scopes: ['read', 'review'],
      actsAs: 'person',
      expiresAt: expect.any(String),
    }
    expect(response.body).toEqual(session)
    const left = Date.parse(response.body.expiresAt) - Date.now()
    expect(Math.abs(left - 1000 * SESSION_SECONDS)).toBeLessThan(20_000)
    const read = await page(cookieIn(response)).get('/api/session')
    expect(read.body).toEqual(response.body)
    expect(read.headers.has('access-control-allow-origin')).toBe(false)
    const withKey = await client({ 'x-api-key': apiKey }).get('/api/session')
    expect(withKey.body).toEqual({ ...session, expiresAt: null })
  })

  it('returns every project to an owner key, with the key itself as the actor', async ({ expect }) => {
    const other = await newOrg()
    await other.owner.post('/api/projects', { slug: 'archive', name: 'Archive' })
    const { body } = await other.owner.get('/api/session')
    expect(body).toMatchObject({ project: null, user: null, actorId: body.key.id })
    expect(body.projects.map(({ slug }: { slug: string }) => slug)).toEqual(['archive', 'support'])
  })

  it.for([
    ['an unknown key', { apiKey: 'cs_000000000000000000000000' }, 401],
    ['no token at all', { link: 'short' }, 401],
    ['an unknown link', { link: 'x'.repeat(32) }, 401],
    ['both', { apiKey: 'cs_000000000000000000000000', link: 'x'.repeat(32) }, 400],
    ['neither', {}, 400],
    ['an invalid key', { apiKey: { $ne: '' } }, 400],
  ] as const)('fails with %s', async ([, body, status], { expect }) => {
    const response = await visitor().post('/api/session', body)
    expect(response.status).toBe(status)
    if (status === 401) expect(response.body.error).toBe('Not authenticated')
    expect(response.headers.has('set-cookie')).toBe(false)
  })

  it('accepts neither a session as a key nor a key as a session', async ({ expect }) => {
    const cookie = await signIn(org.projectKey)
    expect((await page(cookie).get(TRACES)).status).toBe(200)
    expect((await client({ 'x-api-key': secretIn(cookie) }).get(TRACES)).status).toBe(401)
    expect((await page(`__Host-countersign=${org.projectKey}`).get(TRACES)).status).toBe(401)
    expect((await visitor().post('/api/session', { apiKey: secretIn(cookie) })).status).toBe(401)
  })
})

describe('a sign-in link', () => {
  it('signs a browser in with its key, but only once', async ({ expect }) => {
    const link = await newLink(org.projectKey)
    const first = await visitor().post('/api/session', { link })
    expect(first.status).toBe(201)
    expect(first.body.key.prefix).toBe(org.projectKey.slice(0, 8))
    expect((await page(cookieIn(first)).get(TRACES)).status).toBe(200)
    expect((await visitor().post('/api/session', { link })).status).toBe(401)
  })

  it('signs in only one browser if many open it at the same time', async ({ expect }) => {
    const link = await newLink(org.projectKey)
    const responses = await Promise.all(Array.from({ length: 12 }, () => visitor().post('/api/session', { link })))
    const statuses = responses.map(({ status }) => status).toSorted()
    expect(statuses).toEqual([201, ...Array.from({ length: 11 }, () => 401)])
    expect(responses.filter(({ headers }) => headers.has('set-cookie'))).toHaveLength(1)
  })

  it('expires after 15 minutes by default', async ({ expect }) => {
    const created = await client({ 'x-api-key': org.projectKey }).post('/api/sign-in-links')
    expect(Math.abs(Date.parse(created.body.expiresAt) - Date.now() - 900_000)).toBeLessThan(20_000)
    expect(created.body.token).toMatch(/^\w{32}$/)
    later(900_001)
    expect((await visitor().post('/api/session', { link: created.body.token })).status).toBe(401)
  })

  it.for([59, 3601, 90.5, '900'])('cannot last %s seconds', async (expiresInSeconds, { expect }) => {
    const response = await client({ 'x-api-key': org.projectKey }).post('/api/sign-in-links', { expiresInSeconds })
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe('expiresInSeconds')
  })

  it('cannot be created by a session, because a session could then renew itself', async ({ expect }) => {
    const response = await page(await signIn(org.projectKey)).post('/api/sign-in-links')
    expect(response).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    expect(response.body.details[0].message).toContain('session')
  })

  it('stops working once its key is revoked', async ({ expect }) => {
    const key = await org.keyFor({})
    const link = await newLink(key)
    await revoke(key)
    const response = await visitor().post('/api/session', { link })
    expect(response.status).toBe(401)
    expect(response.headers.has('set-cookie')).toBe(false)
  })

  it('works even if D1’s response is lost, because the retry recognizes the first attempt', async ({ expect }) => {
    const link = await newLink(org.projectKey)
    const bindings = wrapBindings(failing('DB', 'D1_ERROR: Network connection lost.', 1, 'after'))
    expect((await visitor(bindings).post('/api/session', { link })).status).toBe(201)
    expect((await visitor().post('/api/session', { link })).status).toBe(401)
  })
})

async function revoke(key: string): Promise<void> {
  const { body } = await client({ 'x-api-key': key }).get('/api/session')
  await org.owner.delete(`/api/api-keys/${body.key.id}`)
}

describe('the audit log', () => {
  /** Audit entries for a key's sessions and links, oldest first. */
  const actsOf = async (keyId: string) => {
    const { entries } = (await org.owner.get(`/api/audit-log?targetId=${keyId}&limit=200`)).body
    const acts: { action: string }[] = entries.toReversed()
    return acts.filter(({ action }) => action !== 'api_key.create')
  }

  it('records who signed in and out with which key, and who created a link', async ({ expect }) => {
    const apiKey = await org.keyFor({ userId: org.userId })
    const keyId = (await client({ 'x-api-key': apiKey }).get('/api/session')).body.key.id
    const known = { actor: { keyId, userId: org.userId }, projectId: org.project.id, targetId: keyId }
    const linked = await client({ 'x-api-key': apiKey }).post('/api/sign-in-links')
    const { token: link } = linked.body
    const begun = await visitor().post('/api/session', { apiKey })
    const replaced = await page(cookieIn(begun)).post('/api/session', { link })
    const ended = await page(cookieIn(replaced)).delete('/api/session')
    // The session has ended and the link has been used, so neither call adds an entry.
    await page(cookieIn(replaced)).delete('/api/session')
    await visitor().post('/api/session', { link })
    const expected = (
      [
        ['sign_in_link.create', linked],
        ['session.begin', begun],
        ['session.begin', replaced],
        ['session.end', replaced],
        ['session.end', ended],
      ] as const
    ).map(([action, { headers }]) => ({ action, requestId: headers.get('x-request-id'), ...known }))
    const acts = await actsOf(keyId)
    expect(acts).toHaveLength(expected.length)
    expect(acts).toEqual(expect.arrayContaining(expected.map(each => expect.objectContaining(each))))
  })

  it.for(['POST', 'DELETE'] as const)(
    'adds one entry for a %s, even if D1’s response was lost',
    async (method, { expect }) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const apiKey = await org.keyFor({})
      const keyId = (await client({ 'x-api-key': apiKey }).get('/api/session')).body.key.id
      const bindings = wrapBindings(failing('DB', 'D1_ERROR: Network connection lost.', 1, 'after'))
      if (method === 'POST') expect((await visitor(bindings).post('/api/session', { apiKey })).status).toBe(201)
      else expect((await page(await signIn(apiKey), bindings).delete('/api/session')).status).toBe(200)
      const actions = (await actsOf(keyId)).map(({ action }) => action)
      expect(actions).toEqual(method === 'POST' ? ['session.begin'] : ['session.begin', 'session.end'])
    },
  )

  it('adds no round trips', async ({ expect }) => {
    const { bindings, counts } = countingBindings()
    const cookie = cookieIn(await visitor(bindings).post('/api/session', { apiKey: org.projectKey }))
    // The calls write the session, look it up, and read its identity. The key is cached.
    expect(counts.d1RoundTrips).toBe(3)
    await page(cookie, bindings).delete('/api/session')
    expect(counts.d1RoundTrips).toBe(4)
  })
})

describe('a session', () => {
  it('acts as its key on both interfaces, with the key’s scopes, project, and user', async ({ expect }) => {
    const { org, spanId } = await newReviewed('Yes')
    const userId = (await org.owner.post('/api/users', { email: REVIEWER_EMAIL, name: 'Ada' })).body.id
    const apiKey = await org.keyFor({ scopes: ['read', 'review'], userId })
    const app = page(await signIn(apiKey))
    const reviewed = await app.put(`/api/spans/${spanId}/review`, { decision: 'accept' })
    expect(reviewed.body.review).toMatchObject({ state: 'accepted', by: userId })
    expect((await app.get('/api/v1/traces/search?group_id=session-1')).status).toBe(200)
    expect((await app.post('/api/v1/traces', aTrace())).status).toBe(403)
    expect((await app.get('/api/users')).status).toBe(403)
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    expect((await app.get('/api/traces?projectSlug=other')).status).toBe(403)
    const log = await org.owner.get(`/api/audit-log?action=review.accept&targetId=${spanId}`)
    const { key } = (await app.get('/api/session')).body
    expect(log.body.entries).toMatchObject([{ actor: { keyId: key.id, userId } }])
  })

  it('shares its key’s rate limit', async ({ expect }) => {
    const apiKey = await org.keyFor({ rateLimitPerMinute: 2 })
    const app = page(await signIn(apiKey))
    expect((await app.get('/api/v1/traces/search?a=1')).status).toBe(200)
    expect((await client({ 'x-api-key': apiKey }).get('/api/v1/traces/search?a=1')).status).toBe(200)
    expect((await app.get('/api/v1/traces/search?a=1')).status).toBe(429)
  })

  it('cannot export telemetry', async ({ expect }) => {
    const app = page(await signIn(org.ownerKey))
    const headers = { 'x-project-slug': 'support' }
    for (const path of ['/v1/traces', '/api/v1/otel/v1/traces', '/api/public/otel/v1/traces']) {
      expect((await app.post(path, anExport([anExportedSpan()]), headers)).status, path).toBe(401)
    }
    expect((await app.post('/api/v1/traces', aTrace(), headers)).status).toBe(202)
  })

  it('has lower precedence than a key in a header', async ({ expect }) => {
    const cookie = await signIn(org.projectKey)
    const stranger = await newOrg()
    const both = client({ cookie, 'x-api-key': stranger.ownerKey })
    expect((await both.get('/api/session')).body.organization.slug).toBe(stranger.slug)
    expect((await client({ cookie, 'x-api-key': 'cs_wrong' }).get('/api/session')).status).toBe(401)
    expect((await client({ cookie, authorization: 'Bearer cs_wrong' }).get('/api/session')).status).toBe(401)
    // Other credentials in the header, such as a proxy's password, don't hide the session.
    expect((await client({ cookie, authorization: 'Basic Y3M6Y3M=' }).get('/api/session')).status).toBe(200)
  })

  it('is rejected if x-org-slug is another organization’s', async ({ expect }) => {
    const app = page(await signIn(org.projectKey))
    expect((await app.get(TRACES, undefined, { 'x-org-slug': 'another' })).status).toBe(401)
    expect((await app.get(TRACES, undefined, { 'x-org-slug': org.slug })).status).toBe(200)
  })

  it.for([
    ['alone', (cookie: string) => cookie],
    ['among others', (cookie: string) => `a=1; x__Host-countersign=2;${cookie}; b="__Host-countersign=3"`],
  ] as const)('is found in a cookie header %s', async ([, around], { expect }) => {
    expect((await page(around(await signIn(org.projectKey))).get(TRACES)).status).toBe(200)
  })

  it.for(['', '=', '__Host-countersign', '__Host-countersign=', '__Host-countersign=%00', ';;;', '__proto__=1'])(
    'is not found in the cookie header %j',
    async (cookie, { expect }) => {
      expect((await page(cookie).get(TRACES)).status).toBe(401)
    },
  )
})

describe('a session ends', () => {
  it('immediately on sign-out, which removes the cookie', async ({ expect }) => {
    const app = page(await signIn(org.projectKey))
    const { key } = (await app.get('/api/session')).body
    const response = await app.delete('/api/session')
    expect(response.status).toBe(200)
    expect(response.body).toEqual({ id: key.id })
    expect(response.headers.get('set-cookie')).toBe(
      '__Host-countersign=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
    )
    expect((await app.get(TRACES)).status).toBe(401)
    expect(await app.delete('/api/session')).toMatchObject({ status: 200, body: { id: key.id } })
  })

  it('when the same browser signs in again', async ({ expect }) => {
    const before = await signIn(org.ownerKey)
    const response = await page(before).post('/api/session', { apiKey: org.ownerKey })
    expect(response.status).toBe(201)
    expect((await page(before).get('/api/session')).status).toBe(401)
    expect((await page(cookieIn(response)).get('/api/session')).status).toBe(200)
  })

  it('on sign-out, which also works without a session', async ({ expect }) => {
    for (const caller of [visitor(), page(`__Host-countersign=${'x'.repeat(32)}`), page('__Host-countersign=odd')]) {
      const response = await caller.delete('/api/session')
      expect(response).toMatchObject({ status: 200, body: { id: null } })
      expect(response.headers.get('set-cookie')).toContain('Max-Age=0')
    }
  })

  it('within 30 seconds of a sign-out elsewhere', async ({ expect }) => {
    const cookie = await signIn(org.projectKey)
    await stored
      .prepare('update sessions set revoked_at = 1 where hash = ?')
      .bind(await sha256Hex(secretIn(cookie)))
      .run()
    expect((await page(cookie).get(TRACES)).status).toBe(200)
    later(KEY_FRESH_MS + 1)
    expect((await page(cookie).get(TRACES)).status).toBe(401)
  })

  it('within 30 seconds after its key is revoked', async ({ expect }) => {
    const key = await org.keyFor({})
    const cookie = await signIn(key)
    await revoke(key)
    later(KEY_FRESH_MS + 1)
    expect((await page(cookie).get(TRACES)).status).toBe(401)
  })

  it('after exactly 12 hours', async ({ expect }) => {
    const cookie = await signIn(org.projectKey)
    await page(cookie).get(TRACES)
    later(1000 * SESSION_SECONDS + 1)
    expect((await page(cookie).get(TRACES)).status).toBe(401)
  })

  it('when its key expires', async ({ expect }) => {
    const expiresAt = new Date(Date.now() + 60_000).toISOString()
    const response = await visitor().post('/api/session', { apiKey: await org.keyFor({ expiresAt }) })
    expect(response.body.expiresAt).toBe(expiresAt)
    later(60_001)
    expect((await page(cookieIn(response)).get(TRACES)).status).toBe(401)
  })
})

describe('a page on another origin', () => {
  const tried = [
    ['another site', { origin: 'https://evil.example' }],
    ['a different host on the domain', { origin: 'https://evil.countersign.test' }],
    ['a different port', { origin: 'https://countersign.test:8443' }],
    ['the same host without https', { origin: 'http://countersign.test' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['a page that sends neither Origin nor Sec-Fetch-Site', {}],
    ['another site, without Origin', { 'sec-fetch-site': 'cross-site' }],
    ['a different host on the domain, without Origin', { 'sec-fetch-site': 'same-site' }],
    ['a typed address', { 'sec-fetch-site': 'none' }],
    ['another site that claims the same origin', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
  ] as const

  it.for(tried)('cannot change anything with its visitor’s cookie: %s', async ([, headers], { expect }) => {
    const cookie = await signIn(org.ownerKey)
    const forged = client({ cookie, ...headers })
    const before = (await org.owner.get('/api/users')).body
    const slug = `forged-${crypto.randomUUID()}`
    for (const response of [
      await forged.post('/api/users', { email: 'forged@example.com', name: 'Forged' }),
      await forged.post('/api/projects', { slug, name: 'Forged' }),
      await forged.patch(`/api/projects/${org.project.id}`, { name: 'Forged' }),
      await forged.post('/api/v1/traces', aTrace(), { 'x-project-slug': 'support' }),
      await forged.post('/api/sign-in-links'),
      await forged.delete('/api/session'),
      await forged.post('/api/session', { apiKey: org.projectKey }),
    ]) {
      expect(response.status).toBe(403)
      expect(response.body.details[0].message).toContain('Origin')
      expect(response.headers.has('set-cookie')).toBe(false)
    }
    expect((await org.owner.get('/api/users')).body).toEqual(before)
    expect((await page(cookie).get('/api/session')).status).toBe(200)
  })

  it('is recognized by Sec-Fetch-Site if there is no Origin', async ({ expect }) => {
    const own = client({ cookie: await signIn(org.projectKey), 'sec-fetch-site': 'same-origin' })
    const spanIds = [crypto.randomUUID()]
    expect((await own.post('/api/review-queue/claim', { spanIds })).status).toBe(200)
    expect((await own.delete('/api/session')).status).toBe(200)
  })

  it('may send GET and HEAD requests, because browsers hide the responses from it', async ({ expect }) => {
    const cookie = await signIn(org.projectKey)
    for (const method of ['GET', 'HEAD']) {
      const headers = { cookie, origin: 'https://evil.example' }
      const response = await send(new Request(`${ORIGIN}${TRACES}`, { method, headers }))
      expect(response.status).toBe(200)
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
      expect(response.headers.has('access-control-allow-credentials')).toBe(false)
    }
  })

  it('may call the API with its own key', async ({ expect }) => {
    const cookie = await signIn(org.projectKey)
    const elsewhere = client({ cookie, origin: 'https://tool.example', 'x-api-key': org.projectKey })
    const response = await elsewhere.post('/api/v1/traces', aTrace())
    expect(response.status).toBe(202)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
  })

  it('gets no CORS permission for session paths', async ({ expect }) => {
    for (const path of ['/api/session', '/api/session/']) {
      const response = await send(new Request(`${ORIGIN}${path}`, { method: 'OPTIONS' }))
      expect(response.status).toBe(204)
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
    }
  })
})

describe('while D1 is unreachable', () => {
  const unavailable = () => wrapBindings(failingFrom(1, OVERLOADED))

  it('a known session keeps working, and an unknown one gets a 503', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const seen = await signIn(org.projectKey)
    const unseen = `__Host-countersign=${'u'.repeat(32)}`
    await page(seen).get(TRACES)
    let isDown = true
    const once = wrapBindings(async (binding, call) => {
      if (binding === 'DB' && isDown) {
        isDown = false
        throw new Error(OVERLOADED)
      }
      return call()
    })
    later(KEY_FRESH_MS + 1)
    expect((await page(seen, once).get(TRACES)).status).toBe(200)
    expect((await page(unseen, unavailable()).get(TRACES)).status).toBe(503)
  })

  it('signing in and out fails, but no response claims that anyone is signed out', async ({ expect }) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const cookie = await signIn(org.projectKey)
    const link = await newLink(org.projectKey)
    for (const response of [
      await visitor(unavailable()).post('/api/session', { link }),
      await visitor(unavailable()).post('/api/session', { apiKey: org.projectKey }),
      await visitor(unavailable()).post('/api/session', { apiKey: await org.keyFor({}) }),
      await page(cookie, unavailable()).delete('/api/session'),
      await client({ 'x-api-key': org.projectKey }, unavailable()).post('/api/sign-in-links'),
    ]) {
      expect(response.status).toBe(503)
      expect(response.headers.has('set-cookie')).toBe(false)
    }
    expect((await page(cookie).get(TRACES)).status).toBe(200)
    expect((await visitor().post('/api/session', { link })).status).toBe(201)
  })

  it('no secret is logged', async ({ expect }) => {
    const lines: string[] = []
    for (const level of ['log', 'error', 'warn', 'info'] as const) {
      vi.spyOn(console, level).mockImplementation((...parts) => void lines.push(parts.join(' ')))
    }
    const cookie = await signIn(org.projectKey)
    const link = await newLink(org.projectKey)
    await visitor(unavailable()).post('/api/session', { link })
    await visitor(unavailable()).post('/api/session', { apiKey: org.projectKey })
    await page(cookie, unavailable()).delete('/api/session')
    await page(`__Host-countersign=${'v'.repeat(32)}`, unavailable()).get(TRACES)
    expect(lines.length).toBeGreaterThan(0)
    for (const secret of [secretIn(cookie), link, org.projectKey, 'v'.repeat(32)]) {
      expect(lines.join('\n')).not.toContain(secret)
      expect(lines.join('\n')).not.toContain(await sha256Hex(secret))
    }
  })
})
