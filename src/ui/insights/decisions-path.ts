import { pathWith } from '../api/client.ts'
import type { SpanFilterName } from '../spans/filters.ts'
import { type Bucket, bucketEnd, type TimeRange } from './window.ts'

/** Selects some of the counted decisions. */
type DecisionFilters = Partial<Record<SpanFilterName, string | null>>

/** Where to see a period's decisions: the link of a number that counts them. */
export type DecisionsPath = (filters?: DecisionFilters, bucket?: Bucket) => string

/** The paths of a project's decisions in a period, or in one of its buckets. */
export const decisionsPath =
  (project: string, { from, to }: TimeRange): DecisionsPath =>
  (filters = {}, bucket) =>
    pathWith('/spans', {
      project,
      ...filters,
      reviewedFrom: bucket ? `${bucket.from}T00:00:00.000Z` : from,
      reviewedTo: bucket ? bucketEnd(bucket) : to,
    })
