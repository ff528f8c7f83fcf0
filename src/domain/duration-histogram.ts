/*
 * Durations are counted in 64 buckets, so that counts of any size can be added up and still give percentiles. Bucket 0
 * has durations below 1 ms. Bucket b from 1 to 62 has durations from (4/3)^(b - 1) up to (4/3)^b ms. Bucket 63 has the
 * rest, from (4/3)^62 ms, or 15.5 hours.
 */

export const DURATION_BUCKETS = 64
/**
 * How much wider each bucket is than the one before. `bucketOf` in `store/counts/output-days.ts` uses the same number.
 */
export const BUCKET_GROWTH = 4 / 3

/** The number of durations by bucket. Empty buckets are left out. */
export type DurationHistogram = Readonly<Record<string, number>>

/** The bucket of a duration in milliseconds. */
export const bucketOf = (durationMs: number): number =>
  durationMs < 1 ? 0 : Math.min(DURATION_BUCKETS - 1, 1 + Math.floor(Math.log(durationMs) / Math.log(BUCKET_GROWTH)))

/** Adds up the counts of several histograms. */
export function sumHistograms(histograms: readonly DurationHistogram[]): DurationHistogram {
  const sums: Record<string, number> = {}
  for (const histogram of histograms) {
    for (const [bucket, count] of Object.entries(histogram)) sums[bucket] = (sums[bucket] ?? 0) + count
  }
  return sums
}

/** How many durations a histogram has. */
export const countDurations = (histogram: DurationHistogram): number =>
  Object.values(histogram).reduce((sum, count) => sum + count, 0)

/**
 * Approximately the smallest duration in milliseconds that at least `share` (above 0, up to 1) of the durations don't
 * exceed, or null if there are none. It's the geometric middle of that duration's bucket, so it's off by at most 15.5%,
 * plus half a millisecond for rounding. Durations below 1 ms are treated as 0, and those in the last bucket as its
 * lower bound.
 */
export function percentile(histogram: DurationHistogram, share: number): number | null {
  const rank = Math.ceil(share * countDurations(histogram))
  let passed = 0
  for (let bucket = 0; bucket < DURATION_BUCKETS; bucket++) {
    passed += histogram[bucket] ?? 0
    if (passed > 0 && passed >= rank) return typicalDuration(bucket)
  }
  return null
}

function typicalDuration(bucket: number): number {
  if (bucket === 0) return 0
  const isLast = bucket === DURATION_BUCKETS - 1
  return Math.round(BUCKET_GROWTH ** (isLast ? bucket - 1 : bucket - 0.5))
}
