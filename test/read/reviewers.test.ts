import { beforeAll, describe, it } from 'vitest'
import { MAX_REVIEWER_IDS } from '../../src/limits.ts'
import { aFeedback, aTrace } from '../support/builders.ts'
import { newOrg, type Org } from '../support/org.ts'

let org: Org
beforeAll(async () => {
  org = await newOrg()
})

const namesOf = async (ids: readonly string[], from: Org = org) =>
  (await from.read.get(`/api/reviewers?ids=${ids.join(',')}`)).body.reviewers

const newKey = async (name: string, fields: object = {}): Promise<string> =>
  (await org.owner.post('/api/api-keys', { name, scopes: ['review'], ...fields })).body.id

describe('the names of reviewers', () => {
  it('are returned for users and keys, in the order of the ids', async ({ expect }) => {
    const user = (await org.owner.post('/api/users', { email: 'ada@example.com', name: 'Ada' })).body
    const trace = aTrace()
    await org.ingest.post('/api/v1/traces', trace)
    await org.ingest.post(
      '/api/v1/feedback',
      aFeedback({ trace_id: trace.trace_id, labeller: { email: 'Kofi@example.com' } }),
    )
    const { users } = (await org.owner.get('/api/users')).body
    const labeler = users.find(({ email }: { email: string }) => email === 'kofi@example.com')
    const own = await newKey('Script')
    const adas = await newKey("Ada's", { userId: user.id })
    const ids = [own, labeler.id, crypto.randomUUID(), adas, user.id.toUpperCase(), own]
    expect(await namesOf(ids)).toEqual([
      { id: own, name: 'Script' },
      { id: labeler.id, name: 'kofi@example.com' },
      { id: adas, name: "Ada's" },
      { id: user.id, name: 'Ada' },
    ])
  })

  it('are not revealed to another organization', async ({ expect }) => {
    const { id } = (await org.owner.post('/api/users', { email: 'mei@example.com', name: 'Mei' })).body
    const ids = [id, await newKey('Secret')]
    expect(await namesOf(ids)).toHaveLength(2)
    expect(await namesOf(ids, await newOrg())).toEqual([])
  })

  it('can be requested for 100 ids', async ({ expect }) => {
    const ids = Array.from({ length: MAX_REVIEWER_IDS }, () => crypto.randomUUID())
    expect(await namesOf(ids)).toEqual([])
  })

  it.for([
    ['no ids', '/api/reviewers', 'ids'],
    ['an empty list', '/api/reviewers?ids=', 'ids.0'],
    ['an invalid id', `/api/reviewers?ids=${crypto.randomUUID()},x`, 'ids.1'],
    ['a trailing comma', `/api/reviewers?ids=${crypto.randomUUID()},`, 'ids.1'],
    ['101 ids', `/api/reviewers?ids=${Array.from({ length: 101 }, () => crypto.randomUUID()).join(',')}`, 'ids'],
  ] as const)('cannot be requested with %s', async ([, path, field], { expect }) => {
    const response = await org.read.get(path)
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(field)
  })
})
