import { MAX_COUNTED_STEPS } from '../limits.ts'

/** Outputs of one step: how many spans have one, and how many of these are reviewed. '': of steps past `MAX_COUNTED_STEPS`. */
export interface StepOutputs {
  stepId: string
  outputs: number
  reviewed: number
}

/** A count of a day's outputs that goes on in pieces. */
export interface CountProgress {
  /** When it began. */
  startedAt: number
  /** How many traces it has looked at. */
  traces: number
  /** The last of them. */
  after: { timestamp: number; id: string }
  steps: readonly StepOutputs[]
}

/** Adds up counts by step; steps past the first `MAX_COUNTED_STEPS` are counted together. */
export function addedUp(...counts: readonly (readonly StepOutputs[])[]): StepOutputs[] {
  const byStep = new Map<string, StepOutputs>()
  const together = { stepId: '', outputs: 0, reviewed: 0 }
  for (const { stepId, outputs, reviewed } of counts.flat()) {
    const isCountedAlone = stepId !== '' && (byStep.has(stepId) || byStep.size < MAX_COUNTED_STEPS)
    const sum = isCountedAlone ? (byStep.get(stepId) ?? { stepId, outputs: 0, reviewed: 0 }) : together
    sum.outputs += outputs
    sum.reviewed += reviewed
    if (isCountedAlone) byStep.set(stepId, sum)
  }
  return [...byStep.values(), ...(together.outputs > 0 ? [together] : [])]
}

/** What makes a day's counts those of a later one: the steps to be stored, and the ids of those that are no more. */
export function changesOf(before: readonly StepOutputs[], after: readonly StepOutputs[]) {
  const stored = new Map(before.map(step => [step.stepId, step]))
  const kept = new Set(after.map(({ stepId }) => stepId))
  return {
    changed: after.filter(({ stepId, outputs, reviewed }) => {
      const old = stored.get(stepId)
      return old?.outputs !== outputs || old.reviewed !== reviewed
    }),
    gone: before.map(({ stepId }) => stepId).filter(stepId => !kept.has(stepId)),
  }
}
