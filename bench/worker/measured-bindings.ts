import type { Env } from '../../src/env.ts'
import { wrapBindings } from '../../test/support/bindings.ts'
import type { Costs, Sizes, Times } from '../costs.ts'

const COUNTED = {
  DB: 'd1RoundTrips',
  PAYLOADS: 'r2Calls',
  RATE_LIMITER: 'limiterCalls',
  JOBS: 'queueSends',
} as const

/**
 * Bindings that record their use, and the records. Measures sizes only if `withSizes` is true, because measuring takes
 * time.
 */
export function measuredBindings(withSizes = false): { bindings: Env; costs: Costs; times: Times; sizes: Sizes } {
  const costs: Costs = {
    d1RoundTrips: 0,
    statements: 0,
    rowsRead: 0,
    rowsWritten: 0,
    r2Calls: 0,
    limiterCalls: 0,
    queueSends: 0,
  }
  const times: Times = { d1Ms: 0, sqlMs: 0, r2Ms: 0 }
  const sizes: Sizes = { readBytes: 0, largestReadBytes: 0 }
  const bindings = wrapBindings(
    async (binding, call) => {
      costs[COUNTED[binding]]++
      const start = performance.now()
      try {
        const result = await call()
        if (withSizes && binding === 'DB') {
          const bytes = JSON.stringify(result).length
          sizes.readBytes += bytes
          sizes.largestReadBytes = Math.max(sizes.largestReadBytes, bytes)
        }
        return result
      } finally {
        if (binding === 'DB') times.d1Ms += performance.now() - start
        if (binding === 'PAYLOADS') times.r2Ms += performance.now() - start
      }
    },
    ({ meta }) => {
      costs.statements++
      costs.rowsRead += meta.rows_read
      costs.rowsWritten += meta.rows_written
      times.sqlMs += meta.duration
    },
  )
  return { bindings, costs, times, sizes }
}
