import { Unanswered } from '../../domain/failures.ts'
import {
  FIRST_RACE_DELAY_MS,
  MAX_RACE_DELAY_MS,
  MIN_STORE_ATTEMPT_MS,
  PAST_DEADLINE_RETRY_SECONDS,
  STORE_ATTEMPT_MS,
} from '../../limits.ts'
import { classifyFault, TimedOut } from './faults.ts'

/**
 * How much longer a request or job may wait for D1 and R2. Only time during which at least one call is in flight
 * counts: parallel calls don't count twice, and a client's slow upload doesn't count at all.
 */
export class Deadline {
  readonly attemptMs: number
  #remainingMs: number
  #underWay = 0
  #since = 0

  /** `attemptMs` limits a single attempt at a call. */
  constructor(milliseconds: number, attemptMs = STORE_ATTEMPT_MS) {
    this.#remainingMs = milliseconds
    this.attemptMs = attemptMs
  }

  remainingMs(): number {
    return this.#remainingMs - (this.#underWay > 0 ? Date.now() - this.#since : 0)
  }

  /** Returns the operation's result, or throws `TimedOut` after `ms`. The time taken counts against the deadline. */
  spend<T>(ms: number, operation: () => Promise<T>): Promise<T> {
    return this.#charge(() => within(ms, operation))
  }

  /** Waits for `ms`. The time counts against the deadline. */
  pause(ms: number): Promise<void> {
    return this.#charge(() => new Promise(resolve => setTimeout(resolve, ms)))
  }

  /**
   * Waits after the caller has lost a race to another write `losses` times. The delay is random and grows, so competing
   * callers spread out and no caller keeps winning.
   */
  giveWay(losses: number): Promise<void> {
    return this.pause(Math.random() * Math.min(FIRST_RACE_DELAY_MS * 2 ** (losses - 1), MAX_RACE_DELAY_MS))
  }

  async #charge<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#underWay++ === 0) this.#since = Date.now()
    try {
      return await operation()
    } finally {
      if (--this.#underWay === 0) this.#remainingMs -= Date.now() - this.#since
    }
  }
}

/**
 * Returns the operation's result, or throws `TimedOut` after `ms`. The operation keeps running, because it can't be
 * canceled.
 */
export async function within<T>(ms: number, operation: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | null = null
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(ms)), ms)
  })
  try {
    return await Promise.race([operation(), timeout])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Makes a D1 or R2 call with a time limit, and retries it once after a fault that may be transient. The operation must
 * be idempotent, because a fault doesn't show whether the first attempt took effect. Throws platform faults as
 * `Unanswered`, and other errors unchanged.
 */
export async function withRetry<T>(deadline: Deadline, operation: () => Promise<T>): Promise<T> {
  let cause: unknown = new Error('no time left for another call')
  for (let attemptsLeft = 2; deadline.remainingMs() >= MIN_STORE_ATTEMPT_MS; ) {
    try {
      return await deadline.spend(Math.min(deadline.attemptMs, deadline.remainingMs()), operation)
    } catch (error) {
      const fault = classifyFault(error)
      if (!fault) throw error
      if (!fault.retry || --attemptsLeft === 0) throw new Unanswered(fault.retryAfterSeconds, error)
      cause = error
    }
    await deadline.pause(100 + Math.random() * 100)
  }
  throw new Unanswered(PAST_DEADLINE_RETRY_SECONDS, cause)
}
