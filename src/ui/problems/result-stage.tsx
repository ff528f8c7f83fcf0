import { Button, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { WatchedSide } from '../../domain/watch.ts'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { Counted } from '../parts/counted.tsx'
import { count, counted, share } from '../parts/format.ts'
import { useMay } from '../parts/scopes.tsx'
import { standingOf } from './next-step.ts'
import { DecisionsSoFar } from './progress-line.tsx'
import { Stage } from './stage.tsx'

type Watch = NonNullable<Problem['watch']>

interface ResultStageProps {
  problem: Problem
  project: string
}

/** Whether decisions on the new version show that the fix holds. */
export function ResultStage({ problem: { stepId, state, candidate, watch }, project }: ResultStageProps) {
  const mayReview = useMay('review')
  const standing = standingOf('result', state)
  const listOf = (watchedSide: WatchedSide) => (decision?: 'accept') =>
    candidate && pathWith('/spans', { project, watchedPromptId: candidate.promptId, watchedSide, decision })
  return (
    <Stage title="Result" standing={standing}>
      {standing === 'later' || !watch ? (
        <Text size="sm" c="dimmed">
          Reviews of the new version show whether the fix holds.
        </Text>
      ) : (
        <Text size="sm">
          {RESULTS[watch.state]}{' '}
          {candidate && <DecisionsSoFar watch={watch} promptId={candidate.promptId} project={project} />}
          <br />
          <Text span size="xs" c="dimmed">
            <Accepted when="Before" {...watch.before} pathOf={listOf('before')} />{' '}
            <Accepted when="Now" {...watch.after} pathOf={listOf('after')} />
          </Text>
        </Text>
      )}
      {standing === 'current' && mayReview && (
        <Group gap={6}>
          <Button component={Link} href={pathWith('/review', { project, stepId, order: 'newest' })} size="compact-sm">
            Review its outputs
          </Button>
        </Group>
      )}
    </Stage>
  )
}

const RESULTS: Readonly<Record<Watch['state'], string>> = {
  too_early: "It's too early to tell.",
  better: 'Reviewers accept its outputs more often than before.',
  worse: 'Reviewers accept its outputs less often than before. Consider rolling back.',
  no_difference: 'No significant difference so far.',
}

interface AcceptedProps {
  when: string
  n: number
  accepted: number
  pathOf: (decision?: 'accept') => string | null
}

/** How many of the decisions on a version's outputs accept the output. */
const Accepted = ({ when, n, accepted, pathOf }: AcceptedProps) =>
  n === 0 ? (
    `${when}: none reviewed.`
  ) : (
    <>
      {when}:{' '}
      <Counted value={accepted} path={pathOf('accept')} label={`${count(accepted)} accepted, ${when.toLowerCase()}`} />{' '}
      of <Counted value={n} path={pathOf()} label={`${counted(n, 'decision')}, ${when.toLowerCase()}`} /> accepted (
      {share(accepted, n)}).
    </>
  )
