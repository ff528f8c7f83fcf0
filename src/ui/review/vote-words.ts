import type { Json, Span, Vote } from '../api/wire.ts'

/** The value that a vote approves. */
export const approvedBy = ({ decision, approvedOutput }: Vote, output: Json): Json =>
  decision === 'accept' ? output : approvedOutput

type Voted = Pick<Span, 'review' | 'reviewers' | 'votes' | 'isDisputed'>

/** Whether a span still needs a decision, either by vote or by one person. */
export const isUndecided = ({ review }: Pick<Voted, 'review'>): boolean => review.state === 'unreviewed' || review.stale

/** Whether people have voted on a span that's undecided. */
export const isVoting = (span: Pick<Voted, 'review' | 'votes'>): boolean => span.votes.length > 0 && isUndecided(span)

/** Whether a reviewer has voted on the current output. */
export const hasVoted = ({ votes }: Pick<Voted, 'votes'>, actorId: string): boolean =>
  votes.some(({ by }) => by === actorId)

const IF_UNDONE = 'If the decision is undone, these votes no longer count, and reviewers vote again.'

/** How votes will decide or have decided on the output, in a sentence. Null if it's one reviewer's decision. */
export function votingWords(span: Voted): string | null {
  const { review, reviewers, votes, isDisputed } = span
  if (isDisputed) return `The ${reviewers} reviewers disagree, so an adjudicator decides.`
  if (isUndecided(span))
    return reviewers > 1 ? `The output's review is complete once ${reviewers} reviewers have voted and agree.` : null
  if (review.basis === 'votes') return `Decided by ${votes.length} matching votes. ${IF_UNDONE}`
  return review.basis === 'adjudication' ? `Decided by an adjudicator. ${IF_UNDONE}` : null
}
