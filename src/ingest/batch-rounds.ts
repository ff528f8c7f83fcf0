import type { SpanDraft } from '../store/spans/spans.ts'
import type { NamedFeedback } from './feedback.ts'

/** Events of one id that are stored as one. */
interface Merged<Draft> {
  indexes: number[]
  draft: Draft
}

/**
 * Drafts in rounds of which each has an id once: a later event of an id must find what the earlier ones left. Neighbors
 * that are sure to fare alike are merged, so that a span which is sent a hundred times in a batch is no hundred rounds.
 */
export function roundsOf<Draft>(
  items: readonly { index: number; draft: Draft }[],
  idOf: (draft: Draft) => string,
  merge: (earlier: Draft, later: Draft) => Draft | undefined,
): Merged<Draft>[][] {
  const rounds: Merged<Draft>[][] = []
  const latest = new Map<string, { merged: Merged<Draft>; round: number }>()
  for (const { index, draft } of items) {
    const before = latest.get(idOf(draft))
    const both = before && merge(before.merged.draft, draft)
    if (before && both) {
      before.merged.draft = both
      before.merged.indexes.push(index)
      continue
    }
    const merged = { indexes: [index], draft }
    const round = before ? before.round + 1 : 0
    latest.set(idOf(draft), { merged, round })
    const others = rounds[round]
    if (others) others.push(merged)
    else rounds.push([merged])
  }
  return rounds
}

/** Two calls on one span as one, if either would be refused for the same reason as the other. */
export const mergeSpans = (earlier: SpanDraft, later: SpanDraft): SpanDraft | undefined =>
  earlier.traceUuid === later.traceUuid && earlier.promptVersionId === later.promptVersionId
    ? overlay(earlier, later)
    : undefined

/** Two calls on one piece of feedback as one, if both name one span and no other labeller comes into it. */
export function mergeFeedback(earlier: NamedFeedback, later: NamedFeedback): NamedFeedback | undefined {
  const { labeller } = later.fields
  const isSameLabeller = labeller === null || JSON.stringify(labeller) === JSON.stringify(earlier.fields.labeller)
  const { traceUuid, spanId, receivedAt } = earlier.fields
  if (traceUuid !== later.fields.traceUuid || spanId !== later.fields.spanId || !isSameLabeller) return undefined
  return { ...earlier, fields: { ...overlay(earlier.fields, later.fields), receivedAt } }
}

/** What was sent later over what was sent earlier; null was not sent. */
function overlay<Fields extends object>(earlier: Fields, later: Fields): Fields {
  const merged = { ...earlier }
  for (const field in later) if (later[field] !== null) merged[field] = later[field]
  return merged
}
