import { REVIEWERS } from './trace.ts'

/** What people have decided about one of the demo's problems. */
export interface DemoProblem {
  stepId: string
  errorType: string
  /** The number of the prompt version that should fix it. */
  version?: number
  /** The email of the person who's fixing it. */
  assignee?: string
  /** Why it isn't worth fixing. */
  dismissed?: string
}

const [ADA, KOFI] = REVIEWERS

/**
 * A problem whose fix is live, one whose fix isn't proven, one that somebody has taken on, and two that aren't worth
 * fixing.
 */
export const PROBLEMS: readonly DemoProblem[] = [
  { stepId: 'classify', errorType: 'reasoning_error', version: 3, assignee: ADA.email },
  { stepId: 'generate-answer', errorType: 'incomplete_output', version: 4, assignee: KOFI.email },
  { stepId: 'route', errorType: 'reasoning_error', assignee: KOFI.email },
  {
    stepId: 'ticket-triage',
    errorType: 'reasoning_error',
    dismissed: "These are classify's mistakes, which the run passes on. They're fixed there.",
  },
  {
    stepId: 'generate-answer',
    errorType: 'acceptable_variation',
    dismissed: 'Both wordings are fine. The tone is up to the model.',
  },
]
