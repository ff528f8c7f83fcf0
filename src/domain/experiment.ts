import { EXPERIMENT_SILENCE_MS, MODEL_RUN_SILENCE_MS } from '../limits.ts'

/**
 * `failed` is stored only if a model's run failed. Otherwise, it's derived from the fact that no result has arrived for
 * a long time.
 */
export const EXPERIMENT_STATES = ['running', 'finished', 'cancelled', 'failed'] as const
export type ExperimentState = (typeof EXPERIMENT_STATES)[number]

/** Who produces a candidate's outputs. */
export const RUNNERS = ['client', 'model'] as const
type Runner = (typeof RUNNERS)[number]

/** How long an experiment can go without a new result before it fails. */
export const SILENCE_MS: Readonly<Record<Runner, number>> = {
  client: EXPERIMENT_SILENCE_MS,
  model: MODEL_RUN_SILENCE_MS,
}

export const RUN_STATES = ['running', 'waiting', 'ended'] as const

/** A person's decision on a candidate's output. */
export const ITEM_VERDICTS = ['accept', 'reject'] as const
export type ItemVerdict = (typeof ITEM_VERDICTS)[number]

/** An experiment's state at a given time. `activeAt` is when it began or received its last result. */
export const experimentState = (
  { state, runner, activeAt }: { state: ExperimentState; runner: Runner; activeAt: number },
  now: number,
): ExperimentState => (state === 'running' && activeAt < now - SILENCE_MS[runner] ? 'failed' : state)
