import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { nounFor } from '../../domain/counted.ts'
import { nextLook } from '../../domain/watch.ts'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Counted } from '../parts/counted.tsx'
import { count, counted } from '../parts/format.ts'
import { ProofFigures } from './proof-figures.tsx'

interface ProgressLineProps {
  problem: Problem
  project: string
}

/** The progress of the fix in a sentence. Renders nothing if there's no fix. */
export function ProgressLine(props: ProgressLineProps) {
  const progress = progressOf(props)
  return (
    progress && (
      <Text size="sm" mt={2} dir="auto">
        {progress}
      </Text>
    )
  )
}

function progressOf({ problem, project }: ProgressLineProps): ReactNode {
  const { id, state, candidate, proof, watch, note } = problem
  if (state === 'dismissed') return note && <ShownText text={note} />
  if (!candidate) return null
  const version = `Version ${candidate.number}`
  if (state === 'verified') return `${version} is live, and the fix holds.`
  if (state === 'proven') return `${version} fixes it and can be activated.`
  if (state === 'live') {
    return (
      <>
        {version} is live. {watch && <DecisionsSoFar watch={watch} promptId={candidate.promptId} project={project} />}
      </>
    )
  }
  if (!proof || proof.experimentId === null) return `${version} is the candidate. No experiment has tried it yet.`
  return (
    <>
      {version} fixes <ProofFigures problemId={id} project={project} proof={proof} /> {proof.split}{' '}
      {nounFor(proof.items, 'item')}. <ShownText text={proof.reason ?? ''} />
    </>
  )
}

interface DecisionsSoFarProps {
  watch: NonNullable<Problem['watch']>
  promptId: string
  project: string
}

/** How many decisions on the new version there are, and how many the next comparison needs. */
export function DecisionsSoFar({ watch: { after }, promptId, project }: DecisionsSoFarProps) {
  const next = nextLook(after.n)
  const path = pathWith('/spans', { project, watchedPromptId: promptId, watchedSide: 'after' })
  const decided = <Counted value={after.n} path={path} label={`${counted(after.n, 'decision')} so far`} />
  return next === undefined ? (
    <>
      {decided} {nounFor(after.n, 'decision')} {after.n === 1 ? 'is' : 'are'} in.
    </>
  ) : (
    <>
      {decided} of the {count(next)} decisions needed for a result {after.n === 1 ? 'is' : 'are'} in.
    </>
  )
}
