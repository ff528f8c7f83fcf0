import type { Insights } from '../api/wire.ts'
import { type Bucket, bucketIndex } from './window.ts'

/** The decisions of one reviewer, or of several combined. */
export interface Reviewer {
  /** A key that contains no person's name. */
  key: string
  /** Null for several reviewers combined. */
  userId: string | null
  name: string
  /** The number of the bar's color and pattern. It depends on the person and, in rare cases, on who else reviewed. */
  style: number
  total: number
  activeDays: number
  /** By bucket. */
  reviewed: number[]
}

/** The most reviewers that a chart shows separately. */
const MAX_APART = 5

/** One more, because the combined reviewers also have a style. */
const STYLES = MAX_APART + 1
const ALL_STYLES = Array.from({ length: STYLES }, (_, style) => style)

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
        style: 0,
        total: totalOf(days.map(day => day.reviewed)),
        activeDays: days.length,
        reviewed,
      }
    })
    .toSorted((left, right) => right.total - left.total || (left.name < right.name ? -1 : 1))
    .map((reviewer, index) => ({ ...reviewer, key: `reviewer${index}` }))

/** The reviewers that a chart shows separately, and the rest combined. */
export function shownSeparately(reviewers: readonly Reviewer[]): Reviewer[] {
  if (reviewers.length <= MAX_APART + 1) return withStyles(reviewers, ALL_STYLES)
  const others = reviewers.slice(MAX_APART)
  return [
    ...withStyles(reviewers.slice(0, MAX_APART), ALL_STYLES.slice(0, MAX_APART)),
    {
      key: 'others',
      userId: null,
      name: `${others.length} others`,
      style: MAX_APART,
      total: totalOf(others.map(({ total }) => total)),
      activeDays: Math.max(...others.map(({ activeDays }) => activeDays)),
      reviewed: (others[0]?.reviewed ?? []).map((_, index) =>
        totalOf(others.map(({ reviewed }) => reviewed[index] ?? 0)),
      ),
    },
  ]
}

/**
 * Gives each person a distinct style: the one that their ID selects or, if that's taken, the next free one. So a
 * person's style rarely depends on who else reviewed in the period.
 */
function withStyles(reviewers: readonly Reviewer[], unused: readonly number[]): Reviewer[] {
  const styleOf = new Map<string | null, number>()
  let free = unused
  const people = reviewers.map(({ userId }) => userId ?? '').toSorted()
  for (const userId of people) {
    const wanted = (Number.parseInt(userId.slice(-6), 16) || 0) % STYLES
    const style = free.find(each => each >= wanted) ?? free[0] ?? 0
    free = free.filter(each => each !== style)
    styleOf.set(userId, style)
  }
  return reviewers.map(reviewer => ({ ...reviewer, style: styleOf.get(reviewer.userId) ?? 0 }))
}

const totalOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)
