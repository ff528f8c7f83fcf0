import { MAX_COUNTED_STEPS } from '../limits.ts'
import type { StepUse } from './step-use.ts'

/**
 * One step's count of spans with an output, and of the reviewed ones among them. The step '' collects steps past
 * `MAX_COUNTED_STEPS`.
 */
export interface StepOutputs {
  stepId: string
  outputs: number
  reviewed: number
}

/** The progress of counting a day's outputs in pieces. */
export interface CountProgress {
  /** When the count began. */
  startedAt: number
  /** How many traces were counted. */
  traces: number
  /** The last trace counted. */
  after: { timestamp: number; id: string }
  steps: readonly StepOutputs[]
  uses: readonly StepUse[]
}

/** Adds up counts by step. Steps past the first `MAX_COUNTED_STEPS` are counted together. */
export function sumByStep(...counts: readonly (readonly StepOutputs[])[]): StepOutputs[] {
  const byStep = new Map<string, StepOutputs>()
  const rest = { stepId: '', outputs: 0, reviewed: 0 }
  for (const { stepId, outputs, reviewed } of counts.flat()) {
    const isSeparate = stepId !== '' && (byStep.has(stepId) || byStep.size < MAX_COUNTED_STEPS)
    const sum = isSeparate ? (byStep.get(stepId) ?? { stepId, outputs: 0, reviewed: 0 }) : rest
    sum.outputs += outputs
    sum.reviewed += reviewed
    if (isSeparate) byStep.set(stepId, sum)
  }
  return [...byStep.values(), ...(rest.outputs > 0 ? [rest] : [])]
}

/** Compares a day's counts: the steps to store, and the ids of steps that are gone. */
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
