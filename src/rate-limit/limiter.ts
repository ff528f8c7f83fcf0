import { DurableObject } from 'cloudflare:workers'
import { type Ask, type Count, EMPTY_COUNT, type Grant, grant } from './window.ts'

/** Counts one key's requests, wherever they arrive. One object per key, named by the key's id. */
export class RateLimiter extends DurableObject {
  /**
   * Gives tokens, at most as many as asked for. The count is stored before the answer leaves, so that an eviction forgets
   * nothing. Time is this object's own: isolates have clocks of theirs.
   */
  take(ask: Ask, nowMs = Date.now()): Grant {
    const before = this.ctx.storage.kv.get<Count>('count') ?? EMPTY_COUNT
    const { grant: granted, count } = grant(before, ask, nowMs)
    // A denial changes nothing but what the time alone changes, or a lease that came back.
    if (granted.tokens > 0 || ask.returned) this.ctx.storage.kv.put('count', count)
    return granted
  }
}
