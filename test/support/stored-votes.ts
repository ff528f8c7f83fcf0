import { stored } from './database.ts'
import type { Org } from './org.ts'
import { newReviewed } from './reviews.ts'

/** A vote to store, as a reviewer would have cast it. */
export interface StoredVote {
  by: string
  decision?: 'accept' | 'correct'
  errorType?: string
  comment?: string
  at?: number
  round?: number
  outputRevision?: string
  isWithdrawn?: boolean
  isBlind?: boolean
  isSampled?: boolean
}

/** Stores a span with votes on its output. The votes can have times and policies that API calls couldn't produce. */
export async function newWithVotes(org: Org, votes: readonly StoredVote[], stepId = 'answer') {
  const reviewed = await newReviewed({ answer: 'A' }, org)
  const { spanId } = reviewed
  const found = await stored
    .prepare(
      `select traces.key, traces.project_key, observations.id as revision
    from spans join traces on traces.key = spans.trace_key join observations on observations.trace_key = traces.key
    where spans.id = ? and observations.type = 'output'`,
    )
    .bind(spanId)
    .first<{ key: number; project_key: number; revision: string }>()
  if (!found) throw new Error('The span has no row')
  const insert = stored.prepare(
    `insert into votes (trace_key, span_id, round, output_revision, output_hash, user_id, id, project_key, step_id, decision,
      comment, error_type, created_at, reviewers, first_decision, first_error_type, first_at, is_blind, is_sampled)
    values (?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, 3, ?, ?, ?, ?, ?)`,
  )
  await stored.batch(
    votes.map(vote => {
      const { by, decision = 'accept', errorType = null, comment = null, at = Date.now(), round = 0 } = vote
      const { isWithdrawn = false, isBlind = true, isSampled = true } = vote
      return insert.bind(
        ...[found.key, spanId, round, vote.outputRevision ?? found.revision, by, crypto.randomUUID()],
        ...[found.project_key, stepId, isWithdrawn ? 'reset' : decision, comment, errorType, at],
        ...[decision, errorType, at, Number(isBlind), Number(isSampled)],
      )
    }),
  )
  return reviewed
}
