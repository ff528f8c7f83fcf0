import { mergeInputs } from '../../domain/fold.ts'
import { JsonText } from '../../domain/json.ts'
import type { ModelUse } from '../../domain/model-use.ts'
import { isReviewed, type ReviewBasis, type ReviewOutcome } from '../../domain/review-state.ts'
import type { SpanStatus } from '../../domain/span.ts'
import { MAX_BRIEF_METADATA_BYTES, MAX_SPAN_BYTES } from '../../limits.ts'
import { type Assignment, toAssignments } from '../core/assignees.ts'
import { type ClaimColumns, type SpanClaim, toClaims } from '../core/claims.ts'
import type { Store, Viewer } from '../core/store.ts'
import { type FoundValue, lengthOf, type ShownMode, type ShownValue, showValues, toBrief } from '../traces/payloads.ts'
import type { FoldedSpan } from './fold-spans.ts'
import { isCommentCut, shownComment } from './shown-comment.ts'
import { readSuggestions, type Suggestion } from './suggestions.ts'
import { NO_VOTES, readVotes, type ShownVotes } from './votes.ts'

/** A span with its values, as shown in responses. */
export interface SpanDetail extends ModelUse, Omit<ShownVotes, 'reviewers'> {
  id: string
  parentId: string | null
  stepId: string
  status: SpanStatus | null
  durationMs: number | null
  promptVersionId: string | null
  metadata: JsonText
  timestamp: number
  /** Null if the span arrived before the service recorded arrival times. */
  receivedAt: number | null
  input: JsonText
  output: JsonText
  /** `null` if the span is unreviewed. */
  approvedOutput: JsonText
  /** Keyed by state key. */
  state: Record<string, JsonText>
  review: SpanReview | undefined
  /** If the review was made on another span with the same text, that span's id. */
  reviewedBy: string | null
  /** The claims on the span that the viewer may see, the viewer's own first. Some may have expired. */
  claims: readonly SpanClaim[]
  /** Who is assigned to decide, if nobody has decided yet. */
  assignees: readonly Assignment[]
  /** How many people review the span, as far as the viewer may know. */
  reviewers: number
  /** The decisions that agents suggest on the current output, oldest first. */
  suggestions: readonly Suggestion[]
  /** Identifies the output and the decision on it. Changes when either of them changes. */
  revision: string
  /**
   * The fields that hold only previews: `input`, `output`, `approvedOutput`, `state.<key>`, `metadata`. Suggestions and
   * votes have lists for their own fields.
   */
  truncated: string[]
}

/** The current decision on a reviewed span. */
export interface SpanReview {
  state: ReviewOutcome
  userId: string
  createdAt: number
  comment: string | null
  errorType: string | null
  /** Null if one reviewer decided alone. */
  basis: ReviewBasis | null
  /** Whether the output has changed since the decision. */
  isStale: boolean
}

/** All of a span's values. */
const valuesOf = ({ inputs, output, state, approved }: FoldedSpan): FoundValue[] => [
  ...inputs,
  ...(output ? [output] : []),
  ...state.map(([, value]) => value),
  ...(approved ? [approved] : []),
]

/**
 * The total length of the values that a response shows in full: bytes for values that are fetched from R2, and UTF-16
 * code units for values in rows.
 */
export function sizeOf(span: FoldedSpan, mode: ShownMode): number {
  const shown = mode === 'full' ? valuesOf(span) : valuesOf(span).filter(({ ref }) => ref === null)
  const { row, decision } = span
  const textLength = (row.metadata?.length ?? 0) + (decision?.comment?.length ?? 0)
  return shown.reduce((sum, value) => sum + lengthOf(value), textLength)
}

/** Whether part of a span wasn't read because it didn't fit. */
export const isAnyCut = (span: FoldedSpan): boolean =>
  span.row.isCut === 1 || span.leftOut.length > 0 || valuesOf(span).some(({ isCut }) => isCut)

/**
 * Prepares spans for a response, with up to `maxBytes` of their values in full. Takes one round trip if agents have
 * ever suggested decisions on any of the spans, and another in parallel if anybody has voted on them. Returns undefined
 * if an R2 object is gone, which happens if the trace is purged in the meantime.
 */
