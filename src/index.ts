import { loadOnce } from './domain/load-once.ts'
import { findEarly } from './early.ts'
import type { Env, Job } from './env.ts'
import { respond } from './respond.ts'

export { RateLimiter } from './rate-limit/limiter.ts'

const loadApp = loadOnce(() => import('./app.ts'))
const loadConsumer = loadOnce(() => import('./jobs/consumer.ts'))
const loadSweep = loadOnce(() => import('./jobs/sweep.ts'))

export default {
  fetch: async (request, env, context) => {
    const early = findEarly(request)
    if (early) {
      return respond(request, env, context, { serve: runtime => early.serve(request, {}, runtime), isOwn: false })
    }
    const { answer } = await loadApp()
    return answer(request, env, context)
  },
  queue: async (batch, env) => {
    const { consume } = await loadConsumer()
    await consume(batch, env)
  },
  // Uses the Worker's own clock, because a caller of this handler could pass any time, and a future time would expire
  // all data.
  scheduled: async (_, env) => {
    const { sweep } = await loadSweep()
    await sweep(env, Date.now())
  },
} satisfies ExportedHandler<Env, Job>
