import fc from 'fast-check'
import { describe, it } from 'vitest'
import {
  BUCKET_GROWTH,
  bucketOf,
  DURATION_BUCKETS,
  type DurationHistogram,
  percentile,
  sumHistograms,
} from '../../src/domain/duration-histogram.ts'

const histogramOf = (durations: readonly number[]): DurationHistogram =>
  sumHistograms(durations.map(duration => ({ [bucketOf(duration)]: 1 })))

/** The smallest duration that's at least as long as this share of the durations. */
const exact = (durations: readonly number[], share: number): number =>
  durations.toSorted((left, right) => left - right)[Math.ceil(share * durations.length) - 1] ?? 0

describe('a histogram of durations', () => {
  const LAST_BOUND = BUCKET_GROWTH ** (DURATION_BUCKETS - 2)
  const anyDuration = fc.oneof(
    fc.nat(20),
    fc.nat(10_000),
    fc.double({ min: 0, max: Math.log(LAST_BOUND), noNaN: true }).map(power => Math.floor(Math.exp(power))),
  )

  it('gives percentiles to within 15.5%', ({ expect }) => {
    fc.assert(
      fc.property(fc.array(anyDuration, { minLength: 1 }), fc.constantFrom(0.01, 0.5, 0.95, 1), (durations, share) => {
        const estimated = percentile(histogramOf(durations), share) ?? -1
        const true_ = exact(durations, share)
        expect(Math.abs(estimated - true_)).toBeLessThanOrEqual((Math.sqrt(BUCKET_GROWTH) - 1) * true_ + 0.5)
      }),
    )
  })

  it('equals the sum of the histograms of its parts', ({ expect }) => {
    fc.assert(
      fc.property(fc.array(fc.array(anyDuration)), parts => {
        expect(sumHistograms(parts.map(histogramOf))).toEqual(histogramOf(parts.flat()))
      }),
    )
  })

  it('has a bucket for every duration', ({ expect }) => {
    expect([0, 0.9, 1, 2, 1000, 1e300].map(bucketOf)).toEqual([0, 0, 1, 3, 25, DURATION_BUCKETS - 1])
    expect(percentile(histogramOf([0, 0, 0]), 0.95)).toBe(0)
    expect(percentile(histogramOf([1e12]), 0.5)).toBe(Math.round(LAST_BOUND))
    expect(percentile({}, 0.5)).toBe(null)
  })
})
