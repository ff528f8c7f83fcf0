import { pathWith } from '../api/client.ts'
import type { SpanFilterName } from '../spans/filters.ts'
import { type Bucket, bucketEnd, type TimeRange } from './window.ts'

type SpanFilters = Partial<Record<SpanFilterName, string | null>>

/** The path to what a number counts: exactly those spans or traces. */
export interface Paths {
  /** The decisions made in a period, or in one of its buckets. */
  decisions: (filters?: SpanFilters, bucket?: Bucket) => string
  /** The outputs of a period's traces that people review. */
  outputs: (filters?: SpanFilters) => string
  /**
   * The traces whose latest answer by an engine names a type, in a period. If the step is null, the answer blames no
   * step.
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
