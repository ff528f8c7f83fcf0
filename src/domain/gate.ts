import { DAY_MS } from '../limits.ts'
import type { OutcomeCounts } from './tally.ts'

/** The conditions that a gate can set, in the order in which they're reported. */
export const GATE_CONDITIONS = ['minItems', 'minPassRate', 'maxRegressed', 'maxUnjudged', 'maxAgeDays'] as const
export type GateCondition = (typeof GATE_CONDITIONS)[number]

/** What an experiment must show before a prompt version may become active. Null conditions don't apply. */
export interface Gate {
  /** Items in the gate's split that passed, failed, or ended in an error. At least 1. */
  minItems: number
  /** The share of those items that passed, 0 to 1. */
  minPassRate: number | null
  /** Items that are wrong, but were right in production. */
  maxRegressed: number | null
  /** Items that nobody has judged: no person, and no model if `allowJudge` is set. */
  maxUnjudged: number | null
  /** Days since the experiment finished. */
  maxAgeDays: number | null
  split: string
  /** Whether a model's judgment decides if an unjudged item counts as passed or failed. */
  allowJudge: boolean
}

/** A condition that isn't met. `actual` is null if there's nothing to measure. */
export interface UnmetCondition {
  condition: GateCondition
  required: number
  actual: number | null
}

/** The gate's experiment: the latest finished experiment for the version. */
export interface GateExperiment {
  /**
   * The counts of the items in the gate's split. If `allowJudge` is set, unjudged items are counted as the model judged
   * them.
   */
  counts: OutcomeCounts
  finishedAt: number
}

/**
 * Whether an experiment meets a gate, and the conditions that it doesn't meet. If there's no experiment, no condition
 * is met.
 */
export function checkGate(
  gate: Gate,
  experiment: GateExperiment | undefined,
  now: number,
): { met: boolean; unmet: UnmetCondition[] } {
  const figures = experiment ? figuresOf(experiment, now) : NO_FIGURES
  const unmet = GATE_CONDITIONS.flatMap(condition => {
    const [required, actual] = [gate[condition], figures[condition]]
    const isUnmet = required !== null && !(experiment && isMet(condition, required, actual))
    return isUnmet ? [{ condition, required, actual }] : []
  })
  return { met: unmet.length === 0, unmet }
}

type Figures = Readonly<Record<GateCondition, number | null>>

const NO_FIGURES: Figures = {
  minItems: 0,
  minPassRate: null,
  maxRegressed: null,
  maxUnjudged: null,
  maxAgeDays: null,
}

function figuresOf({ counts, finishedAt }: GateExperiment, now: number): Figures {
  const settled = counts.passed + counts.failed + counts.error
  return {
    minItems: settled,
    minPassRate: settled === 0 ? null : counts.passed / settled,
    maxRegressed: counts.regressed,
    maxUnjudged: counts.unjudged,
    maxAgeDays: (now - finishedAt) / DAY_MS,
  }
}

export const isMinimum = (condition: GateCondition): boolean => condition === 'minItems' || condition === 'minPassRate'

const isMet = (condition: GateCondition, required: number, actual: number | null): boolean =>
  actual !== null && (isMinimum(condition) ? actual >= required : actual <= required)
