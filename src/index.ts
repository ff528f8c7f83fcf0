import { answer } from './app.ts'
import type { Env, Job } from './env.ts'
import { consume } from './jobs/consumer.ts'
import { sweep } from './jobs/sweep.ts'

export { RateLimiter } from './rate-limit/limiter.ts'

export default {
  fetch: (request, env, context) => answer(request, env, context),
  queue: (batch, env) => consume(batch, env),
  // By its own clock: whoever fires it may name a time at which everything kept is past its own.
  scheduled: (_, env) => sweep(env, Date.now()),
} satisfies ExportedHandler<Env, Job>
