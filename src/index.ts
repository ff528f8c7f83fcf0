import { answer } from './app.ts'
import type { Env, Job } from './env.ts'
import { consume } from './jobs/consumer.ts'
import { sweep } from './jobs/sweep.ts'

export { RateLimiter } from './rate-limit/limiter.ts'

export default {
  fetch: (request, env, context) => answer(request, env, context),
  queue: (batch, env) => consume(batch, env),
  // Uses the Worker's own clock: a caller of this handler could pass any time, and a late one would expire all data.
  scheduled: (_, env) => sweep(env, Date.now()),
} satisfies ExportedHandler<Env, Job>
