import { Button, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { nounFor } from '../../domain/counted.ts'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { IconFlask } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { useMay } from '../parts/scopes.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { standingOf } from './next-step.ts'
import { ProofFigures } from './proof-figures.tsx'
import { Stage } from './stage.tsx'

interface ProofStageProps {
  problem: Problem
  project: string
}

/** The experiment that proves the fix, and what the proof still lacks. */
export function ProofStage({ problem: { id, stepId, state, candidate, proof }, project }: ProofStageProps) {
  const mayReview = useMay('review')
  const standing = standingOf('proof', state)
  const isNext = standing === 'current'
  return (
    <Stage title="Proof" standing={standing}>
      {!candidate && (
        <Text size="sm" c="dimmed">
          An experiment on reviewed outputs shows whether the version fixes the problem.
        </Text>
      )}
      {candidate && (
        <Text size="sm">
          {proof?.experimentId ? (
            <>
              <ProofFigures problemId={id} project={project} proof={proof} /> {proof.split}{' '}
              {nounFor(proof.items, 'item')} for this problem {proof.fixed === 1 ? 'is' : 'are'} fixed.{' '}
              <TextLink
                href={pathWith(`/experiments/${proof.experimentId}`, { project, problem: id })}
                underline="always"
              >
                See the experiment
              </TextLink>
            </>
          ) : (
            `No finished experiment has tried version ${candidate.number} yet.`
          )}
        </Text>
      )}
      {proof?.experimentId && proof.reason !== null && (
        <Text size="sm" dir="auto">
          <ShownText text={proof.reason} />
        </Text>
      )}
      {candidate && isNext && mayReview && (
        <Group gap={6}>
          <Button
            component={Link}
            href={pathWith('/experiments/new', {
              project,
              stepId,
              promptVersionId: candidate.versionId,
              problem: id,
            })}
            size="compact-sm"
            leftSection={<IconFlask size={14} aria-hidden />}
          >
            {proof?.experimentId ? 'Run another experiment' : 'Run an experiment'}
          </Button>
        </Group>
      )}
      {candidate && isNext && mayReview === false && (
        <Text size="sm">Someone with the “review” scope can run an experiment.</Text>
      )}
    </Stage>
  )
}
