import type { Feedback, Span, SpanOfTrace, Trace } from '../api/wire.ts'

/*
 * Updates a loaded trace after a change, so that 10,000 spans don't have to be loaded again.
 */

/** A trace with one span replaced. */
export function withSpan(trace: Trace, { trace: _, ...span }: SpanOfTrace): Trace {
  const spans = trace.spans.map(other => (other.id === span.id ? span : other))
  return { ...trace, spans, ...reviewOf(trace, spans) }
}

/** A trace with the next page of its spans or feedback. The page's other fields are newer and replace the trace's. */
export function withPage(trace: Trace, page: Trace): Trace {
  return {
    ...page,
    spans: withoutDuplicates([...trace.spans, ...page.spans]),
    nextSpanCursor: page.spans.length > 0 ? page.nextSpanCursor : trace.nextSpanCursor,
    feedback: withoutDuplicates([...trace.feedback, ...page.feedback]),
    nextFeedbackCursor: page.feedback.length > 0 ? page.nextFeedbackCursor : trace.nextFeedbackCursor,
  }
}

/** An item that's written after the first page was loaded may appear again on a later page. */
const withoutDuplicates = <Item extends { id: string }>(items: readonly Item[]): Item[] => [
  ...new Map(items.map(item => [item.id, item])).values(),
]

/** A trace with feedback added or replaced. */
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
  feedbackCount: trace.feedbackCount + feedback.length - trace.feedback.length,
})

/**
 * A trace's review state, computed in the same way as in the service, from the spans that have an output. Spans that
 * aren't loaded haven't changed.
 */
function reviewOf(trace: Trace, spans: readonly Span[]): Pick<Trace, 'reviewedCount' | 'staleCount' | 'reviewState'> {
  const before = trace.spans.filter(hasOwnReview)
  const after = spans.filter(hasOwnReview)
  const change = (isCounted: (span: Span) => boolean) =>
    after.filter(isCounted).length - before.filter(isCounted).length
  const reviewedCount = trace.reviewedCount + change(isReviewed)
  const staleCount = trace.staleCount + change(({ output, review }) => output !== null && review.stale)
  const isOpen = trace.nextSpanCursor !== null || after.some(span => span.output !== null && !isReviewed(span))
  const isCorrected = after.some(span => isReviewed(span) && span.review.state === 'corrected')
  const state = isOpen ? 'mixed' : isCorrected ? 'corrected' : 'accepted'
  return { reviewedCount, staleCount, reviewState: reviewedCount === 0 ? 'unreviewed' : state }
}

/** Whether a span has a review of its own. A root that shows a step's review isn't counted. */
const hasOwnReview = ({ review }: Span): boolean => review.reviewedBy === null

/** Whether a span counts as reviewed. A stale review doesn't count. */
const isReviewed = ({ review }: Span): boolean => review.state !== 'unreviewed' && !review.stale
