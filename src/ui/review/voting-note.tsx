import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { reviewPolicyQuery, stepPolicyIn } from '../api/review-policy.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { useProjectId } from '../session/project.ts'
import { useDesk } from './use-desk.ts'
import { hasVoted, isVoting } from './vote-words.ts'

interface VotingNoteProps {
  span: SpanOfTrace
  isAdjudicator: boolean
}

/** What a decision means if a step has several reviewers. */
export function VotingNote({ span, isAdjudicator }: VotingNoteProps) {
  const { actorId } = useDesk()
  const { data: policy } = useQuery(reviewPolicyQuery(useProjectId()))
  if (!policy) return null
  const { reviewers, blind } = stepPolicyIn(policy, span.stepId)
  const isDecided = span.review.state !== 'unreviewed' && !span.review.stale
  if (isDecided || (reviewers === 1 && !isVoting(span))) return null
  return (
    <Text size="sm" role="note">
      {wordsFor({ reviewers, isBlind: blind, isAdjudicator, hasVoted: hasVoted(span, actorId) })}
    </Text>
  )
}

interface Voting {
  reviewers: number
  isBlind: boolean
  isAdjudicator: boolean
  hasVoted: boolean
}

function wordsFor({ reviewers, isBlind, isAdjudicator, hasVoted }: Voting): string {
  const people = `${reviewers} reviewers`
  if (isAdjudicator) return `${people} vote on this output. You're an adjudicator, so your decision is final at once.`
  const hidden = isBlind ? " You won't see the others' reviews until it's decided." : ''
  return hasVoted
    ? `You voted. Deciding again changes your vote.${hidden}`
    : `${people}; yours counts as one vote.${hidden}`
}
