/* The measurements that the benchmarks' Workers report to the process that runs them. */

/** A request's use of the platform. */
export interface Costs {
  d1RoundTrips: number
  statements: number
  rowsRead: number
  rowsWritten: number
  r2Calls: number
  limiterCalls: number
  queueSends: number
}

/** What D1 returned, as JSON. */
export interface Sizes {
  readBytes: number
  /** The number of bytes that the largest round trip read. */
  largestReadBytes: number
}

/** How a request spent its time, in milliseconds. */
export interface Times {
  /** Waiting for D1's responses, including parsing their JSON. */
  d1Ms: number
  /** The part of `d1Ms` that was spent in SQLite. */
  sqlMs: number
  r2Ms: number
}

/** The cost of analyzing a trace with the rules. */
export interface AttributionCosts {
  /** The trace's size: its spans, and their values as JSON. */
  spans: number
  bytes: number
  /** The spans that an engine sees. */
  shownSpans: number
  /** Phrases that say what data is left out. */
  omitted: string[]
  findings: number
  /**
   * How long it takes to find evidence and apply the rules, not counting waits: the first run in a new isolate, then
   * repeated runs.
   */
  firstMs: number
  warmMs: number[]
  /** A whole run, from the claim to the result. */
  run: Costs
}

declare module 'vitest' {
  interface ProvidedContext {
    /** How much to analyze: the number of spans in the large trace, and how many times each trace is analyzed. */
    attributionLoad: { largeSpans: number; times: number }
  }
  interface TaskMeta {
    attribution?: AttributionCosts
    /** What a request to an endpoint costs: the first one in its isolate, and a later one that finds its key cached. */
    costs?: { cold: Costs; warm: Costs }
  }
}
