import type { Insights } from '../api/wire.ts'
import { type Bucket, bucketIndex } from './window.ts'

/** The decisions of one reviewer, or of several combined. */
export interface Reviewer {
  /** A key without a person's name. */
  key: string
  /** Null if these are several. */
  userId: string | null
  name: string
  total: number
  activeDays: number
  /** By bucket. */
  reviewed: number[]
}

/** The most reviewers that a chart shows separately. */
const MAX_APART = 5

/** Everyone who reviewed, busiest first. */
export const throughput = (reviewers: Insights['reviewers'], buckets: readonly Bucket[]): Reviewer[] =>
  reviewers
    .map(({ userId, name, days }) => {
      const byBucket = Map.groupBy(days, ({ day }) => bucketIndex(buckets, day))
      const reviewed = buckets.map((_, index) => totalOf((byBucket.get(index) ?? []).map(day => day.reviewed)))
      return {
        key: userId,
        userId,
        name,
        total: totalOf(days.map(day => day.reviewed)),
        activeDays: days.length,
        reviewed,
      }
    })
    .toSorted((left, right) => right.total - left.total || (left.name < right.name ? -1 : 1))
    .map((reviewer, index) => ({ ...reviewer, key: `reviewer${index}` }))

/** The reviewers that a chart shows separately, and the rest combined. */
export function shownSeparately(reviewers: readonly Reviewer[]): Reviewer[] {
  if (reviewers.length <= MAX_APART + 1) return [...reviewers]
  const others = reviewers.slice(MAX_APART)
  return [
    ...reviewers.slice(0, MAX_APART),
    {
      key: 'others',
      userId: null,
      name: `${others.length} others`,
      total: totalOf(others.map(({ total }) => total)),
      activeDays: Math.max(...others.map(({ activeDays }) => activeDays)),
      reviewed: (others[0]?.reviewed ?? []).map((_, index) =>
        totalOf(others.map(({ reviewed }) => reviewed[index] ?? 0)),
      ),
    },
  ]
}

const totalOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)
