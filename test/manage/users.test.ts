import { env } from 'cloudflare:workers'
import { afterEach, describe, it, vi } from 'vitest'
import { authenticate } from '../../src/auth/authenticate.ts'
import { uuidV5 } from '../../src/domain/ids.ts'
import type { Env } from '../../src/env.ts'
import { KEY_FRESH_MS, MAX_EMAIL_LENGTH } from '../../src/limits.ts'
import { Deadline } from '../../src/store/core/deadline.ts'
import { newTeam } from '../support/access.ts'
import { failing, wrapBindings } from '../support/bindings.ts'
import { stored } from '../support/database.ts'
import { newOrg, type Org } from '../support/org.ts'
import { signIn } from '../support/session.ts'
import { newTrace } from '../support/trace.ts'

const LOST = 'D1_ERROR: Network connection lost.'
const TAKEN = { status: 409, body: { code: 'conflict', details: [{ path: 'email' }] } }

const create = (org: Org, fields: object = {}) =>
  org.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada', ...fields })

const usersIn = async (org: Org): Promise<{ id: string; email: string }[]> =>
  (await org.owner.get('/api/users?limit=200')).body.users

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('a user', () => {
  it('returns the fields in the contract, with the email in lower case', async ({ expect }) => {
    const org = await newOrg()
    const { status, body } = await create(org, { email: 'Ada.Lovelace@Example.COM' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email: 'ada.lovelace@example.com',
      name: 'Ada',
      isConfirmed: true,
      adjudicator: false,
      createdAt: expect.any(String),
    })
    expect(await usersIn(org)).toEqual([body])
  })

  it.for(['ada@example.com', 'ADA@EXAMPLE.COM', 'Ada@example.com'])(
    'has a unique email, so %s gets a 409',
    async (email, { expect }) => {
      const org = await newOrg()
      const first = (await create(org)).body
      expect(await create(org, { email, name: 'Another' })).toMatchObject(TAKEN)
      expect(await usersIn(org)).toEqual([first])
    },
  )

  it('is created once if 20 concurrent requests use the same email', async ({ expect }) => {
    const org = await newOrg()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create(org, { email: index % 2 === 0 ? 'ada@example.com' : 'Ada@Example.com', name: `Ada ${index}` }),
      ),
    )
    const created = responses.filter(({ status }) => status === 201)
    expect(created).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(19)
    expect(await usersIn(org)).toEqual([created[0]?.body])
  })

  it.for(['before', 'after'] as const)(
    'is created once if D1’s response is lost, %s the commit',
    async (when, { expect }) => {
      const org = await newOrg()
      const owner = org.clientOf(org.ownerKey, wrapBindings(failing('DB', LOST, 1, when)))
      const { status, body } = await owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })
      expect(status).toBe(201)
      expect(await usersIn(org)).toEqual([body])
    },
  )

  it('is a separate user in each organization', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const [mine, other] = [(await create(org)).body, (await create(otherOrg)).body]
    expect(mine.id).not.toBe(other.id)
    expect(await usersIn(org)).toEqual([mine])
    expect(await usersIn(otherOrg)).toEqual([other])
  })

  it('cannot be created with a project’s key or without the scope', async ({ expect }) => {
    const org = await newOrg()
    const draft = { email: 'ada@example.com', name: 'Ada' }
    expect(await org.bearer().post('/api/users', draft)).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    const reader = org.clientOf(await org.keyFor({ projectSlug: undefined, scopes: ['ingest', 'read', 'review'] }))
    expect((await reader.post('/api/users', draft)).status).toBe(403)
    expect((await reader.get('/api/users')).status).toBe(403)
    expect(await usersIn(org)).toEqual([])
  })

  it.for<[string, object, string]>([
    ['no email', { email: undefined }, 'email'],
    ['an empty email', { email: '' }, 'email'],
    ['an email without @', { email: 'ada.example.com' }, 'email'],
    ['an email with two @', { email: 'ada@home@example.com' }, 'email'],
    ['an email with a space', { email: 'ada @example.com' }, 'email'],
    ['an email with a leading space', { email: ' ada@example.com' }, 'email'],
    ['an email with a trailing newline', { email: 'ada@example.com\n' }, 'email'],
    ['an email that is not a string', { email: ['ada@example.com'] }, 'email'],
    ['an email that is too long', { email: `${'a'.repeat(MAX_EMAIL_LENGTH)}@b` }, 'email'],
    ['no name', { name: undefined }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name that is too long', { name: 'x'.repeat(257) }, 'name'],
    ['an adjudicator that is not a boolean', { adjudicator: 'yes' }, 'adjudicator'],
    ['a typo', { mail: 'x' }, 'mail'],
  ])('400s for %s', async ([, fields, path], { expect }) => {
    const org = await newOrg()
    expect(await create(org, fields)).toMatchObject({ status: 400, body: { details: [{ path }] } })
    expect(await usersIn(org)).toEqual([])
  })
})

