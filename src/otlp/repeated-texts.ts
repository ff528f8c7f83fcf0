import { MAX_SHARING_DEPTH } from '../limits.ts'
import type { ExportedSpan } from '../store/spans/exported-spans.ts'

/**
 * Offers each text in a trace for review once. A span that only passes on the text of a span below it becomes
 * `as_root`: it's offered only if it's the root, and the store itself compares the texts of roots. This function sees
 * only one export, but a client sends a wrapper right after the span that it wraps.
 */
export function offerOnce(spans: readonly ExportedSpan[]): ExportedSpan[] {
  const byId = new Map(spans.map(span => [span.id, span]))
  const wrappers = new Set<ExportedSpan>()
  for (const { textHash, reviewability, parentId } of spans) {
    if (textHash === null || reviewability !== 'always') continue
    let above = byId.get(parentId)
    for (let depth = 0; above && depth < MAX_SHARING_DEPTH; depth++) {
      if (above.textHash === textHash && !above.isNamed) wrappers.add(above)
      above = byId.get(above.parentId)
    }
  }
  return spans.map(span => (wrappers.has(span) ? { ...span, reviewability: 'as_root' } : span))
}
