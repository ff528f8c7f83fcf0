import type { FindingKind } from './weights.ts'

/** What a check saw in a trace: for the rules to weigh, for a model to read, for a person to look up. */
export interface Finding {
  /** What was seen: a row of the rules' table. */
  kind: FindingKind
  /** Where; null: the trace as a whole, or what lies outside of it. */
  spanId: string | null
  /** A JSON path from there: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`, `knowledgeDocs.<slug>`. */
  path: string
  /** What the place says or does, as the end of a sentence that begins with it. */
  note: string
  /** How clearly it was seen: above 0, up to 1. */
  strength: number
}
