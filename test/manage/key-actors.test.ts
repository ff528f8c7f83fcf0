import { describe, it } from 'vitest'
import { stored } from '../support/database.ts'
import { keysIn, listed, newKey, rotate } from '../support/keys.ts'
import { client, newOrg, type Org } from '../support/org.ts'
import { cookieIn, page, signIn, visitor } from '../support/session.ts'

const REFUSED = { status: 403, body: { error: 'Forbidden', code: 'person_required' } }

/** Makes a key look like a key that was created before keys recorded who they act as. */
const forgetActor = (id: string) => stored.prepare('update api_keys set acts_as = null where id = ?').bind(id).run()

const callerOf = async (secret: string) => (await client({ 'x-api-key': secret }).get('/api/session')).body

describe('a key', () => {
  it.for([
    [['review'], undefined, 'person'],
    [['ingest', 'manage'], undefined, 'person'],
    [['ingest'], undefined, 'pipeline'],
    [['ingest', 'read'], undefined, 'pipeline'],
    [['read'], 'person', 'person'],
    [['read', 'review', 'manage'], 'agent', 'agent'],
    [['manage'], 'pipeline', 'pipeline'],
  ] as const)('with the scopes %o and actsAs %s has actsAs %s', async ([scopes, actsAs, expected], { expect }) => {
    const org = await newOrg()
    const key = await newKey(org, { scopes, actsAs })
    expect(key.actsAs).toBe(expected)
    expect((await listed(org, key.id)).actsAs).toBe(expected)
    expect((await callerOf(key.key)).actsAs).toBe(expected)
  })

  it('for an owner acts as a person', async ({ expect }) => {
    const org = await newOrg()
    expect((await callerOf(org.ownerKey)).actsAs).toBe('person')
  })

  it('acts as the same kind of actor after its scopes change', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org, { scopes: ['read'] })
    const changed = await org.owner.patch(`/api/api-keys/${id}`, { scopes: ['read', 'review'] })
    expect(changed.body).toMatchObject({ scopes: ['read', 'review'], actsAs: 'pipeline' })
    expect((await listed(org, id)).actsAs).toBe('pipeline')
  })

  it('passes on who it acts as to its sessions, its sign-in links, and its successor', async ({ expect }) => {
    const org = await newOrg()
    const { id, key } = await newKey(org, { scopes: ['read', 'review'], actsAs: 'agent' })
    expect((await page(await signIn(key)).get('/api/session')).body.actsAs).toBe('agent')
    const { token } = (await client({ 'x-api-key': key }).post('/api/sign-in-links')).body
    const opened = await visitor().post('/api/session', { link: token })
    expect((await page(cookieIn(opened)).get('/api/session')).body.actsAs).toBe('agent')
    const { body } = await rotate(org, id)
    expect(body.actsAs).toBe('agent')
    expect((await callerOf(body.key)).actsAs).toBe('agent')
  })
})

describe('a key that was created before keys recorded who they act as', () => {
  it.for([
    [['review'], 'person'],
    [['ingest'], 'pipeline'],
  ] as const)(
    'with the scopes %o has actsAs %s, even after a change or a rotation',
    async ([scopes, actsAs], { expect }) => {
      const org = await newOrg()
      const { id } = await newKey(org, { scopes })
      await forgetActor(id)
      expect((await listed(org, id)).actsAs).toBe(actsAs)
      expect((await org.owner.patch(`/api/api-keys/${id}`, { name: 'CI 2' })).body.actsAs).toBe(actsAs)
      await forgetActor(id)
      const scoped = await org.owner.patch(`/api/api-keys/${id}`, { scopes: ['manage', 'ingest'] })
      expect(scoped.body.actsAs).toBe(actsAs)
      const { body } = await rotate(org, id)
      expect(body.actsAs).toBe(actsAs)
      expect((await callerOf(body.key)).actsAs).toBe(actsAs)
    },
  )
})

describe.for(['agent', 'pipeline'] as const)("a manager's key with actsAs %s", actsAs => {
  const manager = async (org: Org) => {
    const { key } = await newKey(org, { scopes: ['ingest', 'read', 'review', 'manage'], actsAs })
    return [client({ 'x-api-key': key }), page(await signIn(key))]
  }

  it.for([
    [{ scopes: ['read'], actsAs: 'person' }, 403],
    [{ scopes: ['review'] }, 403],
    [{ scopes: ['manage'] }, 403],
    [{ scopes: ['read'] }, 201],
    [{ scopes: ['review'], actsAs: 'agent' }, 201],
    [{ scopes: ['manage'], actsAs: 'pipeline' }, 201],
  ] as const)('can create any key except a person’s: %o', async ([fields, status], { expect }) => {
    const org = await newOrg()
    for (const by of await manager(org)) {
      const before = await keysIn(org)
      const response = await by.post('/api/api-keys', { name: 'x', ...fields })
      if (status === 403) {
        expect(response).toMatchObject(REFUSED)
        expect(await keysIn(org)).toEqual(before)
      } else expect(response.status).toBe(status)
    }
  })

  it('can’t get a person’s key by rotating it', async ({ expect }) => {
    const org = await newOrg()
    const { id } = await newKey(org, { scopes: ['review'] })
    for (const by of await manager(org)) {
      const before = await keysIn(org)
      expect(await by.post(`/api/api-keys/${id}/rotate`)).toMatchObject(REFUSED)
      expect(await keysIn(org)).toEqual(before)
    }
  })
})
