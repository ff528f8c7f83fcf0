import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { reviewPolicyQuery, stepPolicyIn } from '../api/review-policy.ts'
import type { SpanOfTrace } from '../api/wire.ts'
import { useProjectId } from '../session/project.ts'
import { useDesk } from './use-desk.ts'
import { hasVoted, isUndecided, votingWords } from './vote-words.ts'

interface VotingNoteProps {
  span: SpanOfTrace
  isAdjudicator: boolean
}

/** Explains what a decision means if an output has several reviewers, or what undoing the decision would mean. */
export function VotingNote({ span, isAdjudicator }: VotingNoteProps) {
  const { actorId } = useDesk()
  const { data: policy } = useQuery(reviewPolicyQuery(useProjectId()))
  const { reviewers } = span
  const words = isUndecided(span)
    ? policy &&
      reviewers > 1 &&
      wordsFor({
        reviewers,
        isBlind: stepPolicyIn(policy, span.stepId).blind,
        isAdjudicator,
        hasVoted: hasVoted(span, actorId),
      })
    : votingWords(span)
  return words ? (
    <Text size="sm" role="note">
      {words}
    </Text>
  ) : null
}

interface Voting {
  reviewers: number
  isBlind: boolean
  isAdjudicator: boolean
  hasVoted: boolean
}

function wordsFor({ reviewers, isBlind, isAdjudicator, hasVoted }: Voting): string {
  const needed = `This output needs votes from ${reviewers} reviewers.`
  if (isAdjudicator) return `${needed} You're an adjudicator, so your decision is final right away.`
  const hidden = isBlind ? " You won't see other people's reviews until there's a decision on the output." : ''
  return hasVoted
    ? `You've already voted. Deciding again changes your vote.${hidden}`
    : `${needed} Your decision counts as one vote.${hidden}`
}
