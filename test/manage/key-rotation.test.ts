import { afterEach, describe, it, vi } from 'vitest'
import { SCOPES } from '../../src/domain/api-key.ts'
import { KEY_FRESH_MS, MAX_ROTATION_GRACE_SECONDS } from '../../src/limits.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { aTrace } from '../support/builders.ts'
import { keysIn, listed, newKey, rotate, setTime, statusFor } from '../support/keys.ts'
import { newOrg, type Org } from '../support/org.ts'

afterEach(() => {
  vi.useRealTimers()
})

const LOST = 'D1_ERROR: Network connection lost.'

describe('a rotation', () => {
  it('creates a new key with the same rights', async ({ expect }) => {
    const org = await newOrg()
    const user = (await org.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
    const { key, ...old } = await newKey(org, {
      projectSlug: 'support',
      userId: user.id,
      scopes: ['ingest', 'read'],
      rateLimitPerMinute: 7,
      expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
    setTime(Date.now() + 1000)
    const { status, body } = await rotate(org, old.id)
    expect(status).toBe(201)
    const { key: newSecret, ...successor } = body
    const createdAt = new Date().toISOString()
    expect(successor).toEqual({ ...old, id: expect.any(String), prefix: newSecret.slice(0, 8), createdAt })
    expect(successor.id).not.toBe(old.id)
    expect(await listed(org, successor.id)).toEqual(successor)
    expect(await listed(org, old.id)).toEqual({ ...old, revokedAt: createdAt, replacedBy: successor.id })
    expect(await statusFor(newSecret)).toBe(200)
    expect(await statusFor(key)).toBe(401)
    // The key still belongs to its project, so ingestion needs no x-project-slug, and it lacks the other scopes.
    const successorClient = org.clientOf(newSecret)
    expect((await successorClient.post('/api/v1/traces', aTrace())).headers.get('ratelimit-policy')).toContain('q=7;')
    expect((await successorClient.get('/api/users')).status).toBe(403)
  })

  it('keeps an organization’s key valid for the whole organization', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org, { scopes: [...SCOPES] })
    const { body } = await rotate(org, id, {})
    expect(body).toMatchObject({
      scopes: SCOPES,
      projectId: null,
      userId: null,
      rateLimitPerMinute: null,
      expiresAt: null,
    })
    expect((await org.clientOf(body.key).post('/api/projects', { slug: 'new', name: 'New' })).status).toBe(201)
  })

  it.for([undefined, {}, { graceSeconds: 0 }])(
    'revokes the old key immediately if there is no grace period: %o',
    async (body, { expect }) => {
      const org = await newOrg()
      const known = await newKey(org)
      const unknown = await newKey(org)
      const now = Date.now()
      setTime(now)
      expect(await statusFor(known.key)).toBe(200)
      for (const { id } of [known, unknown]) expect((await rotate(org, id, body)).status).toBe(201)
      expect(await statusFor(unknown.key)).toBe(401)
      setTime(now + KEY_FRESH_MS)
      expect(await statusFor(known.key)).toBe(401)
    },
  )

  it.for([1, 60, MAX_ROTATION_GRACE_SECONDS])(
    'revokes the old key after a grace period of %i s',
    async (graceSeconds, { expect }) => {
      const org = await newOrg()
      const { key, id } = await newKey(org)
      const now = Date.now()
      setTime(now)
      const successor = (await rotate(org, id, { graceSeconds })).body
      expect((await listed(org, id)).revokedAt).toBe(new Date(now + graceSeconds * 1000).toISOString())
      setTime(now + graceSeconds * 1000 - 1)
      expect(await statusFor(key)).toBe(200)
      // The isolate has cached the key, but still rejects it on time.
      setTime(now + graceSeconds * 1000)
      expect(await statusFor(key)).toBe(401)
      expect(await statusFor(successor.key)).toBe(200)
    },
  )

  it('never extends the lifetime of the old key', async ({ expect }) => {
    const org = await newOrg()
    const expiresAt = new Date(Date.now() + 30_000).toISOString()
    const { key, id } = await newKey(org, { expiresAt })
    const successor = (await rotate(org, id, { graceSeconds: 3600 })).body
    expect(successor.expiresAt).toBe(expiresAt)
    setTime(Date.parse(expiresAt))
    expect(await statusFor(key)).toBe(401)
    expect(await statusFor(successor.key)).toBe(401)
  })

  it('happens once with a grace period, even if requested concurrently', async ({ expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org)
    const responses = await Promise.all(Array.from({ length: 12 }, () => rotate(org, id, { graceSeconds: 600 })))
    const created = responses.filter(({ status }) => status === 201)
    expect(created).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(11)
    expect(await keysIn(org)).toHaveLength(4)
    for (const secret of [key, created[0]?.body.key]) expect(await statusFor(secret)).toBe(200)
    expect((await listed(org, id)).replacedBy).toBe(created[0]?.body.id)
  })

  it('can be repeated during the grace period once the successor is revoked, but never extends the period', async ({
    expect,
  }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org)
    const now = Date.now()
    setTime(now)
    const endsAt = async () => Date.parse((await listed(org, id)).revokedAt) - now
    const secrets = []
    for (const [graceSeconds, end] of [
      [600, 600],
      [3600, 600],
      [60, 60],
    ] as const) {
      const again = await rotate(org, id, { graceSeconds })
      expect(again.status).toBe(201)
      secrets.push(again.body.key)
      expect(await endsAt()).toBe(end * 1000)
      const rejected = await rotate(org, id, { graceSeconds: 1 })
      expect(rejected).toMatchObject({ status: 409, body: { details: [{ path: 'keyId' }] } })
      expect(await endsAt()).toBe(end * 1000)
      const { replacedBy } = await listed(org, id)
      expect(replacedBy).toBe(again.body.id)
      await org.owner.delete(`/api/api-keys/${replacedBy}`)
    }
    expect(await statusFor(key)).toBe(200)
    for (const secret of secrets) expect(await statusFor(secret)).toBe(401)
  })

  it('returns a 409 for the old key once its successor has been rotated', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org)
    const successor = (await rotate(org, id, { graceSeconds: 600 })).body
    expect((await rotate(org, successor.id)).status).toBe(201)
    expect((await rotate(org, id)).status).toBe(409)
  })

  it.for<[string, (org: Org, id: string, now: number) => Promise<unknown>]>([
    ['revoked', (org, id) => org.owner.delete(`/api/api-keys/${id}`)],
    ['replaced without a grace period', (org, id) => rotate(org, id)],
    [
      'replaced and past its grace period',
      async (org, id, now) => {
        await rotate(org, id, { graceSeconds: 30 })
        setTime(now + 30_000)
      },
    ],
    ['expired', async (_org, _id, now) => setTime(now + 60_000)],
  ])('returns a 409 and no new key for a key that is %s', async ([, end], { expect }) => {
    const org = await newOrg()
    const now = Date.now()
    setTime(now)
    const { id } = await newKey(org, { expiresAt: new Date(now + 60_000).toISOString() })
    await end(org, id, now)
    const before = await keysIn(org)
    const response = await rotate(org, id, { graceSeconds: 60 })
    expect(response).toMatchObject({ status: 409, body: { code: 'conflict', details: [{ path: 'keyId' }] } })
    expect(JSON.stringify(response.body)).not.toContain('cs_')
    expect(await keysIn(org)).toEqual(before)
  })

  it('grants no scope that the calling key lacks', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org, { projectSlug: 'support', scopes: ['read', 'review'] })
    const before = await keysIn(org)
    const narrow = { owner: org.clientOf(await org.keyFor({ scopes: ['manage', 'read'] })) }
    expect(await rotate(narrow, id)).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    expect((await keysIn(org)).slice(0, -1)).toEqual(before)
    const wide = { owner: org.clientOf(await org.keyFor({ scopes: ['manage', 'read', 'review'] })) }
    expect((await rotate(wide, id)).status).toBe(201)
  })

  it('needs the manage scope', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org)
    const reader = org.clientOf(await org.keyFor({ scopes: ['ingest', 'read', 'review'] }))
    expect((await rotate({ owner: reader }, id)).status).toBe(403)
    expect((await reader.delete(`/api/api-keys/${id}`)).status).toBe(403)
    expect((await reader.get('/api/api-keys')).status).toBe(403)
    expect((await listed(org, id)).revokedAt).toBeNull()
  })

  it('may replace the calling key', async ({ expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org, { scopes: [...SCOPES] })
    const own = { owner: org.clientOf(key) }
    const { status, body } = await rotate(own, id)
    expect(status).toBe(201)
    expect((await org.clientOf(body.key).get('/api/api-keys')).status).toBe(200)
  })

  it.for([
    [{ graceSeconds: -1 }, 'graceSeconds'],
    [{ graceSeconds: 0.5 }, 'graceSeconds'],
    [{ graceSeconds: '60' }, 'graceSeconds'],
    [{ graceSeconds: null }, 'graceSeconds'],
    [{ graceSeconds: MAX_ROTATION_GRACE_SECONDS + 1 }, 'graceSeconds'],
    [{ grace: 60 }, 'grace'],
  ] as const)('400s for %o, and the key stays valid', async ([body, path], { expect }) => {
    const org = await newOrg()
    const { key, id } = await newKey(org)
    expect(await rotate(org, id, body)).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect((await listed(org, id)).revokedAt).toBeNull()
    expect(await statusFor(key)).toBe(200)
  })

  it.for([1, 2].flatMap(place => (['before', 'after'] as const).map(when => ({ place, when }))))(
    'creates one key if D1’s response $place is lost $when the commit',
    async ({ place, when }, { expect }) => {
      const org = await newOrg()
      const { key, id } = await newKey(org)
      const fail = failing('DB', LOST, 1, when)
      let calls = 0
      const bindings = wrapBindings((binding, call) => (++calls < place ? call() : fail(binding, call)))
      const { status, body } = await rotate({ owner: org.clientOf(org.ownerKey, bindings) }, id)
      expect(status).toBe(201)
      expect(calls).toBe(3)
      expect(await keysIn(org)).toHaveLength(4)
      expect(await statusFor(body.key)).toBe(200)
      expect(await statusFor(key)).toBe(401)
    },
  )

  it('creates one key for 20 concurrent requests that specify no grace period', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org)
    setTime(Date.now())
    const responses = await Promise.all(Array.from({ length: 20 }, () => rotate(org, id)))
    const created = responses.filter(({ status }) => status === 201)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(19)
    expect(await keysIn(org)).toHaveLength(4)
    expect(await statusFor(created[0]?.body.key)).toBe(200)
  })
})
