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

/** What one request to each endpoint asks of the platform: the sample that the suites over all endpoints send. */
export const counts: Benchmark = async ({ isQuick }) => {
  // As the tests are: the samples come with a tenant, which is made there.
  const tests = await runInWorkerd({
    file: 'bench/worker/counts.test.ts',
    ...(isQuick && { named: /traces$|session/ }),
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
    sectionOf('warm', 'What a request asks of the platform'),
    sectionOf('cold', 'What the first request of an isolate asks, which knows no key yet'),
  ]
}
