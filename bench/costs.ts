/* What the Workers of the benchmarks tell the process that runs them. */

/** What a request asked of the platform. */
export interface Costs {
  d1RoundTrips: number
  statements: number
  rowsRead: number
  rowsWritten: number
  r2Calls: number
  limiterCalls: number
  queueSends: number
}

/** Where a request's time went, in milliseconds. */
export interface Times {
  /** Waiting for D1's answers, their JSON read. */
  d1Ms: number
  /** Of those, SQLite's own. */
  sqlMs: number
  r2Ms: number
}

/** What the analysis of a trace takes by the rules. */
export interface AttributionCosts {
  /** What the trace is: its spans, and their values as JSON. */
  spans: number
  bytes: number
  /** What an engine is shown of it. */
  shownSpans: number
  /** What it is not shown, a clause each. */
  omitted: string[]
  findings: number
  /** Of the evidence and the rules, which wait for nothing: the first time in the isolate for that trace, then again. */
  firstMs: number
  againMs: number[]
  /** Of a whole run, from the claim to the result. */
  run: Costs
}

declare module 'vitest' {
  interface ProvidedContext {
    /** How much to analyze: the spans of the large trace, and how often each is timed. */
    attributionLoad: { largeSpans: number; times: number }
  }
  interface TaskMeta {
    attribution?: AttributionCosts
    /** What one request to a test's endpoint costs: the first of its isolate, and one that finds its key remembered. */
    costs?: { cold: Costs; warm: Costs }
  }
}
