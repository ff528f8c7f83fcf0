/** A span as far as it tells how near it is to a disagreement. */
export interface NearSpan {
  id: string
  /** Null or '': it hangs under the root. */
  parentId: string | null
  timestamp: number
  isError: boolean
  isReviewed: boolean
}

/**
 * Up to `limit` of a trace's spans, those first that lie nearest to what people said: the root, the spans with feedback or a
 * review, what they hang under, those with an error, then the latest before them, then the first after them. Where people
 * spoke of the root alone, all the others lie before it, as what it was made of.
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

/** What spans hang under, the nearest first; a span that hangs under itself by way of others is no reason to go round. */
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
