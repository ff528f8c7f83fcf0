import { describe, it } from 'vitest'
import { NEAR_TEXTS_BYTES, NEAR_TEXTS_SHARE_BYTES } from '../../src/limits.ts'
import { TenantCache } from '../../src/store/core/tenant-cache.ts'

const newCache = () => new TenantCache<number>({ maxBytes: 100, maxShareBytes: 30 })

describe('the cache with shares', () => {
  it("keeps a tenant within its share, and evicts that tenant's least recently used entry", ({ expect }) => {
    const cache = newCache()
    cache.set('other', 'a', 0, 30)
    for (const [key, value] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const)
      cache.set('one', key, value, 10)
    expect(cache.get('one', 'a')).toBe(1)
    cache.set('one', 'd', 4, 10)
    expect(['a', 'b', 'c', 'd'].map(key => cache.get('one', key))).toEqual([1, undefined, 3, 4])
    expect(cache.get('other', 'a')).toBe(0)
  })

  it('keeps an entry that is as large as a share, but not a larger one', ({ expect }) => {
    const cache = newCache()
    cache.set('one', 'a', 1, 30)
    expect(cache.get('one', 'a')).toBe(1)
    cache.set('one', 'a', 2, 31)
    expect(cache.get('one', 'a')).toBeUndefined()
  })

  it('keeps the entries of other tenants if all shares fit, no matter how many entries one tenant adds', ({
    expect,
  }) => {
    const cache = newCache()
    for (const tenant of ['b', 'c']) cache.set(tenant, 'key', 1, 30)
    for (let each = 0; each < 1000; each++) cache.set('a', String(each), each, 7)
    expect(['b', 'c'].map(tenant => cache.get(tenant, 'key'))).toEqual([1, 1])
    expect(cache.get('a', '999')).toBe(999)
  })

  it('evicts entries of the tenant that has been idle the longest if the cache is full', ({ expect }) => {
    const cache = newCache()
    for (const tenant of ['a', 'b', 'c']) cache.set(tenant, 'key', 1, 30)
    expect(cache.get('a', 'key')).toBe(1)
    cache.set('d', 'key', 1, 30)
    expect(['a', 'b', 'c', 'd'].map(tenant => cache.get(tenant, 'key'))).toEqual([1, undefined, 1, 1])
  })

  it('stops counting an entry once it is replaced or deleted', ({ expect }) => {
    const cache = newCache()
    for (let each = 0; each < 10; each++) cache.set('a', 'key', each, 30)
    for (const tenant of ['b', 'c']) cache.set(tenant, 'key', 1, 30)
    expect(cache.get('a', 'key')).toBe(9)
    cache.delete('a')
    cache.set('d', 'key', 1, 30)
    expect(['a', 'b', 'c', 'd'].map(tenant => cache.get(tenant, 'key'))).toEqual([undefined, 1, 1, 1])
  })

  it('has room for the shares of several organizations', ({ expect }) => {
    expect(NEAR_TEXTS_BYTES / NEAR_TEXTS_SHARE_BYTES).toBeGreaterThanOrEqual(8)
  })
})
