import { BUSY_LEASE_MS, FIRST_LEASE_TOKENS, LEASE_SECONDS, LIMITER_PAUSE_MS, LIMITER_TIMEOUT_MS } from '../limits.ts'
import type { Ask, Grant } from './window.ts'

/** Whether a request may pass, and the key's remaining requests. */
export interface Verdict {
  allowed: boolean
  /** The number of requests that could pass now. */
  remaining: number
  /** Seconds until that number grows, at least 1. */
  resetSeconds: number
}

/** A grant and its unspent tokens. */
interface Lease extends Grant {
  left: number
  takenAt: number
}

/**
 * One key's tokens in one isolate. Spends the tokens of its lease, and requests the next lease from the key's Durable
 * Object once they're used up or 10 seconds old. A denial lasts until a token may be free. A busy isolate requests
 * twice as many tokens as it last spent; any other isolate requests as many as it spent, but at least
 * `FIRST_LEASE_TOKENS`.
 */
export class Tokens {
  #lease: Lease | undefined
  #denial: { until: number; resetAt: number } | undefined
  #size = FIRST_LEASE_TOKENS
  #renewingUntil = 0
  #pauseUntil = 0

  /**
   * Takes one token at `now`, in milliseconds. Rethrows what `ask` throws. For a second after an error, doesn't call
   * the limiter, and returns undefined if no token can be taken without it.
   */
  async take(limit: number, now: number, ask: (request: Ask) => Promise<Grant>): Promise<Verdict | undefined> {
    const held = this.#spend(now) ?? this.#denied(now)
    if (held || now < this.#pauseUntil) return held
    try {
      const isRenewing = now < this.#renewingUntil
      const { tokens, remaining, resetSeconds, retrySeconds } = isRenewing
        ? await ask({ limit, tokens: 1 })
        : await this.#renew(limit, now, ask)
      if (tokens > 0) return { allowed: true, remaining: remaining + tokens - 1, resetSeconds }
      this.#denial = { until: now + retrySeconds * 1000, resetAt: now + resetSeconds * 1000 }
      return { allowed: false, remaining, resetSeconds }
    } catch (error) {
      this.#pauseUntil = now + LIMITER_PAUSE_MS
      throw error
    }
  }

  #spend(now: number): Verdict | undefined {
    const lease = this.#lease
    if (!lease || lease.left === 0 || now >= lease.takenAt + LEASE_SECONDS * 1000) return undefined
    lease.left--
    const resetSeconds = secondsUntil(lease.takenAt + lease.resetSeconds * 1000, now)
    return { allowed: true, remaining: lease.remaining + lease.left, resetSeconds }
  }

  #denied(now: number): Verdict | undefined {
    if (!this.#denial || now >= this.#denial.until) return undefined
    return { allowed: false, remaining: 0, resetSeconds: secondsUntil(this.#denial.resetAt, now) }
  }

  /**
   * Hands back the old lease and requests a new one. Requests that arrive in the meantime can't wait for it, so each
   * requests one token.
   */
  async #renew(limit: number, now: number, ask: (request: Ask) => Promise<Grant>): Promise<Grant> {
    const old = this.#lease
    this.#lease = undefined
    // A time instead of a flag, because a request whose client disconnected may never clear a flag.
    this.#renewingUntil = now + LIMITER_TIMEOUT_MS
    if (old) this.#size = nextSize(old, now)
    const returned = old?.lease ? { returned: { lease: old.lease, spent: old.tokens - 1 - old.left } } : {}
    const taken = await ask({ limit, tokens: this.#size, ...returned })
    this.#renewingUntil = 0
    if (taken.tokens > 0) this.#lease = { ...taken, left: taken.tokens - 1, takenAt: now }
    return taken
  }
}

function nextSize({ tokens, left, takenAt }: Lease, now: number): number {
  const spent = tokens - left
  return now - takenAt < BUSY_LEASE_MS ? 2 * spent : Math.max(FIRST_LEASE_TOKENS, spent)
}

const secondsUntil = (time: number, now: number): number => Math.max(1, Math.ceil((time - now) / 1000))
