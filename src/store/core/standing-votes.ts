import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { votes } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { outputRevision } from './reviewable.ts'

/** Whether a row of `votes`, under the alias `vote`, is a vote on the current span's current output. */
export const isStanding = sql`(vote.trace_key = ${spans.traceKey} and vote.span_id = ${spans.id}
  and vote.round = ${spans.reviewNumber} and vote.output_revision = ${outputRevision} and vote.decision <> 'reset')`

/** Whether an undecided span still needs a person's vote: not all votes are in, and this person hasn't voted. */
export const waitsFor = (userId: SQLWrapper | string): SQL => sql`(${spans.voteNumber} = 0 or (
  select count(*) < coalesce(max(vote.reviewers), 1) and coalesce(max(vote.user_id = ${userId}), 0) = 0
  from ${votes} vote where ${isStanding}))`
