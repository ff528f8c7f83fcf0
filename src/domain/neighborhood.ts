/** The parts of a span that determine its distance from a disagreement. */
export interface NearSpan {
  id: string
  /** Null or '' if its parent is the root. */
  parentId: string | null
  timestamp: number
  isError: boolean
  isReviewed: boolean
}

/**
 * Up to `limit` of a trace's spans, ordered by distance from what people said: the root; spans with feedback or a
 * review; their ancestors; spans with an error; the spans before the last span with feedback or a review, latest first;
 * and the spans after it. If people commented only on the root, the spans without an error come last, latest first.
 */
export function nearestSpans<Span extends NearSpan>(
  root: Span,
  others: readonly Span[],
  spansWithFeedback: ReadonlySet<string>,
  limit: number,
): Span[] {
  const marked = others.filter(({ id, isReviewed }) => isReviewed || spansWithFeedback.has(id))
  const until = marked.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...marked.map(({ timestamp }) => timestamp))
  const byTime = others.toSorted((left, right) => left.timestamp - right.timestamp || (left.id < right.id ? -1 : 1))
  const isBefore = ({ timestamp }: Span) => timestamp <= until
  const inOrder = [
    root,
    ...marked,
    ...ancestorsOf(marked, others),
    ...others.filter(({ isError }) => isError),
    ...byTime.filter(isBefore).toReversed(),
    ...byTime.filter(span => !isBefore(span)),
  ]
  return [...new Set(inOrder)].slice(0, limit)
}

/** The ancestors of spans, nearest first. Stops even if a span is its own ancestor. */
function ancestorsOf<Span extends NearSpan>(spans: readonly Span[], all: readonly Span[]): Span[] {
  const byId = new Map(all.map(span => [span.id, span]))
  const found = new Set<Span>()
  let level = spans
  while (level.length > 0) {
    const parents = level.flatMap(({ parentId }) => byId.get(parentId ?? '') ?? []).filter(span => !found.has(span))
    for (const span of parents) found.add(span)
    level = parents
  }
  return [...found]
}
