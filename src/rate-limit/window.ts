/** Requests admitted in one second: the second since 1970, and how many. */
export type Slot = readonly [second: number, count: number]

export interface Verdict {
  allowed: boolean
  /** Requests that would still be admitted now. */
  remaining: number
  /** Seconds, at least 1, until more are admitted than now. */
  resetSeconds: number
  slots: readonly Slot[]
}

const WINDOW_SECONDS = 60

/**
 * Decides on one request: at most `limit` in any 60 seconds. Counts by the second and forgets a second only when all of
 * it is over 60 seconds old, so that no 60 seconds, wherever they begin, hold more than `limit`; the price is that a
 * token may come back up to a second late.
 */
export function takeFromWindow(slots: readonly Slot[], limit: number, nowMs: number): Verdict {
  // A clock that was set back must not bring old tokens to life again.
  const now = Math.max(Math.floor(nowMs / 1000), slots.at(-1)?.[0] ?? 0)
  const live = slots.filter(([second]) => second >= now - WINDOW_SECONDS)
  const used = live.reduce((sum, [, count]) => sum + count, 0)
  const allowed = used < limit
  const next = allowed ? admit(live, now) : live
  return {
    allowed,
    remaining: Math.max(0, limit - used - (allowed ? 1 : 0)),
    resetSeconds: (next[0]?.[0] ?? now) + WINDOW_SECONDS + 1 - now,
    slots: next,
  }
}

function admit(slots: readonly Slot[], second: number): Slot[] {
  const last = slots.at(-1)
  return last?.[0] === second ? [...slots.slice(0, -1), [second, last[1] + 1]] : [...slots, [second, 1]]
}
