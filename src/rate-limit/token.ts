import { logFault, rateLimited } from '../http/errors.ts'
import { ISOLATE_CACHE_ENTRIES, LIMITER_TIMEOUT_MS, WINDOW_SECONDS } from '../limits.ts'
import { within } from '../store/core/deadline.ts'
import { IsolateCache } from '../store/core/isolate-cache.ts'
import { Tokens, type Verdict } from './lease.ts'
import type { RateLimiter } from './limiter.ts'
import type { Ask } from './window.ts'

const tokensByHolder = new IsolateCache<Tokens>(ISOLATE_CACHE_ENTRIES)

/** The caller who spends tokens. */
interface Spender {
  keyId: string | null
  userId: string | null
  rateLimitPerMinute: number
}

type Limiters = DurableObjectNamespace<RateLimiter>

/**
 * Spends one of the caller's tokens. Returns headers that give the remaining tokens
 * (draft-ietf-httpapi-ratelimit-headers). 429 if none remain. If the limiter doesn't respond within 250 ms, the request
 * passes without headers.
 */
export async function takeToken(
  limiters: Limiters,
  caller: Spender,
  requestId: string,
): Promise<Record<string, string>> {
  const limit = caller.rateLimitPerMinute
  const verdict = await askFor(limiters, countedAs(caller), limit, requestId)
  if (!verdict) return {}
  const headers = {
    'ratelimit-policy': `"default";q=${limit};w=${WINDOW_SECONDS}`,
    // Tokens are counted by the second, so one may come back a second after the window.
    ratelimit: `"default";r=${verdict.remaining};t=${Math.min(verdict.resetSeconds, WINDOW_SECONDS)}`,
  }
  if (!verdict.allowed) throw rateLimited(verdict.resetSeconds, headers)
  return headers
}

/** The owner of the tokens: the key, whoever uses it, or the user if there's no key. */
const countedAs = ({ keyId, userId }: Spender): string => keyId ?? userId ?? ''

async function askFor(
  limiters: Limiters,
  holder: string,
  limit: number,
  requestId: string,
): Promise<Verdict | undefined> {
  const tokens = tokensOf(holder)
  const ask = (request: Ask) => {
    const limiter = limiters.get(limiters.idFromName(holder))
    return within(LIMITER_TIMEOUT_MS, async () => limiter.take(request))
  }
  try {
    // Takes the current time instead of the request's start time, because a key lookup may have waited for D1.
    return await tokens.take(limit, Date.now(), ask)
  } catch (error) {
    logFault('limiter_unreachable', { requestId }, error)
    return undefined
  }
}

function tokensOf(holder: string): Tokens {
  const known = tokensByHolder.get(holder)
  if (known) return known
  const tokens = new Tokens()
  tokensByHolder.set(holder, tokens)
  return tokens
}
