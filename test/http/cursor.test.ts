import { describe, it } from 'vitest'
import { sha256Hex } from '../../src/domain/hash.ts'
import { pageOf } from '../../src/http/cursor.ts'
import { MAX_CURSOR_LENGTH } from '../../src/limits.ts'
import { countingBindings } from '../support/bindings.ts'
import { isSharded } from '../support/database.ts'
import { newOrg } from '../support/org.ts'

const LIST = ['list', 'tenant']

/** A cursor with a valid tag. Anyone who reads the code can build one. */
async function forged(payload: string): Promise<string> {
  const tag = (await sha256Hex(JSON.stringify([...LIST, payload]))).slice(0, 16)
  return btoa(tag + payload)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

async function readPage(cursor: string): Promise<unknown> {
  let after: unknown
  await pageOf({
    list: LIST,
    query: { limit: 10, cursor },
    place: ['number', 'string'],
    read: async (_, place) => {
      after = place
      return { items: [], nextPlace: null }
    },
  })
  return after
}

describe('a forged cursor', () => {
  it('works if its position is valid', async ({ expect }) => {
    expect(await readPage(await forged('[1,"a"]'))).toEqual([1, 'a'])
  })

  it.for<[string, string]>([
    ['one value too few', '[1]'],
    ['one value too many', '[1,"a",2]'],
    ['different types', '["1",2]'],
    ['null', 'null'],
    ['an object', '{"0":1,"1":"a","length":2}'],
    ['a list as a value', '[[1],"a"]'],
    ['a number that overflows', '[1e999,"a"]'],
    ['half a surrogate pair', '[1,"\\ud800"]'],
    ['deep nesting', '['.repeat(5000)],
    ['invalid JSON', 'a'],
  ])('400s with %s', async ([, payload], { expect }) => {
    await expect(readPage(await forged(payload))).rejects.toMatchObject({ status: 400 })
  })

  it.for(['', '%', '====', 'é', '\u0000', '😀', 'a'.repeat(16)])('400s as %j', async (cursor, { expect }) => {
    await expect(readPage(cursor)).rejects.toMatchObject({ status: 400 })
  })
})

describe('a URL of the platform’s maximum length', () => {
  it.for([
    ['cursor', '/api/traces?projectSlug=support&cursor='],
    ['cursor', '/api/prompts?projectSlug=support&cursor='],
    ['cursor', '/api/audit-log?cursor='],
    ['limit', '/api/traces?projectSlug=support&limit='],
    ['from', '/api/traces?projectSlug=support&from='],
    ['review', '/api/traces?projectSlug=support&review='],
  ])('gets a 400 for its %s, with no database query: %s', async ([field, path], { expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    await org.read.get('/api/projects')
    const { bindings, counts } = countingBindings()
    const response = await org.clientOf(org.ownerKey, bindings).get(path + 'A'.repeat(16_000))
    expect(response.status).toBe(400)
    expect(response.body.details[0].path).toBe(field)
    expect(JSON.stringify(response.body).length).toBeLessThan(1000)
    expect(counts.d1RoundTrips).toBe(0)
  })

  it.for([
    '/api/traces?projectSlug=',
    '/api/traces?projectSlug=support&name=',
    '/api/traces?projectSlug=support&stepId=',
    '/api/traces?projectSlug=support&errorType=',
    '/api/traces?projectSlug=support&metadata.a=',
    `/api/traces?projectSlug=support&metadata.${'b'.repeat(1000)}=`,
    '/api/v1/traces/search?a=',
  ])('causes at most one query per database: %s', async (path, { expect }) => {
    const org = await newOrg()
    await org.bearer().get('/api/traces?projectSlug=support')
    const { bindings, counts } = countingBindings()
    const response = await org.bearer(bindings).get(path + 'A'.repeat(15_000))
    expect([200, 404]).toContain(response.status)
    expect(counts.d1RoundTrips).toBeLessThanOrEqual(isSharded ? 2 : 1)
  })

  it('leaves room for any cursor', ({ expect }) => {
    // A cursor contains up to 256 characters of two escaped units each, a time, and a tag, all encoded in base64.
    expect(Math.ceil((256 * 12 + 100) * (4 / 3))).toBeLessThan(MAX_CURSOR_LENGTH)
  })
})
