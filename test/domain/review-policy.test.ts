import { describe, it } from 'vitest'
import { isSampled, SAMPLING_RANKS, samplingRank } from '../../src/domain/review-policy.ts'
import { ID_KINDS } from '../support/span-ids.ts'

describe('sampling', () => {
  it.for(Object.entries(ID_KINDS))('samples %s ids evenly', ([, idOf], { expect }) => {
    const ids = Array.from({ length: 20_000 }, (_, index) => idOf(index))
    for (const sample of [0.01, 0.1, 0.5]) {
      // The tolerance is 5 standard deviations. A random choice would exceed it once in two million times.
      const tolerance = 5 * Math.sqrt(ids.length * sample * (1 - sample))
      const picked = ids.filter(id => isSampled(id, sample))
      expect(Math.abs(picked.length - ids.length * sample)).toBeLessThan(tolerance)
      // The same holds within each part of the ids, and for ids that follow a sampled id.
      for (let at = 0; at < ids.length; at += 2000) {
        const part = ids.slice(at, at + 2000).filter(id => isSampled(id, sample)).length
        expect(Math.abs(part - 2000 * sample)).toBeLessThan(5 * Math.sqrt(2000 * sample * (1 - sample)))
      }
      const pairs = ids.filter(
        (id, index) => index > 0 && isSampled(id, sample) && isSampled(ids[index - 1] ?? '', sample),
      )
      expect(Math.abs(pairs.length - ids.length * sample ** 2)).toBeLessThan(5 * Math.sqrt(ids.length) * sample + 5)
    }
    expect(new Set(ids.map(samplingRank)).size).toBeGreaterThan(0.999 * ids.length)
  })

  it('never changes, and a larger sample includes every smaller one', ({ expect }) => {
    // Different ranks would change which spans are reviewed in every project.
    expect(samplingRank('00000000-0000-4000-8000-000000000001')).toBe(1_240_751_685)
    expect(samplingRank('3F2B8C1A-6D4E-4F7A-9B2C-1E5D8A7F6C31')).toBe(
      samplingRank('3f2b8c1a-6d4e-4f7a-9b2c-1e5d8a7f6c31'),
    )
    for (let index = 0; index < 100; index++) {
      const id = crypto.randomUUID()
      const rank = samplingRank(id)
      expect(rank).toBeGreaterThanOrEqual(0)
      expect(rank).toBeLessThan(SAMPLING_RANKS)
      expect(isSampled(id, 0)).toBe(false)
      expect(isSampled(id, 1)).toBe(true)
      expect(isSampled(id, (rank + 1) / SAMPLING_RANKS)).toBe(true)
      expect(isSampled(id, rank / SAMPLING_RANKS)).toBe(false)
    }
  })
})
