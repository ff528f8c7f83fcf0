import type { SpanDraft } from '../store/spans/spans.ts'
import type { NamedFeedback } from './feedback.ts'

/** Events with one id that are stored together. */
interface Merged<Draft> {
  indexes: number[]
  draft: Draft
}

/**
 * Splits drafts into rounds in which each id occurs once: a later event with the same id must see the result of the
 * earlier ones. Consecutive events that can only succeed or fail together are merged, so that a span sent a hundred
 * times in a batch doesn't need a hundred rounds.
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

/** Merges two calls on one span if they would be rejected for the same reasons. */
export const mergeSpans = (earlier: SpanDraft, later: SpanDraft): SpanDraft | undefined =>
  earlier.traceUuid === later.traceUuid && earlier.promptVersionId === later.promptVersionId
    ? { ...overlay(earlier, later), modelUse: overlay(earlier.modelUse, later.modelUse) }
    : undefined

/**
 * Merges two calls on one piece of feedback if both name the same span, the labeler doesn't change, and both or
 * neither are imported.
 */
export function mergeFeedback(earlier: NamedFeedback, later: NamedFeedback): NamedFeedback | undefined {
  const { labeller } = later.fields
  const isSameLabeler = labeller === null || JSON.stringify(labeller) === JSON.stringify(earlier.fields.labeller)
  const { traceUuid, spanId, isImported, receivedAt } = earlier.fields
  const isSamePlace = traceUuid === later.fields.traceUuid && spanId === later.fields.spanId
  if (!isSamePlace || !isSameLabeler || isImported !== later.fields.isImported) return undefined
  return { ...earlier, fields: { ...overlay(earlier.fields, later.fields), receivedAt } }
}

/** Fields sent later replace earlier ones. Null means not sent. */
function overlay<Fields extends object>(earlier: Fields, later: Fields): Fields {
  const merged = { ...earlier }
  for (const field in later) if (later[field] !== null) merged[field] = later[field]
  return merged
}
