import { countDataPoints } from './decode.ts'
import { exportEndpoints } from './endpoint.ts'
import { Outcome } from './outcome.ts'

/** Rejects all data points, in the way that OTLP specifies. A 404 would make clients log an error for each export. */
export const exportMetrics = exportEndpoints('metrics', async ({ body }) => {
  const outcome = new Outcome()
  const count = await body.decode(countDataPoints)
  if (count > 0) outcome.reject('metrics are not supported', count)
  return outcome
})
