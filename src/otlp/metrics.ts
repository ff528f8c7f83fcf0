import { countDataPoints } from './decode.ts'
import { exportEndpoints } from './endpoint.ts'
import { Outcome } from './outcome.ts'

/** Refuses data points as OTLP has it: a client that got a 404 would log an error at each of its exports. */
export const exportMetrics = exportEndpoints('metrics', async ({ read }) => {
  const outcome = new Outcome()
  const count = await read(countDataPoints)
  if (count > 0) outcome.reject('metrics are not kept here', count)
  return outcome
})
