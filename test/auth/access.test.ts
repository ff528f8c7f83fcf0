import { env } from 'cloudflare:workers'
import { base64url, generateKeyPair, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { Env } from '../../src/env.ts'
import { KEY_FRESH_MS, KEY_STALE_MS, MAX_LISTED_MEMBERSHIPS } from '../../src/limits.ts'
import { newTeam, type Team } from '../support/access.ts'
import { countingBindings, failingFrom, wrapBindings } from '../support/bindings.ts'
import { aFeedback, aTrace } from '../support/builders.ts'
import { stored } from '../support/database.ts'
import { client, newOrg, type Org, send } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'
import { ORIGIN, signIn } from '../support/session.ts'

const OVERLOADED = 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'
const TRACES = '/api/traces?projectSlug=support'

let team: Team
let org: Org
let email: string
beforeEach(async () => {
  team = await newTeam()
  org = await newOrg()
  email = `ada-${crypto.randomUUID()}@example.com`
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const makeUser = async (org: Org): Promise<string> =>
  (await org.owner.post('/api/users', { email, name: 'Ada' })).body.id

const quietly = () => vi.spyOn(console, 'error').mockImplementation(() => {})

describe('a Cloudflare Access user', () => {
  it('signs in as the user with the same email and may read and review', async ({ expect }) => {
    const { org, spanId } = await newReviewed('Yes')
    const userId = await makeUser(org)
    const app = team.page(await team.token({ email: email.toUpperCase() }))
    const session = await app.get('/api/session')
    expect(session.status).toBe(200)
    expect(session.body).toMatchObject({
      organization: { id: org.id, slug: org.slug, name: 'Test' },
      project: null,
      projects: [{ slug: 'support' }],
      user: { id: userId, email, name: 'Ada' },
      key: null,
      actorId: userId,
      scopes: ['read', 'review'],
      actsAs: 'person',
      expiresAt: null,
    })
    expect((await app.post('/api/review-queue/claim', { spanIds: [spanId] })).body).toMatchObject({ claimed: [spanId] })
    const reviewed = await app.put(`/api/spans/${spanId}/review`, { decision: 'accept' })
    expect(reviewed.body.review).toMatchObject({ state: 'accepted', by: userId })
    const comment = await app.post(`/api/spans/${spanId}/feedback`, { content: 'Fine' })
    expect(comment.body.userId).toBe(userId)
    const { entries } = (await org.owner.get(`/api/audit-log?userId=${userId}`)).body
    expect(entries.map(({ action, actor }: { action: string; actor: object }) => [action, actor])).toEqual([
      ['comment.create', { keyId: null, userId }],
      ['review.accept', { keyId: null, userId }],
    ])
    expect((await app.get('/api/users')).status).toBe(403)
    expect((await app.post('/api/v1/traces', aTrace(), { 'x-project-slug': 'support' })).status).toBe(403)
    const link = await app.post('/api/sign-in-links')
    expect(link.status).toBe(403)
    expect(link.body.details[0].message).toContain('Cloudflare Access')
  })

  it('is also recognized by the Access cookie', async ({ expect }) => {
    await makeUser(org)
    const cookie = `a=b; CF_Authorization=${await team.token({ email })}`
    expect((await client({ cookie }, team.bindings).get(TRACES)).status).toBe(200)
  })

  it('gets the scopes in ACCESS_SCOPES, and unknown scopes are logged', async ({ expect }) => {
    await makeUser(org)
    const logged = quietly()
    const scopesWith = async (ACCESS_SCOPES: string) => {
      const app = team.page(await team.token({ email }), { ...team.bindings, ACCESS_SCOPES })
      const response = await app.get('/api/session')
      return response.status === 200 ? response.body.scopes : response.status
    }
    expect(await scopesWith('manage, read review')).toEqual(['manage', 'read', 'review'])
    expect(await scopesWith(' ')).toEqual(['read', 'review'])
    expect(logged).not.toHaveBeenCalled()
    expect(await scopesWith('read admin')).toEqual(['read'])
    expect(await scopesWith('everything')).toBe(403)
    expect(logged.mock.calls.join()).toContain('"words":"admin"')
  })

  it('is rate-limited per user', async ({ expect }) => {
    await makeUser(org)
    const limited = { ...team.bindings, RATE_LIMIT_PER_MINUTE: '2' }
    const app = team.page(await team.token({ email }), limited)
    const other = `kofi-${email}`
    await org.owner.post('/api/users', { email: other, name: 'Kofi' })
    const otherPage = team.page(await team.token({ email: other }), limited)
    const search = '/api/v1/traces/search?a=1'
    const header = { 'x-project-slug': 'support' }
    for (const status of [200, 200, 429]) expect((await app.get(search, undefined, header)).status).toBe(status)
    expect((await otherPage.get(search, undefined, header)).status).toBe(200)
  })

  it('has lower precedence than a key or a live session, but higher precedence than an ended session', async ({
    expect,
  }) => {
    await makeUser(org)
    const stranger = await newOrg()
    const token = await team.token({ email })
    const slugWith = async (headers: Record<string, string>) =>
      (await team.page(token, team.bindings, headers).get('/api/session')).body.organization?.slug
    const cookie = await signIn(stranger.ownerKey)
    expect(await slugWith({})).toBe(org.slug)
    expect(await slugWith({ 'x-api-key': stranger.ownerKey })).toBe(stranger.slug)
    expect(await slugWith({ cookie })).toBe(stranger.slug)
    expect((await client({ cookie, origin: ORIGIN }).delete('/api/session')).status).toBe(200)
    expect(await slugWith({ cookie })).toBe(org.slug)
    expect((await team.page(token, team.bindings, { 'x-api-key': 'cs_wrong' }).get(TRACES)).status).toBe(401)
  })

  it('cannot change anything from a page on another origin', async ({ expect }) => {
    await makeUser(org)
    const token = await team.token({ email })
    const spanIds = [crypto.randomUUID()]
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, {}]) {
      const forged = client({ 'cf-access-jwt-assertion': token, ...headers }, team.bindings)
      const response = await forged.post('/api/review-queue/claim', { spanIds })
      expect(response.status).toBe(403)
      expect(response.headers.has('access-control-allow-origin')).toBe(false)
    }
    expect((await team.page(token).post('/api/review-queue/claim', { spanIds })).status).toBe(200)
  })

  it('is rejected if the deployment has only some or none of the Access settings', async ({ expect }) => {
    await makeUser(org)
    const token = await team.token({ email })
    const { ACCESS_AUD, ...withoutAudience } = team.bindings
    const { ACCESS_TEAM_DOMAIN, ...withoutTeam } = team.bindings
    for (const bindings of [env, withoutAudience, withoutTeam, { ...team.bindings, ACCESS_AUD: '' }]) {
      expect((await team.page(token, bindings).get(TRACES)).status).toBe(401)
    }
    expect(team.keyRequests()).toBe(0)
    const withScheme = { ...team.bindings, ACCESS_TEAM_DOMAIN: `https://${ACCESS_TEAM_DOMAIN}/` }
    expect((await team.page(token, withScheme).get(TRACES)).status).toBe(200)
    expect(ACCESS_AUD).not.toBe('')
  })
})

describe('an email', () => {
  it('gets a 403 that quotes it if no user has it', async ({ expect }) => {
    const response = await team.page(await team.token({ email })).get(TRACES)
    expect(response.status).toBe(403)
    expect(response.body.details[0].message).toContain(email)
  })

  /** Creates a labeler with the email through a pipeline's feedback, and returns the labeler's user. */
  const labeler = async () => {
    const trace = aTrace()
    await org.ingest.post('/api/v1/traces', trace)
    const labeled = aFeedback({ trace_id: trace.trace_id, labeller: { email, name: 'Mallory' } })
    await org.ingest.post('/api/v1/feedback', labeled)
    return (await org.owner.get('/api/users')).body.users.find((each: { email: string }) => each.email === email)
  }

  it('grants no access if it belongs to a pipeline’s labeler, even if somebody creates keys for that user', async ({
    expect,
  }) => {
    const user = await labeler()
    const app = team.page(await team.token({ email }))
    expect((await app.get(TRACES)).status).toBe(403)
    const manager = org.clientOf(await org.keyFor({ scopes: ['manage', 'read'] }))
    const draft = { name: 'a', scopes: ['read'], projectSlug: 'support', userId: user.id }
    for (const by of [manager, org.owner]) expect((await by.post('/api/api-keys', draft)).status).toBe(201)
    expect((await manager.post('/api/users', { email, name: 'Mallory' })).status).toBe(403)
    expect((await manager.patch(`/api/users/${user.id}`, { name: 'Ada' })).status).toBe(403)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await app.get(TRACES)).status).toBe(403)
    expect((await app.get('/api/session', undefined, { 'x-org-slug': org.slug })).status).toBe(403)
  })

  it('grants access to a labeler once a manager of the whole organization confirms the user', async ({ expect }) => {
    const user = await labeler()
    expect((await org.owner.patch(`/api/users/${user.id}`, { name: 'Ada' })).status).toBe(200)
    const app = team.page(await team.token({ email }))
    expect((await app.get(TRACES)).status).toBe(403)
    expect(await makeUser(org)).toBe(user.id)
    expect((await app.get('/api/session')).body).toMatchObject({ actorId: user.id, user: { name: 'Ada' } })
  })

  it('grants no access 30 seconds after its user is deleted or gets a different email', async ({ expect }) => {
    const [first, second] = [await makeUser(org), `b-${email}`]
    const app = team.page(await team.token({ email }))
    const later = team.page(await team.token({ email: second }))
    expect((await app.get(TRACES)).status).toBe(200)
    await org.owner.patch(`/api/users/${first}`, { email: second })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await app.get(TRACES)).status).toBe(403)
    expect((await later.get(TRACES)).status).toBe(200)
    await org.owner.delete(`/api/users/${first}`)
    vi.setSystemTime(Date.now() + KEY_FRESH_MS + 1)
    expect((await later.get(TRACES)).status).toBe(403)
  })

  it('needs x-org-slug if users in several organizations have it, and the error says so', async ({ expect }) => {
    const second = await newOrg()
    const [userId] = [await makeUser(org), await makeUser(second)]
    const app = team.page(await team.token({ email }))
    const response = await app.get('/api/session')
    expect(response.status).toBe(401)
    expect(response.body).toMatchObject({ error: 'Not authenticated', details: [{ path: 'x-org-slug' }] })
    const { organizations } = (await app.get('/api/session/organizations')).body
    expect(organizations.toSorted()).toEqual(
      expect.arrayContaining([org, second].map(({ slug }) => ({ slug, name: 'Test' }))),
    )
    expect(organizations).toHaveLength(2)
    const named = await app.get('/api/session', undefined, { 'x-org-slug': org.slug })
    expect(named.body).toMatchObject({ organization: { slug: org.slug }, actorId: userId })
    const third = await newOrg()
    expect((await app.get('/api/session', undefined, { 'x-org-slug': third.slug })).status).toBe(403)
  })

  it('works for every user that has it, even in very many organizations', async ({ expect }) => {
    await makeUser(org)
    const many = MAX_LISTED_MEMBERSHIPS + 20
    const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})`
    const prefix = crypto.randomUUID()
    await stored.batch([
      stored
        .prepare(
          `insert into organizations (id, slug, name, created_at) ${numbers}
         select substr(?1, 1, 24) || printf('%012d', i), ?1 || i, 'A' || i, 0 from n`,
        )
        .bind(prefix),
      stored
        .prepare(
          `insert into users (organization_key, id, email, name, created_at, created_by)
         select key, id, ?1, '', 0, 'x' from organizations where slug like ?2 || '%'`,
        )
        .bind(email, prefix),
    ])
    const app = team.page(await team.token({ email }))
    expect((await app.get('/api/session/organizations')).body.organizations).toHaveLength(MAX_LISTED_MEMBERSHIPS)
    for (const slug of [org.slug, `${prefix}${many}`]) {
      expect((await app.get('/api/session', undefined, { 'x-org-slug': slug })).status).toBe(200)
    }
  })

  it('gets a 503 for the list of organizations if D1 is down', async ({ expect }) => {
    quietly()
    const DB = wrapBindings(failingFrom(1, OVERLOADED)).DB
    const unavailable = team.page(await team.token({ email }), { ...team.bindings, DB })
    expect((await unavailable.get('/api/session/organizations')).status).toBe(503)
  })

  it('gets the list of organizations only with a valid Access token', async ({ expect }) => {
    const path = '/api/session/organizations'
    await makeUser(org)
    expect((await team.page('x').get(path)).status).toBe(401)
    expect((await org.owner.get(path)).status).toBe(401)
    expect((await team.page(await team.token({ email }), env).get(path)).status).toBe(401)
    const nobody = await team.page(await team.token({ email: `nobody-${email}` })).get(path)
    expect(nobody).toMatchObject({ status: 200, body: { organizations: [] } })
    expect(nobody.headers.has('access-control-allow-origin')).toBe(false)
  })
})

describe('a token', () => {
  const HOUR = 3600
  const seconds = () => Math.floor(Date.now() / 1000)

  it.for([
    ['a different audience', { aud: 'another' }],
    ['no audience', { aud: undefined }],
    ['a different team', { iss: 'https://evil.cloudflareaccess.com' }],
    ['no issuer', { iss: undefined }],
    ['an expiry in the past', () => ({ exp: seconds() - 1 })],
    ['no expiry', { exp: undefined }],
    ['a start in the future', () => ({ nbf: seconds() + HOUR })],
    ['a service, which has no email', { email: undefined, common_name: 'service' }],
    ['an invalid email', { email: { $ne: '' } }],
    ['an empty email', { email: '' }],
  ] as const)('gives no access: %s', async ([, claims], { expect }) => {
    await makeUser(org)
    const changed = typeof claims === 'function' ? claims() : claims
    const response = await team.page(await team.token({ email, ...changed })).get(TRACES)
    expect(response.status).toBe(401)
    expect(response.body.error).toBe('Not authenticated')
  })

  it('gives no access if it was tampered with', async ({ expect }) => {
    await makeUser(org)
    const [header = '', payload = '', signature = ''] = (await team.token({ email: 'mallory@example.com' })).split('.')
    const claims = JSON.parse(new TextDecoder().decode(base64url.decode(payload)))
    const forgedPayload = base64url.encode(JSON.stringify({ ...claims, email }))
    const none = base64url.encode(JSON.stringify({ alg: 'none', kid: 'current' }))
    const flipped = (signature[10] === 'A' ? 'B' : 'A') + signature.slice(11)
    for (const token of [
      `${header}.${forgedPayload}.${signature}`,
      `${header}.${forgedPayload}.`,
      `${none}.${forgedPayload}.`,
      `${none}.${forgedPayload}.${signature}`,
      `${header}.${payload}.${signature.slice(0, 10)}${flipped}`,
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.${signature}`,
      'x',
      '..',
      '....',
      `${'x'.repeat(20_000)}.${payload}.${signature}`,
      `${base64url.encode('null')}.${payload}.${signature}`,
      `${base64url.encode('{"alg":"RS256","kid":"__proto__"}')}.${payload}.${signature}`,
      `${base64url.encode('{"alg":"RS256","crit":["b64"],"b64":false,"kid":"current"}')}.${payload}.${signature}`,
    ]) {
      expect((await team.page(token).get(TRACES)).status, token.slice(0, 60)).toBe(401)
    }
  })

  it('gives no access with a different signature', async ({ expect }) => {
    await makeUser(org)
    const other = await generateKeyPair('RS256')
    expect((await team.page(await team.token({ email }, { key: other.privateKey })).get(TRACES)).status).toBe(401)
    expect((await team.page(await team.token({ email }, { kid: 'unknown' })).get(TRACES)).status).toBe(401)
    // This token is signed with the public key as if it were a shared secret.
    const claims = JSON.parse(
      new TextDecoder().decode(base64url.decode((await team.token({ email })).split('.')[1] ?? '')),
    )
    const shared = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'current' })
      .sign(new TextEncoder().encode(team.publicText))
    expect((await team.page(shared).get(TRACES)).status).toBe(401)
    const elliptic = await generateKeyPair('ES256')
    const curved = await team.token({ email }, { alg: 'ES256', key: elliptic.privateKey })
    expect((await team.page(curved).get(TRACES)).status).toBe(401)
  })
})

