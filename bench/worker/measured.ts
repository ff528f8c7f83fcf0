import type { Env } from '../../src/env.ts'
import worker, { RateLimiter } from '../../src/index.ts'
import { measuredBindings } from './measured-bindings.ts'

export { RateLimiter }

/** Countersign's Worker, which reports the cost and time of each response in a header, and what D1 returned if asked. */
export default {
  async fetch(request, _, context) {
    const { bindings, costs, times, sizes } = measuredBindings(request.headers.has('x-measure-bytes'))
    const start = performance.now()
    const response = await worker.fetch(request, bindings, context)
    const answeredMs = performance.now() - start
    response.headers.set('x-measured', JSON.stringify({ ...costs, ...times, ...sizes, answeredMs }))
    return response
  },
} satisfies ExportedHandler<Env>
