import fc from 'fast-check'
import { describe, it } from 'vitest'
import { defaultSplit, sampleThreshold, samplingHash } from '../../src/domain/dataset-split.ts'

const ids = (count: number) => Array.from({ length: count }, (_, index) => `item ${index}`)

describe("an item's default split", () => {
  it('is `test` for about a fifth of the items', ({ expect }) => {
    const splits = ids(10_000).map(inputHash => defaultSplit({ group: undefined, inputHash }))
    const share = splits.filter(split => split === 'test').length / splits.length
    // The tolerance is five standard deviations of a binomial with 10,000 trials.
    expect(Math.abs(share - 0.2)).toBeLessThan(0.02)
  })

  it('follows from its group, regardless of its input', ({ expect }) => {
    const aText = fc.string()
    fc.assert(
      fc.property(aText, aText, aText, (group, first, second) => {
        expect(defaultSplit({ group, inputHash: first })).toBe(defaultSplit({ group, inputHash: second }))
      }),
    )
  })

  it('is the same for equal inputs without a group', ({ expect }) => {
    const splits = ids(100).map(inputHash => defaultSplit({ group: undefined, inputHash }))
    expect(splits).toEqual(ids(100).map(inputHash => defaultSplit({ group: undefined, inputHash })))
    const ofGroups = ids(100).map(group => defaultSplit({ group, inputHash: '' }))
    expect(ofGroups).not.toEqual(splits)
  })

  it('never changes', ({ expect }) => {
    const groups = ['', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    // Computed by hand: the output of printf 'group:a' | sha256sum starts with 0a5…, which is under a fifth of 2 ** 32.
    expect(groups.filter(group => defaultSplit({ group, inputHash: 'x' }) === 'test')).toEqual(['a', 'i'])
  })
})

describe('a sample', () => {
  const sample = (seed: string, from: readonly string[], size: number): string[] => {
    const threshold = sampleThreshold(
      from.map(id => samplingHash(seed, id)),
      size,
    )
    return from.filter(id => threshold === null || samplingHash(seed, id) <= threshold)
  }

  it('has the requested size, or all items if there are fewer', ({ expect }) => {
    fc.assert(
      fc.property(fc.nat(60), fc.integer({ min: 1, max: 60 }), fc.string(), (count, size, seed) => {
        expect(sample(seed, ids(count), size)).toHaveLength(Math.min(count, size))
      }),
    )
  })

  it('is the same for the same seed, in any order, and different for a different seed', ({ expect }) => {
    const [first, again, other] = [
      sample('a', ids(1000), 100),
      sample('a', ids(1000).toReversed(), 100),
      sample('b', ids(1000), 100),
    ]
    expect(again.toReversed()).toEqual(first)
    expect(other).not.toEqual(first)
  })

  it('keeps its items when other items are removed', ({ expect }) => {
    const hashes = ids(1000).map(id => samplingHash('a', id))
    const threshold = sampleThreshold(hashes, 100) ?? ''
    const left = hashes.filter((_, index) => index % 2 === 0)
    expect(left.filter(hash => hash <= threshold).length).toBeLessThan(100)
  })

  it('selects items evenly', ({ expect }) => {
    const picked = sample('seed', ids(10_000), 5000)
    const early = picked.filter(id => Number(id.slice(5)) < 5000).length
    expect(Math.abs(early - 2500)).toBeLessThan(200)
  })
})