describe('the Access keys', () => {
  it('are fetched once, and then at most every 30 seconds for tokens that name an unknown key', async ({ expect }) => {
    await makeUser(org)
    const app = team.page(await team.token({ email }))
    for (let index = 0; index < 3; index++) expect((await app.get(TRACES)).status).toBe(200)
    expect(team.keyRequests()).toBe(1)
    const unknown = team.page(await team.token({ email }, { kid: 'next' }))
    for (let index = 0; index < 3; index++) expect((await unknown.get(TRACES)).status).toBe(401)
    expect(team.keyRequests()).toBe(1)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 })
    for (let index = 0; index < 3; index++) expect((await unknown.get(TRACES)).status).toBe(401)
    expect(team.keyRequests()).toBe(2)
  })

  it.for([
    ['cannot be reached', () => Promise.reject(new TypeError('Network connection lost.'))],
    ['return an error', () => new Response('no', { status: 502 })],
    ['return a redirect', () => Response.redirect('https://evil.example/certs')],
    ['are not JSON', () => new Response('<html>')],
    ['have no list of keys', () => Response.json({ keys: 'none' })],
    ['are null', () => Response.json(null)],
  ] as const)('give a 503 if they %s, and the next request works again', async ([, respond], { expect }) => {
    quietly()
    await makeUser(org)
    const app = team.page(await team.token({ email }))
    team.respondWith(respond)
    const rejected = await app.get(TRACES)
    expect(rejected.status).toBe(503)
    expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    team.respondWith(null)
    expect((await app.get(TRACES)).status).toBe(200)
  })

  it('give a 503 if they do not arrive in time', async ({ expect }) => {
    quietly()
    await makeUser(org)
    vi.mocked(fetch).mockImplementation(
      (_, init) =>
        new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))),
    )
    const start = Date.now()
    expect((await team.page(await team.token({ email })).get(TRACES)).status).toBe(503)
    expect(Date.now() - start).toBeLessThan(4000)
  })
})

