import { mergeInputs } from '../../domain/fold.ts'
import { JsonText } from '../../domain/json.ts'
import type { ReviewOutcome } from '../../domain/review-state.ts'
import type { SpanStatus } from '../../domain/span.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import { MAX_BRIEF_METADATA_BYTES, MAX_SPAN_BYTES, PREVIEW_BYTES } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { briefly, type FoundValue, lengthOf, type ShownMode, type ShownValue, showValues } from '../traces/payloads.ts'
import type { FoldedSpan } from './fold-spans.ts'

/** A span with its values, as answers show it. */
export interface SpanDetail {
  id: string
  parentId: string | null
  stepId: string
  status: SpanStatus | null
  durationMs: number | null
  promptVersionId: string | null
  metadata: JsonText
  timestamp: number
  /** Null where it came before the service kept that. */
  receivedAt: number | null
  input: JsonText
  output: JsonText
  /** `null` where the span is unreviewed. */
  approvedOutput: JsonText
  /** By key. */
  state: Record<string, JsonText>
  review: SpanReview | undefined
  /** Names what there was to judge, and what was decided: it changes with the output and with each decision. */
  revision: string
  /** The fields that are previews of their values: `input`, `output`, `approvedOutput`, `state.<key>`, `metadata`. */
  truncated: string[]
}

/** The decision that counts, where the span is reviewed. */
export interface SpanReview {
  state: ReviewOutcome
  userId: string
  createdAt: number
  comment: string | null
  errorType: string | null
  /** Whether the output has changed since. */
  isStale: boolean
}

/** All values of a span. */
const valuesOf = ({ inputs, output, state, approved }: FoldedSpan): FoundValue[] => [
  ...inputs,
  ...(output ? [output] : []),
  ...state.map(([, value]) => value),
  ...(approved ? [approved] : []),
]

/** How much of a span an answer shows in full, in bytes of R2 or units of its rows: what is in R2 where it is fetched alone. */
export function sizeOf(span: FoldedSpan, mode: ShownMode): number {
  const shown = mode === 'full' ? valuesOf(span) : valuesOf(span).filter(({ ref }) => ref === null)
  const { row, decision } = span
  const beside = (row.metadata?.length ?? 0) + (decision?.comment?.length ?? 0)
  return shown.reduce((sum, value) => sum + lengthOf(value), beside)
}

/** Whether some of a span was not read for want of room. */
export const isAnyCut = (span: FoldedSpan): boolean =>
  span.row.isCut === 1 || span.leftOut.length > 0 || valuesOf(span).some(({ isCut }) => isCut)

/**
 * Spans as answers show them, `maxBytes` of their values in full. Undefined where an object is gone, as it is when the trace is
 * purged meanwhile.
 */
export async function showSpans(
  store: Store,
  folded: readonly FoldedSpan[],
  mode: ShownMode,
  maxBytes: number = MAX_SPAN_BYTES,
): Promise<SpanDetail[] | undefined> {
  const shown = await showValues(store, folded.flatMap(valuesOf), mode, maxBytes)
  return shown && folded.map(span => detailOf(span, shown, mode))
}

function detailOf(span: FoldedSpan, shown: ReadonlyMap<FoundValue, ShownValue>, mode: ShownMode): SpanDetail {
  const { row, parentId, inputs, output, state, approved, leftOut } = span
  const shownOf = (value: FoundValue | undefined) => (value && shown.get(value)) ?? NOTHING
  const shownInputs = inputs.map(shownOf)
  const shownOutput = shownOf(output)
  const shownApproved = shownOf(approved)
  const shownState = state.map(([key, value]) => [key, shownOf(value)] as const)
  const shownInput = inputOf(shownInputs, span.messageCount, mode)
  const metadata = row.metadata ?? '{}'
  const isMetadataCut = row.isMetadataCut === 1 || (mode === 'brief' && metadata.length > MAX_BRIEF_METADATA_BYTES)
  return {
    id: row.id,
    parentId,
    stepId: row.stepId,
    status: row.status,
    durationMs: row.durationMs,
    promptVersionId: row.promptVersionId,
    timestamp: row.timestamp,
    receivedAt: row.receivedAt,
    metadata: new JsonText(isMetadataCut ? '{}' : metadata),
    input: new JsonText(shownInput.text),
    output: new JsonText(shownOutput.text),
    approvedOutput: new JsonText(shownApproved.text),
    review: reviewOf(span, mode),
    revision: revisionOf(span),
    state: Object.fromEntries(shownState.map(([key, { text }]) => [key, new JsonText(text)])),
    truncated: [
      ...(shownInput.isWhole && !leftOut.includes('input') ? [] : ['input']),
      ...(shownOutput.isWhole ? [] : ['output']),
      ...(shownApproved.isWhole ? [] : ['approvedOutput']),
      ...shownState.filter(([, { isWhole }]) => !isWhole).map(([key]) => `state.${key}`),
      ...(row.isStateCut === 1 || leftOut.includes('state') ? ['state'] : []),
      ...(isMetadataCut ? ['metadata'] : []),
      ...(isCommentCut(span, mode) ? ['review.comment'] : []),
    ],
  }
}

const NOTHING: ShownValue = { text: 'null', isWhole: true }

/** What a reviewer's `If-Match` compares. */
export const revisionOf = ({ outputRevision, row: { reviewNumber } }: FoldedSpan): string =>
  reviewNumber === 0 ? outputRevision : `${outputRevision}.${reviewNumber}`

function reviewOf(span: FoldedSpan, mode: ShownMode): SpanReview | undefined {
  const { decision, row } = span
  if (!decision?.state) return undefined
  const { state, userId, createdAt, errorType } = decision
  const comment = isCommentCut(span, mode) ? cutText(decision.comment ?? '', PREVIEW_BYTES) : decision.comment
  return { state, userId, createdAt, comment, errorType, isStale: row.isStale === 1 }
}

const isCommentCut = ({ decision }: FoldedSpan, mode: ShownMode): boolean =>
  mode === 'brief' && Boolean(decision?.state) && utf8Length(decision?.comment ?? '') > PREVIEW_BYTES

/** Only several inputs need to be parsed, to become one. Where one is a preview, it stands for all. */
function inputOf(inputs: readonly ShownValue[], messageCount: number, mode: ShownMode): ShownValue {
  const [first, ...more] = inputs
  if (!first) return NOTHING
  if (more.length === 0 && messageCount === 0) return first
  const preview = inputs.find(({ text, isWhole }) => !isWhole && text.startsWith('"'))
  if (preview) return preview
  const merged = mergeInputs(
    inputs.map(({ text }) => JSON.parse(text)),
    messageCount,
  )
  const text = JSON.stringify(merged)
  return mode === 'brief' ? briefly(text) : { text, isWhole: inputs.every(({ isWhole }) => isWhole) }
}
