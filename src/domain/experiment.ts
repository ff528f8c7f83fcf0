import { EXPERIMENT_SILENCE_MS } from '../limits.ts'

/** The states that are stored. `failed` follows from time: no result has arrived for a day. */
export const STORED_STATES = ['running', 'finished', 'cancelled'] as const

export const EXPERIMENT_STATES = [...STORED_STATES, 'failed'] as const
export type ExperimentState = (typeof EXPERIMENT_STATES)[number]

/** Who produces a candidate's outputs. */
export const RUNNERS = ['client', 'model'] as const

/** A person's decision on a candidate's output. */
export const ITEM_VERDICTS = ['accept', 'reject'] as const
export type ItemVerdict = (typeof ITEM_VERDICTS)[number]

/** An experiment's state at a time. `activeAt` is when it began or got its last result. */
export const experimentState = (
  { state, activeAt }: { state: (typeof STORED_STATES)[number]; activeAt: number },
  now: number,
): ExperimentState => (state === 'running' && activeAt < now - EXPERIMENT_SILENCE_MS ? 'failed' : state)
