import { afterEach, describe, it, vi } from 'vitest'
import { SCOPES } from '../../src/domain/api-key.ts'
import { sha256Hex } from '../../src/domain/hash.ts'
import { KEY_FRESH_MS } from '../../src/limits.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { keysIn, listed, newKey, rotate, setTime, statusFor } from '../support/keys.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { page, signIn } from '../support/session.ts'

afterEach(() => {
  vi.useRealTimers()
})

const LOST = 'D1_ERROR: Network connection lost.'
const LIST = '/api/traces?projectSlug=support'

describe('an API key', () => {
  it('keeps the fields it was created with, and shows its secret once', async ({ expect }) => {
    const org = await newOrg()
    const user = (await org.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
    const fields = {
      name: 'CI',
      scopes: ['read', 'ingest', 'read'],
      projectSlug: 'support',
      expiresAt: new Date(Date.now() + 60_000).toISOString(),
      rateLimitPerMinute: 7,
      userId: user.id.toUpperCase(),
    }
    const { status, body } = await org.owner.post('/api/api-keys', fields)
    expect(status).toBe(201)
    const { key, ...shown } = body
    expect(shown).toEqual({
      id: expect.any(String),
      prefix: key.slice(0, 8),
      name: 'CI',
      scopes: ['ingest', 'read'],
      actsAs: 'pipeline',
      projectId: org.project.id,
      expiresAt: fields.expiresAt,
      revokedAt: null,
      replacedBy: null,
      rateLimitPerMinute: 7,
      userId: user.id,
      createdAt: expect.any(String),
    })
    expect(await listed(org, shown.id)).toEqual(shown)
  })

  it('is stored as a SHA-256 hash, and no list shows it', async ({ expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org)
    const rotated = (await rotate(org, id)).body
    const list = JSON.stringify(await org.owner.get('/api/api-keys'))
    for (const secret of [key, rotated.key, org.ownerKey, org.projectKey]) {
      expect(secret).toMatch(/^cs_[0-9A-Za-z]{24}$/)
      expect(list).not.toContain(secret.slice(8))
      const { results } = await stored
        .prepare('select * from api_keys where hash = ?')
        .bind(await sha256Hex(secret))
        .all()
      expect(results).toHaveLength(1)
    }
    // No column of any row contains the secret.
    const { results } = await stored.prepare('select * from api_keys').all()
    for (const secret of [key, rotated.key]) expect(JSON.stringify(results)).not.toContain(secret.slice(8))
  })

  it.for([
    ['no name', { name: undefined }, 'name'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['read', 'admin'] }, 'scopes.1'],
    ['an expiry in the past', { expiresAt: '2020-01-01T00:00:00.000Z' }, 'expiresAt'],
    ['an expiry that is not a time', { expiresAt: '2099-02-30T00:00:00.000Z' }, 'expiresAt'],
    ['a limit of 0', { rateLimitPerMinute: 0 }, 'rateLimitPerMinute'],
    ['a limit that is not an integer', { rateLimitPerMinute: 1.5 }, 'rateLimitPerMinute'],
    ['a limit above the maximum', { rateLimitPerMinute: 1_000_001 }, 'rateLimitPerMinute'],
    ['a user that is not a UUID', { userId: 'ada' }, 'userId'],
    ['an unknown actor', { actsAs: 'robot' }, 'actsAs'],
    ['a typo', { projectslug: 'support' }, 'projectslug'],
  ] as const)('400s for %s', async ([, fields, path], { expect }) => {
    const org = await newOrg()
    const response = await org.owner.post('/api/api-keys', { name: 'x', scopes: ['read'], ...fields })
    expect(response).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect(await keysIn(org)).toHaveLength(2)
  })

  it('accepts null for optional fields, as in responses', async ({ expect }) => {
    const org = await newOrg()
    const nothing = { projectSlug: null, userId: null, expiresAt: null, rateLimitPerMinute: null }
    const response = await org.owner.post('/api/api-keys', { name: 'x', scopes: ['read'], ...nothing })
    expect(response).toMatchObject({ status: 201, body: { projectId: null, userId: null, expiresAt: null } })
  })

  it('404s for an unknown project and 422s for an unknown user', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    await otherOrg.owner.post('/api/projects', { slug: 'theirs', name: 'Theirs' })
    const foreign = (await otherOrg.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body.id
    const draft = { name: 'x', scopes: ['read'] }
    for (const projectSlug of ['nope', 'theirs']) {
      expect((await org.owner.post('/api/api-keys', { ...draft, projectSlug })).status).toBe(404)
    }
    for (const userId of [crypto.randomUUID(), foreign]) {
      const response = await org.owner.post('/api/api-keys', { ...draft, userId })
      expect(response).toMatchObject({ status: 422, body: { details: [{ path: 'userId' }] } })
    }
  })

  it('grants no scope and no project that the calling key lacks', async ({ expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const narrow = client({ 'x-api-key': await org.keyFor({ scopes: ['manage', 'read'] }) })
    const draft = { name: 'x', scopes: ['read'], projectSlug: 'support' }
    expect((await narrow.post('/api/api-keys', draft)).status).toBe(201)
    for (const fields of [
      { scopes: ['ingest'] },
      { scopes: ['read', 'review'] },
      { projectSlug: 'other' },
      { projectSlug: undefined },
    ]) {
      expect((await narrow.post('/api/api-keys', { ...draft, ...fields })).status).toBe(403)
    }
  })

  it.for(['before', 'after'] as const)(
    'is created once, even if D1’s response is lost, %s the commit',
    async (when, { expect }) => {
      const org = await newOrg()
      const owner = org.clientOf(org.ownerKey, wrapBindings(failing('DB', LOST, 1, when)))
      const { status, body } = await owner.post('/api/api-keys', { name: 'CI', scopes: ['read'] })
      expect(status).toBe(201)
      expect(await keysIn(org)).toHaveLength(3)
      expect(await statusFor(body.key)).toBe(200)
    },
  )

  it('expires on time, even if cached', async ({ expect }) => {
    const org = await newOrg()
    const expiresAt = Date.now() + 60_000
    const { key } = await newKey(org, { expiresAt: new Date(expiresAt).toISOString() })
    setTime(expiresAt - 1)
    expect(await statusFor(key)).toBe(200)
    setTime(expiresAt)
    expect(await statusFor(key)).toBe(401)
  })

  it('is listed only to its organization, oldest first, page by page', async ({ expect }) => {
    const [org] = [await newOrg(), await newOrg()]
    const created = []
    for (const name of ['c', 'a', 'b']) created.push((await newKey(org, { name })).id)
    const ids = []
    let cursor = ''
    do {
      const { body } = await org.owner.get(`/api/api-keys?limit=2${cursor}`)
      ids.push(...body.apiKeys.map(({ id }: { id: string }) => id))
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`
    } while (cursor !== '')
    expect(ids).toHaveLength(5)
    expect(ids.slice(2)).toEqual(created)
  })
})

describe('a request', () => {
  it.for<[string, (org: Org, otherOrg: Org) => Record<string, string>, number]>([
    ['a key', org => ({ 'x-api-key': org.ownerKey }), 200],
    ['a key as a Bearer token', org => ({ authorization: `bearer  ${org.ownerKey}` }), 200],
    ['a key and its organization’s slug', org => ({ 'x-api-key': org.ownerKey, 'x-org-slug': org.slug }), 200],
    [
      'a token and its organization’s slug',
      org => ({ authorization: `Bearer ${org.ownerKey}`, 'x-org-slug': org.slug }),
      200,
    ],
    [
      "a key and another organization's slug",
      (org, otherOrg) => ({ 'x-api-key': org.ownerKey, 'x-org-slug': otherOrg.slug }),
      401,
    ],
    ['a key and an unknown slug', org => ({ 'x-api-key': org.ownerKey, 'x-org-slug': 'nope' }), 401],
    ['a key and an empty slug', org => ({ 'x-api-key': org.ownerKey, 'x-org-slug': '' }), 401],
    [
      'a key and its organization’s slug in upper case',
      org => ({ 'x-api-key': org.ownerKey, 'x-org-slug': org.slug.toUpperCase() }),
      401,
    ],
    ['a key with an extra letter', org => ({ 'x-api-key': `${org.ownerKey}x` }), 401],
    ['a key in upper case', org => ({ 'x-api-key': org.ownerKey.toUpperCase() }), 401],
    ["a key's prefix", org => ({ 'x-api-key': org.ownerKey.slice(0, 8) }), 401],
    ['a key as a basic password', org => ({ authorization: `Basic ${btoa(`x:${org.ownerKey}`)}` }), 401],
    ['only a slug', org => ({ 'x-org-slug': org.slug }), 401],
    ['nothing', () => ({}), 401],
  ])('is authenticated only with valid credentials: %s', async ([, headersOf, status], { expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const response = await client(headersOf(org, otherOrg)).get(LIST)
    expect(response.status).toBe(status)
    if (status === 401) expect(response.body.error).toBe('Not authenticated')
  })
})

describe('a revoked key', () => {
  it('stays in the list with its revocation time, and is rejected immediately if not cached', async ({ expect }) => {
    const org = await newOrg()
    const { key, ...shown } = await newKey(org)
    setTime(Date.now() + 1000)
    const response = await org.owner.delete(`/api/api-keys/${shown.id}`)
    expect(response).toMatchObject({ status: 200, body: { id: shown.id } })
    expect(Object.keys(response.body)).toEqual(['id'])
    expect(await listed(org, shown.id)).toEqual({ ...shown, revokedAt: new Date().toISOString() })
    const rejected = await client({ 'x-api-key': key }).get(LIST)
    expect(rejected).toMatchObject({ status: 401, body: { error: 'Not authenticated' } })
  })

  it('is rejected within 30 s if it was cached', async ({ expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org)
    const now = Date.now()
    setTime(now)
    expect(await statusFor(key)).toBe(200)
    await org.owner.delete(`/api/api-keys/${id}`)
    expect(KEY_FRESH_MS).toBeLessThanOrEqual(30_000)
    setTime(now + KEY_FRESH_MS)
    expect(await statusFor(key)).toBe(401)
    expect(await statusFor(org.ownerKey)).toBe(200)
  })

  it('keeps the time of its first revocation', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org)
    await org.owner.delete(`/api/api-keys/${id}`)
    const { revokedAt } = await listed(org, id)
    setTime(Date.now() + 5000)
    expect(await org.owner.delete(`/api/api-keys/${id.toUpperCase()}`)).toMatchObject({ status: 200, body: { id } })
    expect((await listed(org, id)).revokedAt).toBe(revokedAt)
  })

  it.for(['before', 'after'] as const)(
    'is revoked even if D1’s response is lost, %s the commit',
    async (when, { expect }) => {
      const org = await newOrg()
      const { id } = await newKey(org)
      const bindings = wrapBindings(failing('DB', LOST, 1, when))
      expect((await org.clientOf(org.ownerKey, bindings).delete(`/api/api-keys/${id}`)).status).toBe(200)
      expect((await listed(org, id)).revokedAt).toEqual(expect.any(String))
    },
  )

  it('may be the calling key', async ({ expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org, { scopes: ['manage'] })
    expect((await client({ 'x-api-key': key }).delete(`/api/api-keys/${id}`)).status).toBe(200)
    setTime(Date.now() + KEY_FRESH_MS)
    expect((await client({ 'x-api-key': key }).get('/api/api-keys')).status).toBe(401)
  })
})

/** Keys, and the statuses that calls to revoke and rotate them return. */
const places: [string, (org: Org, otherOrg: Org) => Promise<string>, number, number][] = [
  ['that does not exist', async () => crypto.randomUUID(), 404, 404],
  ['with an invalid id', async () => 'ci', 404, 404],
  ['in another organization', async (_, otherOrg) => (await newKey(otherOrg)).id, 404, 403],
]

describe.for(places)('a key %s', ([, place, revoked, rotated]) => {
  it('cannot be revoked or rotated', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const id = await place(org, otherOrg)
    const before = [await keysIn(org), await keysIn(otherOrg)]
    const messages: Record<number, string> = { 403: 'Forbidden', 404: 'Not found' }
    for (const by of [org.owner, org.bearer()]) {
      const responses = [await by.delete(`/api/api-keys/${id}`), await by.post(`/api/api-keys/${id}/rotate`)]
      expect(responses[0]).toMatchObject({ status: revoked, body: { error: messages[revoked] } })
      expect(responses[1]).toMatchObject({ status: rotated, body: { error: messages[rotated] } })
    }
    expect([await keysIn(org), await keysIn(otherOrg)]).toEqual(before)
  })
})

describe("a project's key", () => {
  it.for<[string, object, number]>([
    ["its own project's", { projectSlug: 'support' }, 200],
    ["another project's", { projectSlug: 'other' }, 403],
    ["the whole organization's", {}, 403],
  ])('can manage only keys in its own project, not others: %s', async ([, fields, status], { expect }) => {
    const org = await newOrg()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const { id } = await newKey(org, fields)
    const isAllowed = status === 200
    expect((await org.bearer().post(`/api/api-keys/${id}/rotate`, { graceSeconds: 60 })).status).toBe(
      isAllowed ? 201 : 403,
    )
    const revoked = await org.bearer().delete(`/api/api-keys/${id}`)
    expect(revoked.status).toBe(status)
    if (!isAllowed) expect(revoked.body.error).toBe('Forbidden')
    expect((await listed(org, id)).revokedAt !== null).toBe(isAllowed)
    const shown = (await org.bearer().get('/api/api-keys')).body.apiKeys
    expect(shown.some((each: { id: string }) => each.id === id)).toBe(isAllowed)
  })
})

describe('a change to a key', () => {
  const change = (by: Pick<Org, 'owner'>, id: string, body: object) => by.owner.patch(`/api/api-keys/${id}`, body)

  it('affects only the fields that are sent, within 30 s for a cached key', async ({ expect }) => {
    const org = await newOrg()
    const { key, ...old } = await newKey(org, { scopes: ['read', 'manage'] })
    const now = Date.now()
    setTime(now)
    expect(await statusFor(key)).toBe(200)
    const expiresAt = new Date(now + 3_600_000).toISOString()
    const expected = { ...old, name: 'CI 2', scopes: ['ingest', 'manage'], rateLimitPerMinute: 3, expiresAt }
    for (const fields of [
      { name: 'CI 2' },
      { scopes: ['manage', 'ingest'] },
      { rateLimitPerMinute: 3 },
      { expiresAt },
      {},
    ]) {
      expect((await change(org, old.id, fields)).status).toBe(200)
    }
    expect((await change(org, old.id, {})).body).toEqual(expected)
    expect(await listed(org, old.id)).toEqual(expected)
    setTime(now + KEY_FRESH_MS)
    expect(await statusFor(key)).toBe(403)
    const unlimited = await change(org, old.id, { rateLimitPerMinute: null, expiresAt: null })
    expect(unlimited.body).toMatchObject({ rateLimitPerMinute: null, expiresAt: null })
  })

  it('adds one entry to the audit log if it changes something', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org)
    for (const fields of [{ name: 'B' }, { name: 'B' }, {}]) await change(org, id, fields)
    const { entries } = (await org.owner.get('/api/audit-log?action=api_key.change')).body
    expect(entries).toMatchObject([{ targetId: id, projectId: null }])
  })

  it.for<[string, (org: Org, id: string, now: number) => Promise<unknown>]>([
    ['revoked', (org, id) => org.owner.delete(`/api/api-keys/${id}`)],
    ['expired', async (_org, _id, now) => setTime(now + 60_000)],
  ])('409s for a key that is %s', async ([, end], { expect }) => {
    const org = await newOrg()
    const now = Date.now()
    setTime(now)
    const { id } = await newKey(org, { expiresAt: new Date(now + 60_000).toISOString() })
    await end(org, id, now)
    const before = await listed(org, id)
    expect(await change(org, id, { name: 'x', expiresAt: null })).toMatchObject({ status: 409 })
    expect(await listed(org, id)).toEqual(before)
  })

  it.for<[object, string]>([
    [{ name: '' }, 'name'],
    [{ name: null }, 'name'],
    [{ scopes: [] }, 'scopes'],
    [{ rateLimitPerMinute: 0 }, 'rateLimitPerMinute'],
    [{ expiresAt: '2020-01-01T00:00:00.000Z' }, 'expiresAt'],
    [{ projectSlug: 'support' }, 'projectSlug'],
    [{ userId: null }, 'userId'],
    [{ actsAs: 'person' }, 'actsAs'],
  ])('400s for %o', async ([body, path], { expect }) => {
    const org = await newOrg()
    const { key, ...old } = await newKey(org)
    expect(await change(org, old.id, body)).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect(await listed(org, old.id)).toEqual(old)
  })

  it("403s for another project's or another organization's key, and 404s for a missing key", async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const organizationKey = await newKey(org)
    const foreign = await newKey(otherOrg)
    expect((await change({ owner: org.bearer() }, organizationKey.id, { name: 'x' })).status).toBe(403)
    expect((await change(org, foreign.id, { name: 'x' })).status).toBe(403)
    expect((await change(org, crypto.randomUUID(), { name: 'x' })).status).toBe(404)
  })
})

describe('a limited key', () => {
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  const later = new Date(Date.now() + 7_200_000).toISOString()
  const earlier = new Date(Date.now() + 1_800_000).toISOString()
  const within = { scopes: ['read'], rateLimitPerMinute: 10, expiresAt: soon }

  it.for<[string, object, number]>([
    ['all of its own rights', {}, 201],
    ['fewer rights', { rateLimitPerMinute: 1, expiresAt: earlier }, 201],
    ['a later expiry', { expiresAt: later }, 403],
    ['no expiry', { expiresAt: null }, 403],
    ['no expiry by default', { expiresAt: undefined }, 403],
    ['a higher limit', { rateLimitPerMinute: 11 }, 403],
    ['the highest limit', { rateLimitPerMinute: 1_000_000 }, 403],
    ["the deployment's limit", { rateLimitPerMinute: null }, 403],
    ["the deployment's limit by default", { rateLimitPerMinute: undefined }, 403],
    ['a scope that it lacks', { scopes: ['ingest'] }, 403],
  ])('can give a key at most its own rights: %s', async ([, fields, status], { expect }) => {
    const org = await newOrg()
    const bounds = { scopes: ['read', 'manage'], rateLimitPerMinute: 10, expiresAt: soon }
    const { key } = await newKey(org, bounds)
    const draft = { name: 'x', ...within, ...fields }
    for (const by of [org.clientOf(key), page(await signIn(key))]) {
      const before = (await keysIn(org)).length
      expect((await by.post('/api/api-keys', draft)).status).toBe(status)
      const wide = await newKey(org, draft)
      expect((await by.post(`/api/api-keys/${wide.id}/rotate`)).status).toBe(status)
      const narrow = await newKey(org, within)
      const sent = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
      const changed = await by.patch(`/api/api-keys/${narrow.id}`, sent)
      expect(changed.status).toBe(status === 403 && Object.keys(sent).length > 0 ? 403 : 200)
      expect(await keysIn(org)).toHaveLength(before + (status === 201 ? 4 : 2))
    }
  })

  it('cannot extend itself', async ({ expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org, { scopes: ['manage'], rateLimitPerMinute: 10, expiresAt: soon })
    const own = org.clientOf(key)
    for (const fields of [{ expiresAt: null }, { rateLimitPerMinute: null }, { scopes: [...SCOPES] }]) {
      expect((await own.patch(`/api/api-keys/${id}`, fields)).status).toBe(403)
    }
    const rotated = await own.post(`/api/api-keys/${id}/rotate`)
    expect(rotated).toMatchObject({ status: 201, body: { rateLimitPerMinute: 10, expiresAt: soon } })
  })
})

describe('a cached key', () => {
  const LAPSED: [string, (org: Org, id: string) => Promise<unknown>][] = [
    ['revoked', (org, id) => org.owner.delete(`/api/api-keys/${id}`)],
    ['replaced', (org, id) => rotate(org, id)],
    ['given fewer scopes', (org, id) => org.owner.patch(`/api/api-keys/${id}`, { scopes: ['manage'] })],
    ['no longer a manager', (org, id) => org.owner.patch(`/api/api-keys/${id}`, { scopes: ['read'] })],
  ]

  it.for(LAPSED.filter(([how]) => how !== 'given fewer scopes'))(
    'cannot create or change users once it is %s',
    async ([, end], { expect }) => {
      const org = await newOrg()
      const manager = await newKey(org, { scopes: ['manage'] })
      const { post, patch } = client({ 'x-api-key': manager.key })
      const { id } = (await post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
      await end(org, manager.id)
      expect((await post('/api/users', { email: 'eve@example.com', name: 'Eve' })).status).toBe(403)
      expect((await patch(`/api/users/${id}`, { email: 'eve@example.com' })).status).toBe(403)
      const { users } = (await org.owner.get('/api/users')).body
      expect(users.map(({ email }: { email: string }) => email)).not.toContain('eve@example.com')
    },
  )

  it.for(LAPSED)('gets no secrets once it is %s', async ([, end], { expect }) => {
    const org = await newOrg()
    const manager = await newKey(org, { scopes: ['read', 'manage'] })
    const other = await newKey(org, { scopes: ['read'] })
    const narrow = await newKey(org, { scopes: ['ingest'] })
    const { post, patch } = client({ 'x-api-key': manager.key })
    expect((await post('/api/api-keys', { name: 'CI', scopes: ['read'] })).status).toBe(201)
    await end(org, manager.id)
    const before = await keysIn(org)
    expect((await post('/api/api-keys', { name: 'CI', scopes: ['read'] })).status).toBe(403)
    expect((await patch(`/api/api-keys/${narrow.id}`, { scopes: ['read'] })).status).toBe(403)
    expect((await post(`/api/api-keys/${other.id}/rotate`)).status).toBe(409)
    expect(await keysIn(org)).toEqual(before)
  })
})
