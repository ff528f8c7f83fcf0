import type { Insights } from '../api/wire.ts'
import { type Bucket, bucketIndex } from './window.ts'

/** What a project's model calls used in one bucket. */
export interface BucketUse {
  tokens: number
  costUsd: number
}

/** What model calls used, by bucket. */
export function usageByBucket({ useDays }: Pick<Insights, 'useDays'>, buckets: readonly Bucket[]): BucketUse[] {
  const byBucket = Map.groupBy(useDays, ({ day }) => bucketIndex(buckets, day))
  return buckets.map((_, index) => {
    const days = byBucket.get(index) ?? []
    return {
      tokens: days.reduce((sum, { usage }) => sum + (usage ? tokensIn(usage) : 0), 0),
      costUsd: days.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0),
    }
  })
}

/**
 * The versions of all steps, most expensive first. If costs are equal or unknown, versions that used more tokens come
 * first.
 */
export const rankedVersions = ({ versions }: Pick<Insights, 'versions'>): Insights['versions'] =>
  versions.toSorted(
    (left, right) =>
      (right.costUsd ?? -1) - (left.costUsd ?? -1) ||
      (right.usage ? tokensIn(right.usage) : -1) - (left.usage ? tokensIn(left.usage) : -1) ||
      (left.stepId < right.stepId ? -1 : 1),
  )

/** The total number of input and output tokens. */
export const tokensIn = ({ inputTokens, outputTokens }: NonNullable<Insights['usage']>): number =>
  inputTokens + outputTokens
