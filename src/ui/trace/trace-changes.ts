import type { Feedback, Span, SpanOfTrace, Trace } from '../api/wire.ts'

/*
 * What becomes of a trace that is shown when something in it changes, so that 10,000 spans need not be read again.
 */

/** A trace with one of its spans as it is now. */
export function withSpan(trace: Trace, { trace: _, ...span }: SpanOfTrace): Trace {
  const spans = trace.spans.map(other => (other.id === span.id ? span : other))
  return { ...trace, spans, ...reviewOf(spans) }
}

/** A trace with feedback added, or as it is now where it had it. */
export function withFeedback(trace: Trace, feedback: Feedback): Trace {
  const isKnown = trace.feedback.some(({ id }) => id === feedback.id)
  return withAllFeedback(
    trace,
    isKnown
      ? trace.feedback.map(other => (other.id === feedback.id ? feedback : other))
      : [...trace.feedback, feedback],
  )
}

export const withoutFeedback = (trace: Trace, feedbackId: string): Trace =>
  withAllFeedback(
    trace,
    trace.feedback.filter(({ id }) => id !== feedbackId),
  )

const withAllFeedback = (trace: Trace, feedback: Feedback[]): Trace => ({
  ...trace,
  feedback,
  feedbackCount: feedback.length,
})

/** A trace's review state, as the service tells it of its spans with an output. */
function reviewOf(spans: readonly Span[]): Pick<Trace, 'reviewedCount' | 'staleCount' | 'reviewState'> {
  const reviewed = spans.filter(isReviewed)
  const staleCount = spans.filter(({ review }) => review.stale).length
  const isOpen = spans.some(span => span.output !== null && !isReviewed(span))
  const isCorrected = reviewed.some(({ review }) => review.state === 'corrected')
  const state = isOpen ? 'mixed' : isCorrected ? 'corrected' : 'accepted'
  return { reviewedCount: reviewed.length, staleCount, reviewState: reviewed.length === 0 ? 'unreviewed' : state }
}

/** Whether a span counts as reviewed: a stale review does not. */
const isReviewed = ({ review }: Span): boolean => review.state !== 'unreviewed' && !review.stale
