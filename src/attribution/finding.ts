import type { FindingKind } from './weights.ts'

/** An observation about a trace. The rules weigh it, the model reads it, and a person can look up its place. */
export interface Finding {
  /** What was observed, as a key in the table of weights. */
  kind: FindingKind
  /** The span. Null for the whole trace and for anything outside it. */
  spanId: string | null
  /**
   * A JSON path in the span: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`,
   * `knowledgeDocs.<slug>`.
   */
  path: string
  /** The rest of a sentence whose subject is the place, such as `is empty`. */
  note: string
  /** How clear the observation is: above 0 and at most 1. */
  strength: number
}
