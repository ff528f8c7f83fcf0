import type { ProblemState } from './states.tsx'

/** The stages of a fix, in order. */
export type StageName = 'fix' | 'proof' | 'activation' | 'result'

const STAGES = {
  open: 'fix',
  fixing: 'proof',
  proven: 'activation',
  live: 'result',
  verified: null,
  dismissed: null,
} as const satisfies Record<ProblemState, StageName | null>

/** The problem's next stage; null if there's nothing left to do. */
const stageOf = (state: ProblemState): StageName | null => STAGES[state]

const ORDER: readonly StageName[] = ['fix', 'proof', 'activation', 'result']

/** Whether a stage is done, under way, or still to come. */
export function standingOf(stage: StageName, state: ProblemState): 'done' | 'current' | 'later' {
  if (state === 'verified') return 'done'
  const current = stageOf(state)
  if (current === null) return 'later'
  if (stage === current) return 'current'
  return ORDER.indexOf(stage) < ORDER.indexOf(current) ? 'done' : 'later'
}
