import type { Feedback, Span, SpanOfTrace, Trace } from '../api/wire.ts'

/*
 * What becomes of a trace that is shown when something in it changes, so that 10,000 spans need not be read again.
 */

/** A trace with one of its spans as it is now. */
export function withSpan(trace: Trace, { trace: _, ...span }: SpanOfTrace): Trace {
  const spans = trace.spans.map(other => (other.id === span.id ? span : other))
  return { ...trace, spans, ...reviewOf(trace, spans) }
}

/** A trace with the next ones of its spans, or of its feedback. What else the page says is newer, too. */
export function withPage(trace: Trace, page: Trace): Trace {
  return {
    ...page,
    spans: withoutDoubles([...trace.spans, ...page.spans]),
    nextSpanCursor: page.spans.length > 0 ? page.nextSpanCursor : trace.nextSpanCursor,
    feedback: withoutDoubles([...trace.feedback, ...page.feedback]),
    nextFeedbackCursor: page.feedback.length > 0 ? page.nextFeedbackCursor : trace.nextFeedbackCursor,
  }
}

/** What was written after the first page may come again, on the page where its time is. */
const withoutDoubles = <Item extends { id: string }>(items: readonly Item[]): Item[] => [
  ...new Map(items.map(item => [item.id, item])).values(),
]

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
  feedbackCount: trace.feedbackCount + feedback.length - trace.feedback.length,
})

/** A trace's review state, as the service tells it of its spans with an output: of those that are not here nothing has changed. */
function reviewOf(trace: Trace, spans: readonly Span[]): Pick<Trace, 'reviewedCount' | 'staleCount' | 'reviewState'> {
  const change = (isCounted: (span: Span) => boolean) =>
    spans.filter(isCounted).length - trace.spans.filter(isCounted).length
  const reviewedCount = trace.reviewedCount + change(isReviewed)
  const staleCount = trace.staleCount + change(({ output, review }) => output !== null && review.stale)
  const isOpen = trace.nextSpanCursor !== null || spans.some(span => span.output !== null && !isReviewed(span))
  const isCorrected = spans.some(span => isReviewed(span) && span.review.state === 'corrected')
  const state = isOpen ? 'mixed' : isCorrected ? 'corrected' : 'accepted'
  return { reviewedCount, staleCount, reviewState: reviewedCount === 0 ? 'unreviewed' : state }
}

/** Whether a span counts as reviewed: a stale review does not. */
const isReviewed = ({ review }: Span): boolean => review.state !== 'unreviewed' && !review.stale
