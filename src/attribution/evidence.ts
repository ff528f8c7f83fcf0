import type { Subject } from './subject.ts'

/** What a check saw in a trace: for the rules to weigh, for a model to read, for a person to look up. */
export interface Finding {
  /** What was seen: a row of the rules' table. */
  kind: string
  /** Where; null: the trace as a whole, or what lies outside of it. */
  spanId: string | null
  /** A JSON path from there: `output.items[2].qty`, `input`, `state.config.today`, `prompt`, `feedback`, `knowledgeDocs.<slug>`. */
  path: string
  /** One clause. */
  note: string
  /** How clearly it was seen: above 0, up to 1. */
  strength: number
}

/** Checks a trace against itself, its prompts and the knowledge docs. Findings come in no order of weight. */
export function findEvidence(_subject: Subject): Finding[] {
  return []
}
