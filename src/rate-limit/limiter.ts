import { DurableObject } from 'cloudflare:workers'
import { type Ask, type Count, EMPTY_COUNT, type Grant, grant } from './window.ts'

/** Counts one key's requests from all isolates. Each key has its own object, named by the key's id. */
export class RateLimiter extends DurableObject {
  /**
   * Grants at most the requested number of tokens. Stores the count before it responds, so an eviction loses nothing.
   * Uses the object's own clock, because isolates' clocks differ.
   */
  take(ask: Ask, nowMs = Date.now()): Grant {
    const before = this.ctx.storage.kv.get<Count>('count') ?? EMPTY_COUNT
    const { grant: granted, count } = grant(before, ask, nowMs)
    // There's nothing to store after a denial, unless it returned a lease.
    if (granted.tokens > 0 || ask.returned) this.ctx.storage.kv.put('count', count)
    return granted
  }
}
