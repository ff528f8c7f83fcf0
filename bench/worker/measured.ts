import type { Env } from '../../src/env.ts'
import worker, { RateLimiter } from '../../src/index.ts'
import { measuredBindings } from './measured-bindings.ts'

export { RateLimiter }

/** Countersign's Worker. A header reports each response's cost and time and, if asked for, what D1 returned. */
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