export async function showSpans(
  store: Store,
  folded: readonly FoldedSpan[],
  mode: ShownMode,
  maxBytes: number = MAX_SPAN_BYTES,
): Promise<SpanDetail[] | undefined> {
  const shown = await showValues(store, folded.flatMap(valuesOf), mode, maxBytes)
  const left = shown && Math.max(0, maxBytes - folded.reduce((sum, span) => sum + sizeOf(span, mode), 0))
  const [suggestions, votes] = await Promise.all([
    shown && readSuggestions(store, folded, mode, left),
    shown && readVotes(store, folded, mode, left),
  ])
  return (
    shown &&
    suggestions &&
    votes &&
    folded.map(span => {
      const detail = detailOf(store, span, shown, mode)
      const { reviewers, ...voting } = votes.get(span) ?? NO_VOTES
      return {
        ...detail,
        ...voting,
        reviewers: reviewers ?? detail.reviewers,
        suggestions: suggestions.get(span) ?? [],
      }
    })
  )
}

function detailOf(
  store: Store,
  span: FoldedSpan,
  shown: ReadonlyMap<FoundValue, ShownValue>,
  mode: ShownMode,
): Omit<SpanDetail, 'suggestions' | 'votes' | 'isDisputed'> {
  const { row, parentId, inputs, output, state, approved, leftOut } = span
  const review = reviewOf(span, mode)
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
    model: row.model,
    provider: row.provider,
    usage: row.usage === null ? null : JSON.parse(row.usage),
    costUsd: row.costUsd,
    promptVersionId: row.promptVersionId,
    timestamp: row.timestamp,
    receivedAt: row.receivedAt,
    metadata: new JsonText(isMetadataCut ? '{}' : metadata),
    input: new JsonText(shownInput.text),
    output: new JsonText(shownOutput.text),
    approvedOutput: new JsonText(shownApproved.text),
    review,
    reviewedBy: null,
    claims: claimsOf(store, { row, review }),
    assignees: toAssignments(row.assignees),
    reviewers: reviewersOf(row, review),
    revision: revisionOf(span),
    state: Object.fromEntries(shownState.map(([key, { text }]) => [key, new JsonText(text)])),
    truncated: [
      ...(shownInput.isWhole && !leftOut.includes('input') ? [] : ['input']),
      ...(shownOutput.isWhole ? [] : ['output']),
      ...(shownApproved.isWhole ? [] : ['approvedOutput']),
      ...shownState.filter(([, { isWhole }]) => !isWhole).map(([key]) => `state.${key}`),
      ...(row.isStateCut === 1 || leftOut.includes('state') ? ['state'] : []),
      ...(isMetadataCut ? ['metadata'] : []),
      ...(isCommentCut(reviewedComment(span), mode) ? ['review.comment'] : []),
    ],
  }
}

const NOTHING: ShownValue = { text: 'null', isWhole: true }

/** The revision that a reviewer's `If-Match` is compared with. */
export const revisionOf = ({
  outputRevision,
  row: { reviewNumber },
}: {
  outputRevision: string
  row: { reviewNumber: number }
}): string => (reviewNumber === 0 ? outputRevision : `${outputRevision}.${reviewNumber}`)

/** The current decision on a span. */
export function reviewOf(span: FoldedSpan, mode: ShownMode): SpanReview | undefined {
  const { decision, row } = span
  if (!decision?.state) return undefined
  const { state, userId, createdAt, errorType, basis } = decision
  const comment = shownComment(decision.comment, mode)
  return { state, userId, createdAt, comment, errorType, basis, isStale: row.isStale === 1 }
}

/** The claims on a span that the viewer may see, the viewer's own first. A blind policy hides other people's claims. */
export function claimsOf(
  { isBlind, viewerId }: Viewer,
  { row, review }: { row: ClaimColumns & { hasBlindPolicy: number }; review: Pick<SpanReview, 'isStale'> | undefined },
): SpanClaim[] {
  const claims = toClaims(row)
  const own = claims.filter(({ heldBy }) => heldBy === viewerId)
  const isVeiled = isBlind && row.hasBlindPolicy === 1 && !isReviewed(review)
  return isVeiled ? own : [...own, ...claims.filter(({ heldBy }) => heldBy !== viewerId)]
}

/**
 * How many people review a span that nobody has voted on: 1 if it's decided, otherwise the number that the policy
 * requires.
 */
export const reviewersOf = (
  { policyReviewers }: { policyReviewers: number },
  review: Pick<SpanReview, 'isStale'> | undefined,
): number => (isReviewed(review) ? 1 : policyReviewers)

/** The comment of the current decision. */
const reviewedComment = ({ decision }: FoldedSpan) => (decision?.state ? decision.comment : null)

/**
 * Merges several inputs into one, which requires parsing them. If one of them is only a preview, returns that preview.
 */
export function inputOf(inputs: readonly ShownValue[], messageCount: number, mode: ShownMode): ShownValue {
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
  return mode === 'brief' ? toBrief(text) : { text, isWhole: inputs.every(({ isWhole }) => isWhole) }
}
