import { answer } from './app.ts'
import type { Env, Job } from './env.ts'
import { consume } from './jobs/consumer.ts'
import { sweep } from './jobs/sweep.ts'

export { RateLimiter } from './rate-limit/limiter.ts'

export default {
  fetch: (request, env, context) => answer(request, env, context),
  queue: (batch, env) => consume(batch, env),
  scheduled: ({ scheduledTime }, env) => sweep(env, scheduledTime),
} satisfies ExportedHandler<Env, Job>
