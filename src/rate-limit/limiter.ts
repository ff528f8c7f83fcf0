import { DurableObject } from 'cloudflare:workers'
import { type Slot, takeFromWindow, type Verdict } from './window.ts'

/** Counts one key's requests, wherever they arrive. One object per key, named by the key's id. */
export class RateLimiter extends DurableObject {
  /** Asks for one token. The count is stored before the answer leaves, so that an eviction forgets nothing. */
  take(limit: number, nowMs: number): Omit<Verdict, 'slots'> {
    const slots = this.ctx.storage.kv.get<readonly Slot[]>('slots') ?? []
    const { slots: next, ...verdict } = takeFromWindow(slots, limit, nowMs)
    if (verdict.allowed) this.ctx.storage.kv.put('slots', next)
    return verdict
  }
}
