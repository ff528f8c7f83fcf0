import { Button, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { count, share } from '../parts/format.ts'
import { useMay } from '../parts/scopes.tsx'
import { standingOf } from './next-step.ts'
import { decisionsSoFar } from './progress-words.ts'
import { Stage } from './stage.tsx'

type Watch = NonNullable<Problem['watch']>

interface ResultStageProps {
  problem: Problem
  project: string
}

/** Whether decisions on the new version show that the fix holds. */
export function ResultStage({ problem: { stepId, state, watch }, project }: ResultStageProps) {
  const mayReview = useMay('review')
  const standing = standingOf('result', state)
  return (
    <Stage title="Result" standing={standing}>
      {standing === 'later' || !watch ? (
        <Text size="sm" c="dimmed">
          Reviews of the new version show whether the fix holds.
        </Text>
      ) : (
        <Text size="sm">
          {RESULTS[watch.state]} {decisionsSoFar(watch)}
          <br />
          <Text span size="xs" c="dimmed">
            {accepted('Before', watch.before)}, {accepted('now', watch.after)}
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

const accepted = (when: string, { n, accepted }: Watch['before']): string =>
  n === 0 ? `${when} none reviewed` : `${when} ${count(accepted)} of ${count(n)} accepted (${share(accepted, n)})`
