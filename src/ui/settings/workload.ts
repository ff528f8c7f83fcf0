import { stepPolicyIn } from '../api/review-policy.ts'
import type { Insights, ReviewPolicy } from '../api/wire.ts'

/** The days that the preview is based on. */
export const BASIS_DAYS = 7

/** How many outputs a policy would offer per day, based on the outputs from the last few days. */
export interface Workload {
  /** Outputs offered to reviewers per day, by step. */
  byStep: ReadonlyMap<string, number>
  /** The total over all steps. */
  outputs: number
  /** How many reviews these outputs need. This number is higher if some outputs are reviewed by several people. */
  reviews: number
  /** How many people reviewed outputs on these days. */
  people: number
}

/** Leaves out outputs that the policy's rules add, because they aren't counted anywhere. */
export function workloadOf(
  policy: Pick<ReviewPolicy, 'default' | 'steps'>,
  { steps, reviewers }: Pick<Insights, 'steps' | 'reviewers'>,
): Workload {
  let [outputs, reviews] = [0, 0]
  const byStep = new Map<string, number>()
  for (const { stepId, outputs: total } of steps) {
    const { sample, reviewers: perOutput } = stepPolicyIn(policy, stepId)
    const offered = (sample * total) / BASIS_DAYS
    byStep.set(stepId, offered)
    outputs += offered
    reviews += offered * perOutput
  }
  const people = reviewers.filter(({ days }) => days.some(({ reviewed }) => reviewed > 0)).length
  return { byStep, outputs, reviews, people }
}
