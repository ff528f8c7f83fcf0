import type { Caller } from '../auth/authenticate.ts'
import type { Env } from '../env.ts'
import { logFault, rateLimited } from '../http/errors.ts'
import { LIMITER_PATIENCE_MS } from '../limits.ts'
import { within } from '../store/patience.ts'

/**
 * Spends one of the caller's tokens and returns the headers that tell what is left
 * (draft-ietf-httpapi-ratelimit-headers). 429 where none is left. A limiter that does not answer in 250 ms lets the
 * request through, without headers: it protects the service and must not be what takes it down.
 */
export async function takeToken(
  env: Env,
  { keyId, rateLimitPerMinute: limit }: Caller,
  now: number,
  requestId: string,
): Promise<Record<string, string>> {
  const verdict = await askLimiter(env, keyId, limit, now, requestId)
  if (!verdict) return {}
  const headers = {
    'ratelimit-policy': `"default";q=${limit};w=60`,
    ratelimit: `"default";r=${verdict.remaining};t=${verdict.resetSeconds}`,
  }
  if (!verdict.allowed) throw rateLimited(verdict.resetSeconds, headers)
  return headers
}

async function askLimiter(env: Env, keyId: string, limit: number, now: number, requestId: string) {
  const limiter = env.RATE_LIMITER.get(env.RATE_LIMITER.idFromName(keyId))
  try {
    return await within(LIMITER_PATIENCE_MS, async () => limiter.take(limit, now))
  } catch (error) {
    logFault('limiter_unreachable', { requestId }, error)
    return undefined
  }
}
