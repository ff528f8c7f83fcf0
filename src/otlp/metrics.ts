import { countDataPoints } from './decode.ts'
import { exportEndpoints } from './endpoint.ts'
import { Outcome } from './outcome.ts'

/** Refuses data points as OTLP has it: a client that got a 404 would log an error at each of its exports. */
export const exportMetrics = exportEndpoints('metrics', async ({ body, type }) => {
  const count = countDataPoints(body, type)
  return new Outcome(count === 0 ? new Map() : new Map([['metrics are not kept here', count]]))
})
