import type { Costs } from './costs.ts'
import { runInWorkerd } from './in-workerd.ts'
import type { Benchmark } from './report.ts'

const COLUMNS = [
  ['d1RoundTrips', 'D1 round trips'],
  ['statements', 'statements'],
  ['rowsRead', 'rows read'],
  ['rowsWritten', 'rows written'],
  ['r2Calls', 'R2 calls'],
  ['limiterCalls', 'limiter calls'],
  ['queueSends', 'queue sends'],
] as const satisfies [keyof Costs, string][]

/** What platform resources a request to each endpoint uses. The sample requests come from the endpoint tests. */
export const counts: Benchmark = async ({ isQuick }) => {
  // Runs as a test, because the samples need a tenant that the tests create.
  const tests = await runInWorkerd({
    file: 'bench/worker/counts.test.ts',
    // One request with an ingestion key, one with an owner's key, and one without a key.
    ...(isQuick && { named: /^(POST \/api\/v1\/traces|GET \/api\/traces|POST \/api\/session)$/ }),
  })
  const sectionOf = (state: 'cold' | 'warm', title: string) => ({
    title,
    measurements: tests.map(test => {
      const costs = test.meta().costs?.[state]
      if (!costs) throw new Error(`${test.name}: ${test.result().errors?.[0]?.message}`)
      return { what: test.name, more: Object.fromEntries(COLUMNS.map(([field, name]) => [name, costs[field]])) }
    }),
  })
  return [
    sectionOf('warm', 'Platform usage per request'),
    sectionOf('cold', 'Platform usage of the first request in an isolate, before its key is cached'),
  ]
}
