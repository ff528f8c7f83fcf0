import type { JsonText } from '../../domain/json.ts'
import { MAX_SUGGESTION_BYTES } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { type FoundValue, type ShownMode, type ShownValue, showValues } from '../traces/payloads.ts'
import type { FoldedSpan } from './fold-spans.ts'
import { showTexts } from './suggestions.ts'
import { isDecided, isStanding, isVeiled, latestVotes, type StandingVote, toVoteRow, votesOn } from './vote-rows.ts'

/** A vote: what one of several reviewers says about a span. */
export interface Vote {
  /** A user's id, or the id of a key that acts for no user. */
  userId: string
  createdAt: number
  decision: StandingVote['decision']
  /** The correction. `null` if the vote accepts the output. */
  approvedOutput: JsonText
  comment: string | null
  errorType: string | null
  /** The fields that hold only previews: `approvedOutput`, `comment`. */
  truncated: readonly ('approvedOutput' | 'comment')[]
}

/** What a response shows about a span's votes. */
export interface ShownVotes {
  /** The votes on the current output, or those before the current decision, oldest first. */
  votes: readonly Vote[]
  /** Whether the span is waiting for an adjudicator, because all votes are in but don't agree. */
  isDisputed: boolean
  /**
   * How many reviewers have to vote, or had to: the number that the policy required at the time of the first vote. Null
   * if nobody has voted, or if a blind policy hides whether anybody has: even if the viewer has voted too, a number
   * from an earlier policy would reveal that others have voted.
   */
  reviewers: number | null
}

export const NO_VOTES: ShownVotes = { votes: [], isDisputed: false, reviewers: null }

/**
 * Reads the votes on spans, oldest first. Under a blind policy, a reviewer sees only their own votes until the span is
 * decided. Takes one round trip, or none if nobody has ever voted on the spans or if the spans come with their votes.
 * Corrections in R2 are shown in full up to `MAX_SUGGESTION_BYTES`, or up to `maxBytes` for a single span. Returns
 * undefined if an R2 object is gone.
 */
export async function readVotes(
  store: Store,
  spans: readonly FoldedSpan[],
  mode: ShownMode,
  maxBytes: number = MAX_SUGGESTION_BYTES,
): Promise<ReadonlyMap<FoldedSpan, ShownVotes> | undefined> {
  const marked = spans.filter(({ row }) => row.voteNumber > 0)
  const unread = marked.filter(({ votes }) => votes === undefined)
  const [rows] = unread.length > 0 ? await readPlain(store.database, [votesOn(store, unread)]) : [[]]
  const rowsOf = Map.groupBy(rows.map(toVoteRow), ({ traceKey, spanId }) => placeOf(traceKey, spanId))
  const standing = marked.map(span => {
    const { traceKey, id } = span.row
    const found = span.votes ?? rowsOf.get(placeOf(traceKey, id)) ?? []
    const votes = latestVotes(span, found).filter(isStanding)
    // A span that's being voted on already comes with everybody's votes.
    return isVeiled(store, span)
      ? { span, votes: votes.filter(({ userId }) => userId === store.viewerId), isDisputed: false, reviewers: null }
      : { span, votes, isDisputed: isDisputed(span, votes), reviewers: votes[0]?.reviewers ?? null }
  })
  const values = standing.flatMap(({ votes }) => votes.flatMap(({ value }) => value ?? []))
  const shown = await showValues(store, values, mode, spans.length === 1 ? maxBytes : MAX_SUGGESTION_BYTES)
  return (
    shown &&
    new Map(
      standing.map(({ span, votes, ...voting }) => [
        span,
        { votes: votes.map(vote => toVote(vote, shown, mode)), ...voting },
      ]),
    )
  )
}

const placeOf = (traceKey: number, spanId: string) => `${traceKey}/${spanId}`

/** Whether all votes on an undecided span are in. If they agreed, the span would be decided. */
const isDisputed = (span: FoldedSpan, votes: readonly StandingVote[]): boolean =>
  !isDecided(span) && votes.length > 0 && votes.length >= (votes[0]?.reviewers ?? 0)

const toVote = (
  { userId, createdAt, decision, errorType, ...texts }: StandingVote,
  shown: ReadonlyMap<FoundValue, ShownValue>,
  mode: ShownMode,
): Vote => ({ userId, createdAt, decision, errorType, ...showTexts(texts, shown, mode) })
