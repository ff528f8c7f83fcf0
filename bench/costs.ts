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

declare module 'vitest' {
  interface TaskMeta {
    /** What one request to a test's endpoint costs: the first of its isolate, and one that finds its key remembered. */
    costs?: { cold: Costs; warm: Costs }
  }
}
