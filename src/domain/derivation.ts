/** A fact about a trace, with its rank. */
export interface Ranked<Value> {
  rank: string
  value: Value
}

/** The data from telemetry that a trace's state was derived from, in addition to the columns of its row. */
export interface Derivation {
  nameRank: string
  /** Ranks of the metadata fields from telemetry. Other fields come from a client and are never overwritten. */
  ranks: Record<string, string>
  startMs: number
  endMs: number
  root: Ranked<string> | null
  hasRemoteParent: boolean
  /** Whether the trace was completed without its root. */
  isClosed: boolean
}
