import { sha256Hex } from './hash.ts'
import { canonicalPieces } from './json.ts'
import { inTurns, type Work } from './turns.ts'

/** What a reviewer can decide about a span's output. */
export const DECISIONS = ['accept', 'correct', 'reset'] as const
export type Decision = (typeof DECISIONS)[number]

/** What a decision can leave a reviewed span as. */
export const REVIEW_OUTCOMES = ['accepted', 'corrected'] as const
export type ReviewOutcome = (typeof REVIEW_OUTCOMES)[number]

/** A span's review state. */
export const REVIEW_STATES = ['unreviewed', ...REVIEW_OUTCOMES] as const

/**
 * Whether a span counts as reviewed. One whose output has changed since the decision does not: it waits in the queue
 * again, and no count of reviewed spans has it. Its `approvedOutput` stays. In SQL: `isReviewed` of `store/core/reviewable.ts`.
 */
export const isReviewed = (review: { isStale: boolean } | undefined): boolean => review !== undefined && !review.isStale

/** A trace's, taken over its spans with an output. */
export const TRACE_REVIEW_STATES = [...REVIEW_STATES, 'mixed'] as const
export type TraceReviewState = (typeof TRACE_REVIEW_STATES)[number]

/**
 * A trace's review state: none of its spans is reviewed; all that have an output are, unchanged or at least one of them
 * changed; or some are. `needsReview`: whether a span with an output may be unreviewed.
 */
export function traceReviewState(trace: {
  reviewedCount: number
  correctedCount: number
  needsReview: boolean
}): TraceReviewState {
  if (trace.reviewedCount === 0) return 'unreviewed'
  if (trace.needsReview) return 'mixed'
  return trace.correctedCount > 0 ? 'corrected' : 'accepted'
}

/** A hash of an output's JSON that is the same for equal values: key order and white space make no difference. */
export const hashOutput = async (json: string): Promise<string> => sha256Hex(await inTurns(canonical(json)))

function* canonical(json: string): Work<string> {
  const pieces: string[] = []
  for (const piece of canonicalPieces(JSON.parse(json))) {
    // A small output is one piece, and waits for nobody.
    if (pieces.length > 0) yield
    pieces.push(piece)
  }
  return pieces.join('')
}

/** Whether two outputs, as `JSON.stringify` writes them, have the same value. */
export const isSameOutput = async (left: string, right: string): Promise<boolean> =>
  left === right || (left.length === right.length && (await hashOutput(left)) === (await hashOutput(right)))
