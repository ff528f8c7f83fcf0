/** What a reviewer can decide about a span's output. */
export const DECISIONS = ['accept', 'correct', 'reset'] as const
export type Decision = (typeof DECISIONS)[number]

/** What a decision can leave a reviewed span as. */
export const REVIEW_OUTCOMES = ['accepted', 'corrected'] as const
export type ReviewOutcome = (typeof REVIEW_OUTCOMES)[number]

/** A span's review state. */
export const REVIEW_STATES = ['unreviewed', ...REVIEW_OUTCOMES] as const

/** A trace's, taken over its spans with an output. */
export const TRACE_REVIEW_STATES = [...REVIEW_STATES, 'mixed'] as const
export type TraceReviewState = (typeof TRACE_REVIEW_STATES)[number]

/**
 * A trace's review state: none of its spans is reviewed; all that have an output are, unchanged or at least one of them
 * changed; or some are.
 */
export function traceReviewState(spans: {
  reviewed: number
  corrected: number
  /** Whether a span with an output has no review. */
  isPartial: boolean
}): TraceReviewState {
  if (spans.reviewed === 0) return 'unreviewed'
  if (spans.isPartial) return 'mixed'
  return spans.corrected > 0 ? 'corrected' : 'accepted'
}