describe('while D1 is unreachable', () => {
  it('a known user keeps access for 10 minutes, and an unknown user gets a 503', async ({ expect }) => {
    const logged = quietly()
    await makeUser(org)
    const token = await team.token({ email, exp: Math.floor(Date.now() / 1000) + 7200 })
    const withAccess = ({ DB }: Env): Env => ({ ...team.bindings, DB })
    expect((await team.page(token, withAccess(wrapBindings(failingFrom(1, OVERLOADED)))).get(TRACES)).status).toBe(503)
    expect((await team.page(token).get(TRACES)).status).toBe(200)
    let isDown = false
    // Only the first call in each request, the lookup of the user, fails.
    const once = withAccess(
      wrapBindings(async (binding, call) => {
        if (isDown && binding === 'DB') {
          isDown = false
          throw new Error(OVERLOADED)
        }
        return call()
      }),
    )
    const list = () => {
      isDown = true
      return team.page(token, once).get(TRACES)
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect((await list()).status).toBe(200)
    vi.setSystemTime(Date.now() + KEY_STALE_MS)
    expect((await list()).status).toBe(503)
    expect(logged.mock.calls.join()).not.toContain(token)
    expect(logged.mock.calls.join()).not.toContain(email)
  })

  it('a user is looked up once and then remembered', async ({ expect }) => {
    await makeUser(org)
    const token = await team.token({ email })
    const costs: number[] = []
    for (let index = 0; index < 3; index++) {
      const { bindings, counts } = countingBindings()
      const headers = { 'cf-access-jwt-assertion': token }
      await send(new Request(`${ORIGIN}/api/session`, { headers }), { ...team.bindings, DB: bindings.DB })
      costs.push(counts.d1RoundTrips)
    }
    expect(costs).toEqual([2, 1, 1])
  })
})
