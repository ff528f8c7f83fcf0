import { useQuery } from '@tanstack/react-query'
import type { Problem } from '../api/wire.ts'
import { useProjectPrompts } from '../experiments/use-prompt-versions.ts'
import { PROMPTS } from '../texts/kinds.ts'
import { textQuery } from '../texts/queries.ts'
import { ActivationStage } from './activation-stage.tsx'
import { FixStage } from './fix-stage.tsx'
import { OwnerStage } from './owner-stage.tsx'
import classes from './problem-page.module.css'
import { ProofStage } from './proof-stage.tsx'
import { ResultStage } from './result-stage.tsx'

interface ProgressProps {
  problem: Problem
  project: string
}

/** The progress of the fix, stage by stage. Only the current stage has a prominent button. */
export function Progress({ problem, project }: ProgressProps) {
  const { data } = useProjectPrompts(project)
  const promptId = problem.candidate?.promptId ?? data?.prompts.find(({ stepId }) => stepId === problem.stepId)?.id
  const { data: prompt } = useQuery({ ...textQuery(PROMPTS, promptId ?? ''), enabled: promptId !== undefined })
  const stage = { problem, project, prompt }
  return (
    <ol className={classes.progress} aria-label="Progress">
      <OwnerStage problem={problem} />
      <FixStage {...stage} hasNoPrompt={data !== undefined && promptId === undefined} />
      <ProofStage {...stage} />
      <ActivationStage {...stage} />
      <ResultStage {...stage} />
    </ol>
  )
}
