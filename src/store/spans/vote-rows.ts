import { type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { isReviewed } from '../../domain/review-state.ts'
import { MAX_VOTE_BYTES } from '../../limits.ts'
import { bounded, bytesOf } from '../core/bounds.ts'
import { named } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import type { Store, Viewer } from '../core/store.ts'
import { votes } from '../schema/reviews.ts'
import type { FoundValue } from '../traces/payloads.ts'

/* The rows of votes on spans. A round's votes stay after its decision, and a withdrawn vote stays as a `reset`. */

const MAX_BYTES = sql.raw(String(MAX_VOTE_BYTES))

/**
 * The fields of votes that are read in this order. Once corrections and comments fill `MAX_VOTE_BYTES`, the remaining
 * ones are truncated.
 */
export function voteFields(order: SQL) {
  const soFar = sql`${bytesOf(votes.approved, votes.comment)} over (
    order by ${order}, ${votes.createdAt}, ${votes.id} rows unbounded preceding)`
  return {
    ...named({
      traceKey: votes.traceKey,
      spanId: votes.spanId,
      round: votes.round,
      outputRevision: votes.outputRevision,
      userId: votes.userId,
      id: votes.id,
      decision: votes.decision,
      approvedRef: votes.approvedRef,
      approvedHash: votes.approvedHash,
      errorType: votes.errorType,
      createdAt: votes.createdAt,
      reviewers: votes.reviewers,
    }),
    approved: bounded(votes.approved, soFar, MAX_BYTES, 'approved'),
    comment: bounded(votes.comment, soFar, MAX_BYTES, 'comment'),
    isCut: sql<number>`(${soFar} > ${MAX_BYTES})`.as('isCut'),
  }
}

type RawVote = SelectResultFields<ReturnType<typeof voteFields>>

/** A vote, or the withdrawal of one. */
export interface VoteRow extends Omit<RawVote, 'approved' | 'approvedRef'> {
  /** The correction. */
  value: FoundValue | undefined
}

export const toVoteRow = ({ approved, approvedRef, ...row }: RawVote): VoteRow => ({
  ...row,
  value:
    approved === null
      ? undefined
      : { text: approved, ref: approvedRef, folder: row.traceKey, isCut: row.isCut === 1 && approvedRef === null },
})

const PLACES = rowSet(['traceKey', 'spanId', 'reviewNumber', 'onlyBy'])

/** Selects the votes that spans may show to the viewer. */
export function votesOn(
  store: Store,
  spansWithVotes: readonly (Voted & { row: { traceKey: number; id: string; hasBlindPolicy: number } })[],
) {
  const places = spansWithVotes.map(span => {
    const { traceKey, id, reviewNumber } = span.row
    return { traceKey, spanId: id, reviewNumber, onlyBy: isVeiled(store, span) ? store.viewerId : null }
  })
  const { row } = PLACES
  return store.database
    .select(voteFields(sql`item.key`))
    .from(PLACES.from(PLACES.encodeAll(places)))
    .crossJoin(votes)
    .where(
      sql`${votes.traceKey} = ${row.traceKey} and ${votes.spanId} = ${row.spanId}
        and ${votes.round} between ${row.reviewNumber} - 1 and ${row.reviewNumber}
        and ${votes.userId} = coalesce(${row.onlyBy}, ${votes.userId})`,
    )
}

/** Whether part of a vote wasn't read, because it didn't fit. */
export const isVoteCut = ({ isCut }: VoteRow): boolean => isCut === 1

/** The fields that show which of a span's votes are current. */
interface Voted {
  row: { reviewNumber: number; isStale: number }
  outputRevision: string
  decision: { state: string | null; outputRevision: string } | undefined
}

/** Whether a span has a current decision. */
export const isDecided = ({ row, decision }: Voted): boolean =>
  isReviewed(decision?.state ? { isStale: row.isStale === 1 } : undefined)

/** Whether a blind policy hides from the viewer what others do with a span. */
export const isVeiled = ({ isBlind }: Viewer, span: Voted & { row: { hasBlindPolicy: number } }): boolean =>
  isBlind && span.row.hasBlindPolicy === 1 && !isDecided(span)

/**
 * The latest votes on a span's current output, including withdrawn ones. If the span is decided, these are the votes
 * that came before the decision, on the output that was decided.
 */
export function latestVotes(span: Voted, rows: readonly VoteRow[]): VoteRow[] {
  const { row, decision } = span
  const [round, revision] = isDecided(span)
    ? [row.reviewNumber - 1, decision?.outputRevision]
    : [row.reviewNumber, span.outputRevision]
  return rows.filter(vote => vote.round === round && vote.outputRevision === revision).toSorted(byTime)
}

/** A vote that wasn't withdrawn. */
export type StandingVote = VoteRow & { decision: 'accept' | 'correct' }

export const isStanding = (vote: VoteRow): vote is StandingVote => vote.decision !== 'reset'

export const byTime = (left: { createdAt: number; id: string }, right: { createdAt: number; id: string }): number =>
  left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1)
