import { sql } from 'drizzle-orm'
import { JsonText } from '../../domain/json.ts'
import type { Decision } from '../../domain/review-state.ts'
import { MAX_SUGGESTION_BYTES } from '../../limits.ts'
import { bounded, bytesSoFar } from '../core/bounds.ts'
import { named, readPlain } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { suggestions } from '../schema/reviews.ts'
import { type FoundValue, type ShownMode, type ShownValue, showValues } from '../traces/payloads.ts'
import type { FoldedSpan } from './fold-spans.ts'
import { isCommentCut, shownComment } from './shown-comment.ts'
import { byTime } from './vote-rows.ts'

/** A decision that an agent suggests for a span. */
export interface Suggestion {
  id: string
  /** The agent: a user's id, or the id of a key that acts for no user. */
  userId: string
  createdAt: number
  decision: Decision
  /** The suggested correction. `null` if the agent doesn't suggest a correction. */
  approvedOutput: JsonText
  comment: string | null
  errorType: string | null
  /** The fields that hold only previews: `approvedOutput`, `comment`. */
  truncated: readonly ('approvedOutput' | 'comment')[]
}

const PLACES = rowSet(['traceKey', 'spanId'])

const bytes = bytesSoFar(suggestions.approved, suggestions.comment)
const MAX_BYTES = sql.raw(String(MAX_SUGGESTION_BYTES))

const fields = {
  ...named({
    traceKey: suggestions.traceKey,
    spanId: suggestions.spanId,
    id: suggestions.id,
    userId: suggestions.userId,
    createdAt: suggestions.createdAt,
    decision: suggestions.decision,
    outputRevision: suggestions.outputRevision,
    approvedRef: suggestions.approvedRef,
    errorType: suggestions.errorType,
  }),
  approved: bounded(suggestions.approved, bytes, MAX_BYTES, 'approved'),
  comment: bounded(suggestions.comment, bytes, MAX_BYTES, 'comment'),
  isCut: sql<number>`(${bytes} > ${MAX_BYTES})`.as('isCut'),
}

/**
 * Reads the suggestions on spans' current outputs, oldest first. Takes one round trip, or none if no agent has ever
 * suggested a decision on the spans. Corrections in R2 are shown in full up to `MAX_SUGGESTION_BYTES`, or up to
 * `maxBytes` for a single span. Returns undefined if an R2 object is gone.
 */
export async function readSuggestions(
  store: Store,
  spans: readonly FoldedSpan[],
  mode: ShownMode,
  maxBytes: number = MAX_SUGGESTION_BYTES,
): Promise<ReadonlyMap<FoldedSpan, Suggestion[]> | undefined> {
  const marked = spans.filter(({ row }) => row.hasSuggestions === 1)
  if (marked.length === 0) return new Map()
  const places = PLACES.encodeAll(marked.map(({ row: { traceKey, id } }) => ({ traceKey, spanId: id })))
  const [rows] = await readPlain(store.database, [
    store.database
      .select(fields)
      .from(PLACES.from(places))
      .crossJoin(suggestions)
      .where(sql`${suggestions.traceKey} = ${PLACES.row.traceKey} and ${suggestions.spanId} = ${PLACES.row.spanId}`),
  ])
  const found = Map.groupBy(
    rows.toSorted(byTime).map(row => ({ ...row, value: correctionOf(row) })),
    ({ traceKey, spanId, outputRevision }) => placeOf(traceKey, spanId, outputRevision),
  )
  const current = marked.map(span => {
    const { row, outputRevision } = span
    return [span, found.get(placeOf(row.traceKey, row.id, outputRevision)) ?? []] as const
  })
  const values = current.flatMap(([, rows]) => rows.flatMap(({ value }) => value ?? []))
  const shown = await showValues(store, values, mode, spans.length === 1 ? maxBytes : MAX_SUGGESTION_BYTES)
  return shown && new Map(current.map(([span, rows]) => [span, rows.map(row => toSuggestion(row, shown, mode))]))
}

interface SuggestionRow extends Omit<Suggestion, 'approvedOutput' | 'truncated'> {
  isCut: number
  value: FoundValue | undefined
}

const placeOf = (traceKey: number, spanId: string, outputRevision: string) => `${traceKey}/${spanId}/${outputRevision}`

const correctionOf = (row: {
  traceKey: number
  approved: string | null
  approvedRef: string | null
  isCut: number
}): FoundValue | undefined =>
  row.approved === null
    ? undefined
    : { text: row.approved, ref: row.approvedRef, folder: row.traceKey, isCut: row.isCut === 1 }

function toSuggestion(
  { id, userId, createdAt, decision, comment, errorType, isCut, value }: SuggestionRow,
  shown: ReadonlyMap<FoundValue, ShownValue>,
  mode: ShownMode,
): Suggestion {
  const texts = showTexts({ comment, isCut, value }, shown, mode)
  return { id, userId, createdAt, decision, errorType, ...texts }
}

/**
 * The correction and comment of a suggestion or a vote. `isCut` means that only the beginning of the comment was read.
 */
export function showTexts(
  { comment, isCut, value }: { comment: string | null; isCut: number; value: FoundValue | undefined },
  shown: ReadonlyMap<FoundValue, ShownValue>,
  mode: ShownMode,
): Pick<Suggestion, 'approvedOutput' | 'comment' | 'truncated'> {
  const approved = value && shown.get(value)
  const hasCutComment = comment !== null && (isCut === 1 || isCommentCut(comment, mode))
  return {
    approvedOutput: new JsonText(approved?.text ?? 'null'),
    comment: shownComment(comment, mode),
    truncated: [
      ...(approved && !approved.isWhole ? (['approvedOutput'] as const) : []),
      ...(hasCutComment ? (['comment'] as const) : []),
    ],
  }
}
