import type { ItemDecision } from './dataset.ts'
import type { Outcome } from './outcome.ts'

/** How a candidate's result compares with the baseline's. */
export const CHANGES = ['fixed', 'regressed', 'stillRight', 'stillWrong'] as const
export type Change = (typeof CHANGES)[number]

/** The change from the baseline to a candidate. Null if either is an error or isn't known to be right or wrong. */
export function changeFrom(wasRight: boolean | null, outcome: Outcome): Change | null {
  const isRight = rightness(outcome)
  if (wasRight === null || isRight === null) return null
  if (wasRight) return isRight ? 'stillRight' : 'regressed'
  return isRight ? 'fixed' : 'stillWrong'
}

/** Whether a result is right. Null if nobody has judged it, or if it's an error. */
export const rightness = (outcome: Outcome): boolean | null =>
  outcome === 'passed' ? true : outcome === 'failed' ? false : null

/** Whether the output that was recorded in production is right. Null for imported examples, which don't have one. */
export const recordedRightness = (decision: ItemDecision): boolean | null =>
  decision === 'import' ? null : decision === 'accept'
