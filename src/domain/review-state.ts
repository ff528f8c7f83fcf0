import { sha256Hex } from './hash.ts'
import { canonicalPieces } from './json.ts'
import { inTurns, type Work } from './turns.ts'

/** A reviewer's decision about a span's output. */
export const DECISIONS = ['accept', 'correct', 'reset'] as const
export type Decision = (typeof DECISIONS)[number]

/** The states in which a decision can leave a span. */
export const REVIEW_OUTCOMES = ['accepted', 'corrected'] as const
export type ReviewOutcome = (typeof REVIEW_OUTCOMES)[number]

/**
 * The basis of a decision: the `votes` of several reviewers who agree, or the `adjudication` of votes that don't agree
 * or aren't all in.
 */
export const REVIEW_BASES = ['votes', 'adjudication'] as const
export type ReviewBasis = (typeof REVIEW_BASES)[number]

/** A span's review state. */
export const REVIEW_STATES = ['unreviewed', ...REVIEW_OUTCOMES] as const

/**
 * The review states that lists of spans filter by. A span whose output changed after the decision is `stale`, and only
 * an output that still needs a first review is `unreviewed`. Both are `waiting`, and the others are `reviewed`.
 */
export const SPAN_REVIEW_FILTERS = [...REVIEW_STATES, 'stale', 'reviewed', 'waiting'] as const
export type SpanReviewFilter = (typeof SPAN_REVIEW_FILTERS)[number]

/**
 * Whether a span counts as reviewed. If its output changed after the decision, it doesn't: it's back in the queue, and
 * no count of reviewed spans includes it. Its `approvedOutput` stays. `isReviewed` in `store/core/reviewable.ts` is the
 * SQL.
 */
export const isReviewed = (review: { isStale: boolean } | undefined): boolean => review !== undefined && !review.isStale

/** A trace's review state, over its spans with an output. */
export const TRACE_REVIEW_STATES = [...REVIEW_STATES, 'mixed'] as const
export type TraceReviewState = (typeof TRACE_REVIEW_STATES)[number]

/**
 * A trace's review state: `unreviewed` if no span is reviewed, `mixed` if only some are, `corrected` if all are and at
 * least one output was changed, and `accepted` otherwise. `needsReview` says whether a span with an output may be
 * unreviewed.
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

/** A hash of an output's JSON. Equal values have the same hash, regardless of key order and whitespace. */
export const hashOutput = async (json: string): Promise<string> => sha256Hex(await inTurns(canonical(json)))

function* canonical(json: string): Work<string> {
  const pieces: string[] = []
  for (const piece of canonicalPieces(JSON.parse(json))) {
    // A small output is one piece and doesn't yield.
    if (pieces.length > 0) yield
    pieces.push(piece)
  }
  return pieces.join('')
}

/** Whether two outputs, as written by `JSON.stringify`, have the same value. */
export const isSameOutput = async (left: string, right: string): Promise<boolean> =>
  left === right || (left.length === right.length && (await hashOutput(left)) === (await hashOutput(right)))
