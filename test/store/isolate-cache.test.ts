import { describe, it } from 'vitest'
import { IsolateCache } from '../../src/store/core/isolate-cache.ts'

describe('the isolate cache', () => {
  it('evicts the least recently used entry only when it is full', ({ expect }) => {
    const cache = new IsolateCache<number>(2)
    cache.set('a', 1)
    cache.set('b', 2)
    expect(cache.get('a')).toBe(1)
    cache.set('c', 3)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3])
    cache.delete('a')
    expect(cache.get('a')).toBeUndefined()
  })
})
