import { type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import type { Decision } from '../../domain/review-state.ts'
import { utf8Length } from '../../domain/text.ts'
import { type Act, actorOf, recordActs } from '../accounts/audit.ts'
import { chunkRows } from '../core/chunks.ts'
import { recordEvents } from '../core/outbox.ts'
import { isFree, isUnclaimed } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import { isStanding } from '../core/standing-votes.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { disputes, feedback, reviewClaims, reviews, votes } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLocated, locatedSpans } from '../spans/located-rows.ts'
import { voteFields } from '../spans/vote-rows.ts'
import { isLive } from '../traces/live.ts'
import type { StoredValue } from '../traces/payloads.ts'
import { reopenTraces } from '../traces/traces.ts'

/*
 * Votes on spans that several people review, and a span's claims besides the one in its row. A vote changes nothing in
 * its trace and, in its span, only `voteNumber` and the claims.
 */

/** A reviewer's vote on a span, or its withdrawal, based on an earlier read of the span. */
export interface VoteDraft {
  projectKey: number
  /** A new vote has a new id, even if it replaces the reviewer's earlier one. */
  id: string
  traceKey: number
  spanId: string
  /** The number of decisions when the span was read, and the vote number, which grows with each vote. */
  round: number
  voteNumberBefore: number
  /** The id of the reviewer's vote that it replaces. */
  idBefore: string | null
  outputRevision: string
  outputHash: string
  decision: Decision
  /** The correction, with a hash of its value. Null for other decisions. */
  approved: StoredValue | null
  approvedHash: string | null
  comment: string | null
  errorType: string | null
  reviewers: number
  isBlind: boolean
  isSampled: boolean
  /** Whether the vote may be cast even if others have already claimed all remaining places. */
  takesOver: boolean
  /** How many votes others have cast, and how many places are left after this vote. */
  others: number
  placesLeft: number
  isDisputed: boolean
}

const PLACE = ['id', 'traceKey', 'spanId', 'round', 'outputRevision', 'voteNumberBefore', 'reviewId'] as const
const VOTES = rowSet([
  ...PLACE,
  'outputHash',
  'decision',
  'approved',
  'approvedRef',
  'approvedHash',
  'comment',
  'errorType',
  'reviewers',
  'isBlind',
  'isSampled',
  'takesOver',
  'others',
])
const DISPUTED = rowSet([...PLACE, 'eventId'])
const PLACES = rowSet([...PLACE, 'idBefore', 'placesLeft', 'isDisputed'])

/** A vote and, if it completes a decision, the decision's id. */
type VoteWithReview = VoteDraft & { reviewId?: string }

const rowOf = ({ projectKey: _, approved, isBlind, isSampled, takesOver, reviewId, ...draft }: VoteWithReview) =>
  VOTES.encode({
    ...draft,
    reviewId,
    approved: approved?.text,
    approvedRef: approved?.ref,
    isBlind: Number(isBlind),
    isSampled: Number(isSampled),
    takesOver: Number(takesOver),
  })

/** The size of a vote's row. */
export const voteBytes = (draft: VoteDraft): number => utf8Length(JSON.stringify(rowOf(draft)))

const placeOf = ({ isDisputed, reviewId, ...draft }: VoteWithReview) => ({
  ...draft,
  reviewId,
  isDisputed: Number(isDisputed),
})

const placesOf = (drafts: readonly VoteWithReview[]): SQL => PLACES.from(PLACES.encodeAll(drafts.map(placeOf)))

/**
 * Stores votes that don't complete a decision. Each replaces the reviewer's earlier one on the same output. A vote is
 * skipped if someone else has decided or voted on its span since it was read, or has claimed its last place. Returns
 * the ids of those that are stored. Takes one round trip. Spans must be unique.
 */
export async function addVotes(store: Store, act: Act, drafts: readonly VoteDraft[]): Promise<Set<string>> {
  const stored = new Set<string>()
  for (const { items } of chunkRows(drafts, rowOf)) {
    const places = placesOf(items)
    const [, , rows] = await store.database.batch([
      ...castVotes(store, act, items, places),
      store.database.select({ id: votes.id }).from(places).crossJoin(votes).where(isCast(PLACES.row, act)),
      // From now on, the queue offers the span to other reviewers even if the policy leaves out the trace, unless a
      // blind policy applies to them.
      reopenTraces(store, isLive(store, sql`${traces.key} in (select ${PLACES.row.traceKey} from ${places})`)),
      ...followVotes(store, act, items, places),
    ])
    for (const { id } of rows) stored.add(id)
  }
  return stored
}

/**
 * The statements that record the events of new disputes. Run them in the same batch as the statements that store the
 * disputes, but before those.
 */
function recordDisputes(store: Store, drafts: readonly VoteWithReview[], act: Act) {
  const disputed = Map.groupBy(
    drafts.filter(({ isDisputed }) => isDisputed),
    ({ projectKey }) => projectKey,
  )
  return [...disputed].flatMap(([projectKey, items]) => {
    const rows = DISPUTED.encodeAll(items.map(item => ({ ...item, reviewId: undefined, eventId: newId() })))
    const { row } = DISPUTED
    const data = { spanId: spans.id, stepId: readStepId(sql`${projectKey}`, spans.stepId) }
    // The last voter's id would reveal how the others voted.
    const event = { id: row.eventId, traceKey: spans.traceKey, subjectId: spans.id, actorId: null, at: act.at, data }
    // This doesn't compare times, because two votes on one span can have the same millisecond.
    const isKnown = sql`exists (select 1 from ${disputes}
      where ${disputes.traceKey} = ${spans.traceKey} and ${disputes.spanId} = ${spans.id})`
    return recordEvents(
      store,
      'span.disputed',
      projectKey,
      event,
      sql`from ${DISPUTED.from(rows)} cross join ${votes} cross join ${spans}
        where ${isCast(row, act)} and ${isUnchanged(row)} and not ${isKnown}`,
    )
  })
}

/**
 * The statements that store votes, each of which replaces the reviewer's earlier one. If decisions follow from the
 * votes, the decisions must already be current. Running the statements again after a lost reply changes nothing,
 * because the last statement advances the span's number of votes.
 */
export function voteStatements(store: Store, act: Act, drafts: readonly VoteWithReview[]) {
  const places = placesOf(drafts)
  return [...castVotes(store, act, drafts, places), ...followVotes(store, act, drafts, places)] as const
}

/** The first statements of `voteStatements`: the votes and their entries in the audit log. */
function castVotes(store: Store, act: Act, drafts: readonly VoteWithReview[], places: SQL) {
  const { database } = store
  const { row } = VOTES
  const place = PLACES.row
  const userId = actorOf(act) ?? ''
  return [
    database
      .insert(votes)
      .select(
        selectFor(
          votes,
          {
            ...row,
            traceKey: spans.traceKey,
            spanId: spans.id,
            userId,
            projectKey: traces.projectKey,
            stepId: spans.stepId,
            createdAt: act.at,
            firstDecision: row.decision,
            firstErrorType: row.errorType,
            firstAt: act.at,
          },
          sql`from ${VOTES.fromWide(JSON.stringify(drafts.map(rowOf)))} cross join ${traces} cross join ${spans}
            where ${isLive(store, sql`${traces.key} = ${row.traceKey}`)} and ${isUnchanged(row)}
              and (${row.takesOver} or ${row.others} + ${otherClaims(userId, act.at)} < ${row.reviewers})`,
        ),
      )
      .onConflictDoUpdate({
        target: [votes.traceKey, votes.spanId, votes.round, votes.outputRevision, votes.userId],
        set: {
          id: sql`excluded.id`,
          decision: sql`excluded.decision`,
          approved: sql`excluded.approved`,
          approvedRef: sql`excluded.approved_ref`,
          approvedHash: sql`excluded.approved_hash`,
          comment: sql`excluded.comment`,
          errorType: sql`excluded.error_type`,
          createdAt: sql`excluded.created_at`,
          reviewers: sql`excluded.reviewers`,
        },
      }),
    recordActs(
      store,
      act,
      {
        id: votes.id.getSQL(),
        projectKey: votes.projectKey.getSQL(),
        action: sql`'review.vote'`,
        targetId: votes.spanId.getSQL(),
        beforeId: place.idBefore,
        afterId: votes.id.getSQL(),
      },
      sql`from ${castBy(places, act)}`,
    ),
  ] as const
}

/** The other statements of `voteStatements`: what the votes change. */
function followVotes(store: Store, act: Act, drafts: readonly VoteWithReview[], places: SQL) {
  const { database } = store
  const place = PLACES.row
  const userId = actorOf(act) ?? ''
  const cast = castBy(places, act)
  return [
    database
      .delete(disputes)
      .where(
        sql`(trace_key, span_id) in (select ${spans.traceKey}, ${spans.id} from ${cast} and not ${place.isDisputed})`,
      ),
    ...recordDisputes(store, drafts, act),
    database
      .insert(disputes)
      .select(
        selectFor(
          disputes,
          { traceKey: votes.traceKey, spanId: votes.spanId, projectKey: votes.projectKey, disputedAt: act.at },
          sql`from ${cast} and ${place.isDisputed}`,
        ),
      )
      .onConflictDoNothing(),
    // Deletes the voter's own claim and, if there are more claims than remaining places, the claims that end first.
    database.delete(reviewClaims).where(
      sql`(trace_key, span_id, user_id) in (
        select claim.trace_key, claim.span_id, claim.user_id
        from ${places} cross join ${votes} cross join ${spans} cross join ${reviewClaims} claim
        where ${isCast(place, act)} and ${isUnchanged(place)}
          and claim.trace_key = ${spans.traceKey} and claim.span_id = ${spans.id}
          and (claim.user_id = ${userId} or ${place.placesLeft} <= (not ${isFree(userId, act.at)}) + (
            select count(*) from ${reviewClaims} later
            where later.trace_key = claim.trace_key and later.span_id = claim.span_id and later.user_id <> ${userId}
              and (later.until, later.user_id) > (claim.until, claim.user_id))))`,
    ),
    database
      .update(spans)
      .set({
        voteNumber: sql`${spans.voteNumber} + 1`,
        claimedBy: sql`iif(${endsClaim(userId, place)}, null, ${spans.claimedBy})`,
        claimedUntil: sql`iif(${endsClaim(userId, place)}, null, ${spans.claimedUntil})`,
      })
      .from(places)
      .where(sql`${isUnchanged(place)} and exists (select 1 from ${votes} where ${isCast(place, act)})`),
  ] as const
}

/** Selects the drafts whose votes are stored. Finds none once their spans' numbers of votes have advanced. */
const castBy = (places: SQL, act: Act): SQL =>
  sql`${places} cross join ${votes} cross join ${spans}
    where ${isCast(PLACES.row, act)} and ${isUnchanged(PLACES.row)}`

const endsClaim = (userId: string, { placesLeft }: { placesLeft: SQL }): SQL =>
  sql`(${spans.claimedBy} = ${userId} or ${placesLeft} = 0)`

type Place = Readonly<Record<(typeof PLACE)[number], SQL>>

/** Whether a row of `votes` is the one that a draft became. */
const isCast = ({ id, traceKey, spanId, round, outputRevision }: Place, act: Act): SQL =>
  sql`(${votes.traceKey} = ${traceKey} and ${votes.spanId} = ${spanId} and ${votes.round} = ${round}
    and ${votes.outputRevision} = ${outputRevision} and ${votes.userId} = ${actorOf(act) ?? ''} and ${votes.id} = ${id})`

/**
 * Whether a span still has the votes and decisions that a draft was based on. Ignores the decision that follows from
 * the draft.
 */
const isUnchanged = ({ traceKey, spanId, round, voteNumberBefore, reviewId }: Place): SQL =>
  sql`(${spans.id} = ${spanId} and ${spans.traceKey} = ${traceKey} and ${spans.voteNumber} = ${voteNumberBefore}
    and iif(${reviewId} is null, ${spans.reviewNumber} = ${round}, exists (
      select 1 from ${reviews} decided where decided.trace_key = ${traceKey} and decided.span_id = ${spanId}
        and decided.number = ${round} + 1 and decided.id = ${reviewId})))`

/** A decision that ends the votes on its span. */
interface Ending {
  id: string
  traceKey: number
  spanId: string
  numberBefore: number
  outputRevision: string
}

const ENDINGS = rowSet(['id', 'traceKey', 'spanId', 'numberBefore', 'outputRevision'])

/**
 * The statements that end the votes on spans with a new decision: disputes and claims end and, unless the decision is a
 * reset, comments become feedback. If the statements run again after a lost reply, later disputes and claims stay.
 */
export function endVoting({ database }: Store, act: Act, endings: readonly Ending[]) {
  const { row } = ENDINGS
  const ended = sql`${ENDINGS.from(ENDINGS.encodeAll(endings))} cross join ${reviews}`
  const isReview = sql`(${reviews.traceKey} = ${row.traceKey} and ${reviews.spanId} = ${row.spanId}
    and ${reviews.number} = ${row.numberBefore} + 1 and ${reviews.id} = ${row.id})`
  const isEnded = sql`(trace_key, span_id) in (
    select ${spans.traceKey}, ${spans.id} from ${ended} cross join ${spans}
    where ${isReview} and ${spans.id} = ${row.spanId} and ${spans.traceKey} = ${row.traceKey}
      and ${spans.reviewNumber} = ${reviews.number})`
  return [
    database
      .insert(feedback)
      .select(
        selectFor(
          feedback,
          {
            id: votes.id,
            traceKey: votes.traceKey,
            spanId: votes.spanId,
            userId: votes.userId,
            rating: null,
            comment: votes.comment,
            correction: null,
            name: null,
            labeller: null,
            timestamp: votes.createdAt,
            receivedAt: act.at,
            createdBy: reviews.id,
            source: 'review',
          },
          sql`from ${ended} cross join ${votes}
            where ${isReview} and ${reviews.state} is not null and ${votes.comment} is not null
            and ${votes.traceKey} = ${row.traceKey} and ${votes.spanId} = ${row.spanId}
            and ${votes.round} = ${row.numberBefore} and ${votes.outputRevision} = ${row.outputRevision}`,
        ),
      )
      .onConflictDoNothing(),
    database.delete(disputes).where(isEnded),
    database.delete(reviewClaims).where(isEnded),
  ] as const
}

/** Selects the votes that spans looked up by id may show, in the order of the ids. */
export function votesOnLocated(store: Store, ids: readonly string[]) {
  const given = sql`json_each(${JSON.stringify(ids)}) as item`
  return store.database
    .select(voteFields(sql`item.key`))
    .from(given)
    .crossJoin(spans)
    .crossJoin(votes)
    .where(
      sql`${spans.id} = item.value and ${isLocated(locatedSpans(store, ids))} and ${spans.voteNumber} > 0
        and ${votes.traceKey} = ${spans.traceKey} and ${votes.spanId} = ${spans.id}
        and ${votes.round} between ${spans.reviewNumber} - 1 and ${spans.reviewNumber}`,
    )
}

/** The current claims of others on a span, besides the one in its row. */
const otherRows = (holder: string, now: number): SQL =>
  sql`${reviewClaims} claimed where claimed.trace_key = ${spans.traceKey} and claimed.span_id = ${spans.id}
    and claimed.user_id <> ${holder} and claimed.until > ${sql.raw(String(now))}`

export const hasOtherClaims = (holder: string, now: number): SQL =>
  sql`exists (select 1 from ${otherRows(holder, now)})`

/** How many others have claimed the span. */
const otherClaims = (holder: string, now: number): SQL =>
  sql`((not ${isFree(holder, now)}) + (select count(*) from ${otherRows(holder, now)}))`

/**
 * Whether an undecided span has a place for a reviewer: they haven't voted, and others have fewer votes and claims on
 * it than `reviewers`. The default is the number at the span's last claim. Once voting has begun, the number at the
 * first vote applies instead.
 */
export const hasPlaceFor = (
  holder: string,
  now: number,
  reviewers: SQL = sql`coalesce(${spans.reviewers}, 1)`,
): SQL => sql`case
  when ${spans.voteNumber} = 0 and ${isUnclaimed(now)} then 1
  else (select count(*) + ${otherClaims(holder, now)} < coalesce(max(vote.reviewers), ${reviewers})
      and coalesce(max(vote.user_id = ${holder}), 0) = 0
    from ${votes} vote where ${isStanding}) end`

/** Whether all votes on an undecided span are in. Because the span is undecided, these votes disagree. */
export const isDisputed = sql`(${spans.voteNumber} > 0
  and (select count(*) >= coalesce(max(vote.reviewers), 1) from ${votes} vote where ${isStanding}))`
