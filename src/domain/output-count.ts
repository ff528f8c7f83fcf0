/** Outputs of one step: how many spans have one, and how many of these are reviewed. */
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
