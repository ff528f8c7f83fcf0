import { DurableObject } from 'cloudflare:workers'
import { type Ask, type Count, EMPTY_COUNT, type Grant, grant } from './window.ts'

/** Counts one key's requests from everywhere. There is one object per key, named by the key's id. */
export class RateLimiter extends DurableObject {
  /**
   * Grants at most as many tokens as asked for. The count is stored before the response leaves, so an eviction loses
   * nothing. Uses the object's own clock, because isolates' clocks differ.
   */
  take(ask: Ask, nowMs = Date.now()): Grant {
    const before = this.ctx.storage.kv.get<Count>('count') ?? EMPTY_COUNT
    const { grant: granted, count } = grant(before, ask, nowMs)
    // A denial changes nothing that has to be stored, unless it returned a lease.
    if (granted.tokens > 0 || ask.returned) this.ctx.storage.kv.put('count', count)
    return granted
  }
}
