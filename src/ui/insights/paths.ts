import { pathWith } from '../api/client.ts'
import type { SpanFilterName } from '../spans/filters.ts'
import { type Bucket, bucketEnd, type TimeRange } from './window.ts'

type SpanFilters = Partial<Record<SpanFilterName, string | null>>

/** The paths to exactly the spans or traces that a number counts. */
export interface Paths {
  /** The decisions made in a period, or in one of its buckets. */
  decisions: (filters?: SpanFilters, bucket?: Bucket) => string
  /** The outputs that people review in a period's traces. */
  outputs: (filters?: SpanFilters) => string
  /**
   * A period's traces in which an engine's latest answer names a type. If the step is null, that answer blames no step.
   */
  answers: (errorType: string, stepId?: string | null) => string
}

/** The paths for a project's numbers in a period. */
export const pathsIn = (project: string, { from, to }: TimeRange): Paths => ({
  decisions: (filters = {}, bucket) =>
    pathWith('/spans', {
      project,
      ...filters,
      reviewedFrom: bucket ? `${bucket.from}T00:00:00.000Z` : from,
      reviewedTo: bucket ? bucketEnd(bucket) : to,
    }),
  outputs: (filters = {}) => pathWith('/spans', { project, ...filters, reviewable: 'true', from, to }),
  answers: (engineErrorType, stepId) =>
    pathWith('/traces', {
      project,
      engineErrorType,
      ...(stepId === null ? { engineHasStep: 'false' } : { engineStepId: stepId }),
      engineFrom: from,
      engineTo: to,
    }),
})
