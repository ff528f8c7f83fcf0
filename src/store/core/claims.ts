import { sql } from 'drizzle-orm'
import { reviewClaims } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'

/** Who is reviewing a span, and until when. */
export interface SpanClaim {
  /** A user's id, or the id of a key that acts for no user. */
  heldBy: string
  until: number
}

const ofSpan = sql<string | null>`iif(${spans.claimedBy} is null and ${spans.voteNumber} = 0, null, (
  select json_group_array(json_array(claimed.user_id, claimed.until)) from ${reviewClaims} claimed
  where claimed.trace_key = ${spans.traceKey} and claimed.span_id = ${spans.id}))`

/**
 * The claims on the current span besides the one in its row, for `toClaims`. Spans that nobody has claimed or voted on
 * cost no lookup. The query is nested, because drizzle drops the table's name from columns in a selection of one table.
 */
export const moreClaims = sql<string | null>`${ofSpan}`

/** The columns with a span's claims. */
export interface ClaimColumns {
  claimedBy: string | null
  claimedUntil: number | null
  moreClaims: string | null
}

/** All claims on a span, including those that have timed out. */
export function toClaims({ claimedBy, claimedUntil, moreClaims }: ClaimColumns): SpanClaim[] {
  const more: [heldBy: string, until: number][] = JSON.parse(moreClaims ?? '[]')
  return [
    ...(claimedBy !== null && claimedUntil !== null ? [{ heldBy: claimedBy, until: claimedUntil }] : []),
    ...more.map(([heldBy, until]) => ({ heldBy, until })),
  ]
}

/** Removes the claims that have ended from the columns. */
export function withoutClaims(columns: ClaimColumns, hasEnded: (claim: SpanClaim) => boolean): ClaimColumns {
  const { claimedBy: heldBy, claimedUntil: until } = columns
  const more = toClaims({ ...columns, claimedBy: null }).filter(claim => !hasEnded(claim))
  const isRowOver = heldBy === null || until === null || hasEnded({ heldBy, until })
  return {
    claimedBy: isRowOver ? null : heldBy,
    claimedUntil: isRowOver ? null : until,
    moreClaims: JSON.stringify(more.map(claim => [claim.heldBy, claim.until])),
  }
}
