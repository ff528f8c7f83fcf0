import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { pathWith } from '../api/client.ts'
import { hasVoting, reviewPolicyQuery } from '../api/review-policy.ts'
import { useIsAdjudicator } from '../api/session.ts'
import { Counted } from '../parts/counted.tsx'
import { count } from '../parts/format.ts'
import { useProject, useProjectId } from '../session/project.ts'
import type { QueueKind } from './filters.ts'
import { perHour } from './pace.ts'
import { useSitting } from './use-desk.ts'

interface ProgressProps {
  kind: QueueKind
  /** How many remaining outputs are assigned to this reviewer. Undefined if they aren't counted in the queue's order. */
  assigned: number | undefined
  remaining: number | undefined
  isMinimum: boolean
  /** This reviewer's votes and current decisions since midnight UTC. Insights count decisions the same way. */
  today: number
  reviewerId: string
}

/** How much of the queue is left, and the reviewer's pace. */
export function QueueProgress({ kind, assigned, remaining, isMinimum, today, reviewerId }: ProgressProps) {
  const { startedAt, decidedAt } = useSitting()
  const reviewedFrom = `${new Date().toISOString().slice(0, 10)}T00:00:00.000Z`
  const { data: policy } = useQuery(reviewPolicyQuery(useProjectId()))
  const isVoter = !useIsAdjudicator() && policy !== undefined && hasVoting(policy)
  const path = pathWith('/spans', { project: useProject(), reviewerId, reviewedFrom })
  const pace = perHour(startedAt, decidedAt)
  return (
    <Text size="sm" c="dimmed" role="status">
      <b>
        {isMinimum && 'at least '}
        {remaining === undefined ? '–' : count(remaining)}
      </b>{' '}
      {kind === 'disputes' ? 'to decide' : 'to review'}
      {assigned !== undefined && assigned > 0 && (
        <>
          , <b>{count(assigned)}</b> assigned to you
        </>
      )}{' '}
      · {/* No list shows a person's votes. */}
      <Counted value={today} path={isVoter ? null : path} label={`${count(today)} reviewed today`} /> reviewed today
      {pace !== null && (
        <>
          {' '}
          · <b>{count(pace)}</b> per hour
        </>
      )}
    </Text>
  )
}
