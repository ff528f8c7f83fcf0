import { describe, expect, it } from 'vitest'
import { mergePages, placeOrder } from '../../src/store/core/across.ts'

const placeOf = ([at, id]: readonly [number, string]) => [at, id] as const

describe('merged pages', () => {
  it.each(['ascending', 'descending'] as const)(
    'contain every item once, in %s order, whatever the databases return',
    direction => {
      const compare = placeOrder(direction)
      const all = Array.from({ length: 40 }, (_, index): [number, string] => [index >> 1, `id-${index}`]).toSorted(
        compare,
      )
      const databases = [0, 1, 2].map(shard => all.filter((_, index) => (index * 7) % 3 === shard))
      for (const limit of [1, 3, 50]) {
        // The third database scans few rows per call, so its pages may be empty even if they have a `nextPlace`.
        const read = (shard: number, after: readonly [number, string] | undefined) => {
          const rest = (databases[shard] ?? []).filter(item => !after || compare(item, after) > 0)
          const scanned = shard === 2 ? rest.slice(0, 2).filter(([, id]) => id.endsWith('1')) : rest.slice(0, limit)
          const end = shard === 2 ? rest[1] : scanned.at(-1)
          const hasMore = shard === 2 ? rest.length > 2 : rest.length > limit
          return { items: scanned, nextPlace: hasMore && end ? placeOf(end) : null }
        }
        const listed: (readonly [number, string])[] = []
        let after: readonly [number, string] | undefined
        do {
          const pages = [0, 1, 2].map(shard => read(shard, after))
          const page = mergePages(pages, { limit, placeOf, compare })
          expect(page.items.length).toBeLessThanOrEqual(limit)
          listed.push(...page.items)
          after = page.nextPlace ?? undefined
        } while (after)
        expect(listed).toEqual(all.filter(item => !databases[2]?.includes(item) || item[1].endsWith('1')))
      }
    },
  )
})
