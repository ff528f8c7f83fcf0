import type { Json, Span, Vote } from '../api/wire.ts'

/** The value that a vote approves. */
export const approvedBy = ({ decision, approvedOutput }: Vote, output: Json): Json =>
  decision === 'accept' ? output : approvedOutput

type Voted = Pick<Span, 'review' | 'votes' | 'isDisputed'>

/** Whether a span still needs votes, or an adjudicator's decision. */
export const isVoting = ({ review, votes }: Pick<Voted, 'review' | 'votes'>): boolean =>
  votes.length > 0 && (review.state === 'unreviewed' || review.stale)

/** Whether a reviewer has voted on the current output. */
export const hasVoted = ({ votes }: Pick<Voted, 'votes'>, actorId: string): boolean =>
  votes.some(({ by }) => by === actorId)

const IF_UNDONE = 'If that’s undone, these votes no longer count, and reviewers vote again.'

/** How the votes relate to the decision, in a sentence. Null if nobody voted, or it's one reviewer's decision. */
export function votingWords(span: Voted): string | null {
  const { review, votes, isDisputed } = span
  if (isDisputed) return 'Reviewers disagree, so an adjudicator decides.'
  if (isVoting(span)) return 'The output is decided once enough reviewers have voted and agree.'
  if (review.basis === 'votes') return `Decided by ${votes.length} votes that agree. ${IF_UNDONE}`
  return review.basis === 'adjudication' ? `Decided by an adjudicator. ${IF_UNDONE}` : null
}
