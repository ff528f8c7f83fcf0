/** What is said of a trace, with its rank. */
export interface Ranked<Value> {
  rank: string
  value: Value
}

/** Where a trace's state came from, beside what its row says. */
export interface Derivation {
  nameRank: string
  /** Of the metadata fields that telemetry gave; the others are a client's, and stay. */
  ranks: Record<string, string>
  startMs: number
  endMs: number
  root: Ranked<string> | null
  hasRemoteParent: boolean
  /** Whether its time was up before its root came. */
  isClosed: boolean
}