describe('the list of users', () => {
  it('is sorted by email, page by page, without gaps or duplicates', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    await create(otherOrg)
    const emails = ['m@x', 'Zoë@x', 'a@x', 'a@X.y', 'ö@x', '😀@x', 'b@x', 'a.b@x', 'a+b@x']
    for (const email of emails) expect((await create(org, { email })).status).toBe(201)
    const expected = ['a+b@x', 'a.b@x', 'a@x', 'a@x.y', 'b@x', 'm@x', 'zoë@x', 'ö@x', '😀@x']
    for (const limit of [1, 2, 4, 9, 200]) {
      const seen: string[] = []
      let cursor = ''
      do {
        const { body } = await org.owner.get(`/api/users?limit=${limit}${cursor}`)
        expect(body.users.length).toBeLessThanOrEqual(limit)
        seen.push(...body.users.map(({ email }: { email: string }) => email))
        cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`
      } while (cursor !== '' && seen.length <= expected.length)
      expect(seen).toEqual(expected)
    }
  })

  it('rejects a cursor from another organization', async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    for (const email of ['a@x', 'b@x']) await create(org, { email })
    const { nextCursor } = (await org.owner.get('/api/users?limit=1')).body
    expect(nextCursor).toEqual(expect.any(String))
    expect((await otherOrg.owner.get(`/api/users?cursor=${nextCursor}`)).status).toBe(400)
  })
})

describe("a labeler's user", () => {
  it('gets a name as soon as one is known', async ({ expect }) => {
    const { org, give } = await newTrace()
    const names = async () => (await org.owner.get('/api/users')).body.users.map(({ name }: { name: string }) => name)
    for (const [name, known] of [
      [undefined, ''],
      ['Ada', 'Ada'],
      ['Another', 'Ada'],
    ]) {
      await give({ comment: 'x', labeller: { name, email: 'ada@example.com' } })
      expect(await names()).toEqual([known])
    }
  })

  it('exists after the first feedback, and can be confirmed once, with any capitalization of the email', async ({
    expect,
  }) => {
    const { org, give, read } = await newTrace()
    await give({ comment: 'Wrong', labeller: { name: 'Ada', email: 'Ada@Example.com' } })
    const [user] = await usersIn(org)
    expect(user).toMatchObject({ email: 'ada@example.com', name: 'Ada', isConfirmed: false })
    expect((await read()).feedback[0].userId).toBe(user?.id)
    const confirmed = await create(org, { email: 'aDA@example.com', name: 'Countess' })
    expect(confirmed).toMatchObject({ status: 201, body: { ...user, name: 'Countess', isConfirmed: true } })
    expect(await create(org, { email: 'aDA@example.com', name: 'Another' })).toMatchObject(TAKEN)
    expect(await usersIn(org)).toEqual([confirmed.body])
  })

  it('is the existing user with that email, whose name does not change', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    const user = (await create(org)).body
    for (const email of ['ada@example.com', 'ADA@example.com'])
      await give({ comment: 'x', labeller: { name: 'A.', email } })
    expect((await read()).feedback.map(({ userId }: { userId: string }) => userId)).toEqual([user.id, user.id])
    expect(await usersIn(org)).toEqual([user])
    const { results } = await stored.prepare('select 1 from users where id = ?').bind(user.id).all()
    expect(results).toHaveLength(1)
  })
})

describe('a key that acts for a user', () => {
  it('assigns feedback to the user unless a labeler is given, or to the key if it has no user', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const ada = (await create(org)).body
    const grace = (await create(org, { email: 'grace@example.com', name: 'Grace' })).body
    const draft = { name: 'Ada', projectSlug: 'support', scopes: ['ingest'] }
    const forAda = (await org.owner.post('/api/api-keys', { ...draft, userId: ada.id })).body
    const withoutUser = (await org.owner.post('/api/api-keys', draft)).body
    const labeller = { email: 'Grace@example.com' }
    const cases: [key: string, fields: object][] = [
      [forAda.key, { comment: 'Ada' }],
      [forAda.key, { comment: 'Grace', labeller }],
      [withoutUser.key, { comment: 'nobody' }],
      [withoutUser.key, { comment: 'Grace', labeller }],
    ]
    for (const [key, fields] of cases) {
      expect((await org.clientOf(key).post('/api/v1/feedback', { trace_id, ...fields })).status).toBe(201)
    }
    const { feedback } = await read()
    const ids = Object.groupBy<string, { content: string }>(feedback, ({ content }) => content)
    const userIds = Object.fromEntries(
      Object.entries(ids).map(([content, all]) => [content, all?.map(each => Reflect.get(each, 'userId'))]),
    )
    expect(userIds).toEqual({ Ada: [ada.id], Grace: [grace.id, grace.id], nobody: [withoutUser.id] })
  })

  it('acts for the same user after its rotation', async ({ expect }) => {
    const { org, trace_id, read } = await newTrace()
    const ada = (await create(org)).body
    const draft = { name: 'Ada', projectSlug: 'support', scopes: ['ingest'], userId: ada.id }
    const { id } = (await org.owner.post('/api/api-keys', draft)).body
    const { key } = (await org.owner.post(`/api/api-keys/${id}/rotate`)).body
    await org.clientOf(key).post('/api/v1/feedback', { trace_id, comment: 'x' })
    expect((await read()).feedback).toMatchObject([{ userId: ada.id }])
  })
})

describe("a project's key", () => {
  it('lists the users of the project’s keys, and no others', async ({ expect }) => {
    const { org, give } = await newTrace()
    await org.owner.post('/api/projects', { slug: 'other', name: 'Other' })
    const [ada, kofi] = [(await create(org)).body, (await create(org, { email: 'kofi@example.com' })).body]
    await create(org, { email: 'mei@example.com' })
    await give({ comment: 'x', labeller: { email: 'bob@example.com' } })
    await org.keyFor({ userId: ada.id })
    await org.keyFor({ userId: kofi.id, projectSlug: 'other' })
    const listed = (await org.bearer().get('/api/users')).body
    expect(listed).toEqual({ users: [ada], nextCursor: null })
    expect(await usersIn(org)).toHaveLength(4)
  })

  it('cannot create, change, or delete users', async ({ expect }) => {
    const org = await newOrg()
    const ada = (await create(org)).body
    await org.keyFor({ userId: ada.id })
    const narrow = org.bearer()
    expect((await narrow.patch(`/api/users/${ada.id}`, { name: 'x' })).status).toBe(403)
    expect((await narrow.delete(`/api/users/${ada.id}`)).status).toBe(403)
    expect(await usersIn(org)).toEqual([ada])
  })
})

describe("a user's id", () => {
  it("cannot be derived from the email, so it doesn't reveal the email", async ({ expect }) => {
    const { org, give } = await newTrace()
    await create(org)
    await give({ comment: 'x', labeller: { email: 'bob@example.com' } })
    const guesses = await Promise.all(
      ['ada@example.com', 'bob@example.com'].map(email => uuidV5(org.id, `user:${email}`)),
    )
    expect((await org.read.get(`/api/reviewers?ids=${guesses.join(',')}`)).body.reviewers).toEqual([])
  })
})

describe('changing a user', () => {
  const change = (org: Org, id: string, body: object) => org.owner.patch(`/api/users/${id}`, body)

  it('affects only the fields sent, and keeps the id and the keys', async ({ expect }) => {
    const org = await newOrg()
    const ada = (await create(org)).body
    const key = await org.keyFor({ userId: ada.id })
    expect((await change(org, ada.id.toUpperCase(), { name: 'Ada L.' })).body).toEqual({ ...ada, name: 'Ada L.' })
    const changed = await change(org, ada.id, { email: 'Ada@New.example' })
    expect(changed).toMatchObject({ status: 200, body: { ...ada, name: 'Ada L.', email: 'ada@new.example' } })
    expect((await change(org, ada.id, {})).body).toEqual(changed.body)
    expect(await usersIn(org)).toEqual([changed.body])
    expect((await org.clientOf(key).get('/api/session')).body.user).toMatchObject({ email: 'ada@new.example' })
    const { entries } = (await org.owner.get('/api/audit-log?action=user.change')).body
    expect(entries).toHaveLength(2)
  })

  it('frees the old email, and assigns later records with the new email to the user', async ({ expect }) => {
    const { org, give, read } = await newTrace()
    const ada = (await create(org)).body
    await change(org, ada.id, { email: 'countess@example.com' })
    for (const email of ['ada@example.com', 'countess@example.com', 'ada@example.com']) {
      expect((await give({ comment: email, labeller: { email } })).status).toBe(201)
    }
    const users = await usersIn(org)
    expect(users).toHaveLength(2)
    const other = users.find(({ email }) => email === 'ada@example.com')
    expect(other?.id).not.toBe(ada.id)
    for (const { content, userId } of (await read()).feedback) {
      expect(userId).toBe(content === 'ada@example.com' ? other?.id : ada.id)
    }
  })

  it("409s for another user's email, including a labeler's, and changes nothing", async ({ expect }) => {
    const { org, give } = await newTrace()
    const ada = (await create(org)).body
    await create(org, { email: 'kofi@example.com' })
    await give({ comment: 'x', labeller: { email: 'bob@example.com' } })
    for (const email of ['KOFI@example.com', 'bob@example.com']) {
      expect(await change(org, ada.id, { email, name: 'x' })).toMatchObject(TAKEN)
    }
    expect((await usersIn(org))[0]).toEqual(ada)
    expect(await change(org, ada.id, { email: ada.email })).toMatchObject({ status: 200, body: ada })
  })

  it('succeeds for only one of several concurrent requests for the same email', async ({ expect }) => {
    const org = await newOrg()
    const users = await Promise.all(
      Array.from({ length: 10 }, (_, index) => create(org, { email: `${index}@example.com` })),
    )
    const responses = await Promise.all(users.map(({ body }) => change(org, body.id, { email: 'one@example.com' })))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(9)
  })

  it.for<[object, string]>([
    [{ email: 'ada.example.com' }, 'email'],
    [{ email: null }, 'email'],
    [{ name: '' }, 'name'],
    [{ id: crypto.randomUUID() }, 'id'],
  ])('400s for %o', async ([body, path], { expect }) => {
    const org = await newOrg()
    const ada = (await create(org)).body
    expect(await change(org, ada.id, body)).toMatchObject({ status: 400, body: { details: [{ path }] } })
  })

  it("404s for a missing user, and 403s for another organization's", async ({ expect }) => {
    const [org, otherOrg] = [await newOrg(), await newOrg()]
    const foreign = (await create(otherOrg)).body
    expect((await change(org, crypto.randomUUID(), { name: 'x' })).status).toBe(404)
    expect((await change(org, 'ada', { name: 'x' })).status).toBe(404)
    expect((await change(org, foreign.id, { name: 'x' })).status).toBe(403)
    expect(await usersIn(otherOrg)).toEqual([foreign])
  })
})

describe('an adjudicator', () => {
  const isAdjudicator = async (headers: Record<string, string>, bindings: Env = env) => {
    const request = new Request('https://countersign.test/api/session', { headers })
    const runtime = { env: bindings, waitUntil: () => {}, address: '192.0.2.1', requestId: crypto.randomUUID() }
    const caller = await authenticate({ ...runtime, request, deadline: new Deadline(5_000), now: Date.now() })
    return caller.isAdjudicator
  }

  it('has the role with every key, session, and Access token within 30 seconds of the change', async ({ expect }) => {
    const org = await newOrg()
    const team = await newTeam()
    const ada = (await create(org, { email: `ada-${org.slug}@example.com` })).body
    const kofi = (await create(org, { email: 'kofi@example.com', adjudicator: true })).body
    expect([ada.adjudicator, kofi.adjudicator]).toEqual([false, true])
    const draft = { name: 'Ada', projectSlug: 'support', scopes: ['read', 'review'], userId: ada.id }
    const { id, key } = (await org.owner.post('/api/api-keys', draft)).body
    const rotated = (await org.owner.post(`/api/api-keys/${id}/rotate`, { graceSeconds: 600 })).body.key
    const cookie = await signIn(key)
    const token = await team.token({ email: ada.email })
    const ways: [headers: Record<string, string>, bindings?: Env][] = [
      [{ 'x-api-key': key }],
      [{ 'x-api-key': rotated }],
      [{ cookie }],
      [{ 'cf-access-jwt-assertion': token }, team.bindings],
    ]
    const all = () => Promise.all(ways.map(([headers, bindings]) => isAdjudicator(headers, bindings)))
    expect(await all()).toEqual([false, false, false, false])
    const changed = await org.owner.patch(`/api/users/${ada.id}`, { adjudicator: true })
    expect(changed).toMatchObject({ status: 200, body: { ...ada, adjudicator: true } })
    expect((await org.owner.patch(`/api/users/${ada.id}`, { adjudicator: true, name: 'Ada' })).body).toEqual(
      changed.body,
    )
    expect(await usersIn(org)).toEqual([changed.body, kofi])
    expect((await org.clientOf(key).get('/api/session')).body.user).toMatchObject({ id: ada.id, adjudicator: true })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + KEY_FRESH_MS + 1 })
    expect(await all()).toEqual([true, true, true, true])
    expect(await isAdjudicator({ 'x-api-key': await org.keyFor({ userId: kofi.id }) })).toBe(true)
    expect(await isAdjudicator({ 'x-api-key': org.ownerKey })).toBe(false)
    await org.owner.patch(`/api/users/${ada.id}`, { adjudicator: false })
    vi.setSystemTime(Date.now() + KEY_FRESH_MS + 1)
    expect(await all()).toEqual([false, false, false, false])
    const { entries } = (await org.owner.get(`/api/audit-log?action=user.change&targetId=${ada.id}`)).body
    expect(entries).toHaveLength(2)
  })

  it('has the role only in their own organization, and keeps it after giving feedback as a labeler', async ({
    expect,
  }) => {
    const { org, give } = await newTrace()
    const other = await newOrg()
    await create(other, { adjudicator: true })
    await give({ comment: 'x', labeller: { email: 'ada@example.com' } })
    const confirmed = await create(org, { adjudicator: true })
    expect(confirmed).toMatchObject({ status: 201, body: { isConfirmed: true, adjudicator: true } })
    await give({ comment: 'x', labeller: { email: 'ada@example.com', name: 'A.' } })
    expect(await usersIn(org)).toEqual([confirmed.body])
    await other.owner.patch(`/api/users/${(await usersIn(other))[0]?.id}`, { adjudicator: false })
    expect(await usersIn(org)).toEqual([confirmed.body])
  })

  it('can be appointed only by a person', async ({ expect }) => {
    const org = await newOrg()
    const ada = (await create(org)).body
    for (const actsAs of ['agent', 'pipeline']) {
      const caller = org.clientOf(await org.keyFor({ projectSlug: undefined, scopes: ['manage'], actsAs }))
      const refused = { status: 403, body: { code: 'person_required' } }
      expect(await caller.patch(`/api/users/${ada.id}`, { adjudicator: true })).toMatchObject(refused)
      expect(await caller.post('/api/users', { email: 'b@x', name: 'B', adjudicator: true })).toMatchObject(refused)
      expect((await caller.patch(`/api/users/${ada.id}`, { name: 'Ada' })).status).toBe(200)
    }
    expect(await usersIn(org)).toEqual([ada])
  })
})
