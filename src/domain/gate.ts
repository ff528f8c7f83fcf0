import { DAY_MS } from '../limits.ts'
import type { OutcomeCounts } from './tally.ts'

/** What an experiment must show before a prompt's version may become active. Null conditions don't apply. */
export interface Gate {
  /** Items of the gate's split that passed, failed, or ended in an error. */
  minItems: number
  /** The share of those items that passed, 0 to 1. */
  minPassRate: number | null
  /** Items that are wrong, but were right in production. */
  maxRegressed: number | null
  /** Items that nobody has judged. */
  maxUnjudged: number | null
  /** Days since the experiment finished. */
  maxAgeDays: number | null
  split: string
}

/** A condition that isn't met. `actual` is null if there's nothing to measure. */
export interface UnmetCondition {
  condition: 'experiment' | 'minItems' | 'minPassRate' | 'maxRegressed' | 'maxUnjudged' | 'maxAgeDays'
  required: number
  actual: number | null
}

/** The gate's experiment: the latest that finished for the version. */
export interface GateExperiment {
  /** Over items of the gate's split. */
  counts: OutcomeCounts
  finishedAt: number
}

/** Whether an experiment meets a gate, and the conditions that it doesn't meet. Without an experiment, none is met. */
export function checkGate(
  gate: Gate,
  experiment: GateExperiment | undefined,
  now: number,
): { met: boolean; unmet: UnmetCondition[] } {
  const unmet = experiment ? unmetBy(experiment, gate, now) : [NO_EXPERIMENT]
  return { met: unmet.length === 0, unmet }
}

const NO_EXPERIMENT: UnmetCondition = { condition: 'experiment', required: 1, actual: 0 }

function unmetBy({ counts, finishedAt }: GateExperiment, gate: Gate, now: number): UnmetCondition[] {
  const settled = counts.passed + counts.failed + counts.error
  const passRate = settled === 0 ? null : counts.passed / settled
  const ageDays = (now - finishedAt) / DAY_MS
  return [
    atLeast('minItems', gate.minItems, settled),
    atLeast('minPassRate', gate.minPassRate, passRate),
    atMost('maxRegressed', gate.maxRegressed, counts.regressed),
    atMost('maxUnjudged', gate.maxUnjudged, counts.unjudged),
    atMost('maxAgeDays', gate.maxAgeDays, ageDays),
  ].flat()
}

const atLeast = (condition: UnmetCondition['condition'], required: number | null, actual: number | null) =>
  required === null || (actual !== null && actual >= required) ? [] : [{ condition, required, actual }]

const atMost = (condition: UnmetCondition['condition'], required: number | null, actual: number) =>
  required === null || actual <= required ? [] : [{ condition, required, actual }]
