import type { FindingKind } from './weights.ts'

/** An observation about a trace, for the rules to weigh, a model to read and a person to look up. */
export interface Finding {
  /** What was observed. Indexes the table of weights. */
  kind: FindingKind
  /** The span; null for the trace as a whole or anything outside it. */
  spanId: string | null
  /**
   * A JSON path in the span: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`,
   * `knowledgeDocs.<slug>`.
   */
  path: string
  /** What the place says or does, as the predicate of a sentence with the place as its subject. */
  note: string
  /** How clear the observation is: above 0, up to 1. */
  strength: number
}
