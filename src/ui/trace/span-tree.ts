/*
 * A trace's spans as the lines of a tree, with their times. Spans come from pipelines: a parent may be missing or late,
 * parents may form cycles, and a chain may be as long as the trace.
 */

/** The fields of a span that the tree needs. */
export interface TreeSpan {
  id: string
  parentSpanId: string | null
  /** ISO 8601, UTC. */
  createdAt: string
  durationMs: number | null
}

/** A span's line. Its descendants follow it. */
export interface SpanRow<Span extends TreeSpan = TreeSpan> {
  span: Span
  /** 0 for a root. */
  depth: number
  /** The parent's index among the rows; -1 if none. */
  parent: number
  childCount: number
  /** The number of rows that the span and its descendants take up. */
  size: number
  /** The span's position among its siblings, counted from 1, and the number of siblings, including the span. */
  place: number
  siblings: number
  /** Milliseconds from the tree's start. Both are equal if the duration is unknown. */
  start: number
  end: number
  /** Whether the span is under the root because its parent is missing. */
  isOrphan: boolean
}

export interface SpanTree<Span extends TreeSpan = TreeSpan> {
  /** Parents come before their children, and children are in the order of the spans. */
  rows: readonly SpanRow<Span>[]
  /** Each span's row index, by ID. */
  indexOf: ReadonlyMap<string, number>
  /** The tree's start, in milliseconds since 1970. */
  begin: number
  /** The time from the tree's start to the last span's end, in milliseconds; at least 1. */
  length: number
}

/** The start and duration of the trace. */
export interface TraceTime {
  createdAt: string
  durationMs: number | null
}

/** The tree of spans. If the root has no duration, it gets the trace's duration. */
export function spanTree<Span extends TreeSpan>(spans: readonly Span[], trace: TraceTime): SpanTree<Span> {
  const { roots, childrenOf, orphans } = family(spans)
  const root = roots[0]
  const time = timeOf(spans, trace, root)
  const rows: SpanRow<Span>[] = []
  const indexOf = new Map<string, number>()
  const open: { siblings: readonly Span[]; next: number; parent: number; depth: number }[] = [
    { siblings: roots, next: 0, parent: -1, depth: 0 },
  ]
  for (let level = open.at(-1); level; level = open.at(-1)) {
    const span = level.siblings[level.next]
    if (!span) {
      open.pop()
      const parent = rows[level.parent]
      if (parent) parent.size = rows.length - level.parent
      continue
    }
    level.next += 1
    const index = rows.length
    const children = childrenOf.get(span.id) ?? []
    const start = Date.parse(span.createdAt) - time.begin
    const taken = span.durationMs ?? (span === root ? trace.durationMs : null) ?? 0
    indexOf.set(span.id, index)
    rows.push({
      span,
      depth: level.depth,
      parent: level.parent,
      childCount: children.length,
      size: 1,
      place: level.next,
      siblings: level.siblings.length,
      start,
      end: start + taken,
      isOrphan: orphans.has(span),
    })
    if (children.length > 0) open.push({ siblings: children, next: 0, parent: index, depth: level.depth + 1 })
  }
  return { rows, indexOf, ...time }
}

/**
 * Each span's parent. Spans with a missing parent, and one span from each cycle, go under the root, or become roots if
 * there's no root.
 */
function family<Span extends TreeSpan>(spans: readonly Span[]) {
  const known = new Set(spans.map(({ id }) => id))
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === null)
  const named = new Map<string, Span[]>()
  for (const span of spans) {
    if (span.parentSpanId === null || !known.has(span.parentSpanId)) continue
    const children = named.get(span.parentSpanId)
    if (children) children.push(span)
    else named.set(span.parentSpanId, [span])
  }
  const reached = new Set<Span>()
  const reach = (from: readonly Span[]) => {
    const open = [...from]
    for (let span = open.pop(); span; span = open.pop()) {
      if (reached.has(span)) continue
      reached.add(span)
      for (const child of named.get(span.id) ?? []) open.push(child)
    }
  }
  reach(roots)
  const orphans = new Set<Span>()
  const adopt = (span: Span) => {
    if (reached.has(span)) return
    orphans.add(span)
    reach([span])
  }
  for (const span of spans) if (span.parentSpanId !== null && !known.has(span.parentSpanId)) adopt(span)
  for (const span of spans) adopt(span)
  const root = roots[0]
  if (orphans.size === 0) return { roots, childrenOf: named, orphans }
  // The children stay in the order of the spans, and each span appears once.
  const isChildOf = (parent: string) => (span: Span) =>
    orphans.has(span) ? parent === root?.id : span.parentSpanId === parent
  const childrenOf = new Map([...named].map(([parent, children]) => [parent, children.filter(isChildOf(parent))]))
  if (!root) return { roots: spans.filter(span => orphans.has(span)), childrenOf, orphans }
  childrenOf.set(root.id, spans.filter(isChildOf(root.id)))
  return { roots, childrenOf, orphans }
}

function timeOf<Span extends TreeSpan>(spans: readonly Span[], trace: TraceTime, root: Span | undefined) {
  let begin = Number.POSITIVE_INFINITY
  let end = Number.NEGATIVE_INFINITY
  for (const span of spans) {
    const start = Date.parse(span.createdAt)
    const taken = span.durationMs ?? (span === root ? trace.durationMs : null) ?? 0
    begin = Math.min(begin, start)
    end = Math.max(end, start + taken)
  }
  if (spans.length === 0) begin = end = Date.parse(trace.createdAt)
  return { begin, length: Math.max(end - begin, 1) }
}

/** The visible rows: those that aren't under a folded row. */
export function unfoldedRows<Span extends TreeSpan>(
  { rows }: SpanTree<Span>,
  folded: ReadonlySet<string>,
): readonly SpanRow<Span>[] {
  if (folded.size === 0) return rows
  const shown: SpanRow<Span>[] = []
  for (let index = 0; index < rows.length; ) {
    const row = rows[index]
    if (!row) break
    shown.push(row)
    index += folded.has(row.span.id) ? row.size : 1
  }
  return shown
}

/** The matching rows and their ancestors, folded or not. */
export function foundRows<Span extends TreeSpan>(
  { rows }: SpanTree<Span>,
  isMatch: (span: Span) => boolean,
): { rows: readonly SpanRow<Span>[]; matches: ReadonlySet<string> } {
  const matches = new Set<string>()
  const needed = new Set<number>()
  for (const [index, { span }] of rows.entries()) {
    if (!isMatch(span)) continue
    matches.add(span.id)
    for (let at = index; at >= 0 && !needed.has(at); at = rows[at]?.parent ?? -1) needed.add(at)
  }
  return { rows: rows.filter((_, index) => needed.has(index)), matches }
}

/** The folded set without a span's ancestors, so that the span is visible. */
export function foldedToShow(
  { rows, indexOf }: SpanTree,
  id: string,
  folded: ReadonlySet<string>,
): ReadonlySet<string> {
  const above: string[] = []
  for (let at = rows[indexOf.get(id) ?? -1]?.parent ?? -1; at >= 0; at = rows[at]?.parent ?? -1) {
    const ancestor = rows[at]
    if (ancestor && folded.has(ancestor.span.id)) above.push(ancestor.span.id)
  }
  if (above.length === 0) return folded
  const changed = new Set(folded)
  for (const ancestor of above) changed.delete(ancestor)
  return changed
}
