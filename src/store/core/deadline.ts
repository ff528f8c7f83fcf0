import { Unanswered } from '../../domain/failures.ts'
import {
  FIRST_GIVE_WAY_MS,
  MAX_GIVE_WAY_MS,
  MIN_STORE_ATTEMPT_MS,
  PAST_DEADLINE_RETRY_SECONDS,
  STORE_ATTEMPT_MS,
} from '../../limits.ts'
import { classifyFault, TimedOut } from './faults.ts'

/**
 * How long a request, or a job, may still wait for D1 and R2. Spent while at least one call is under way: calls side by
 * side cost once, and a client's slow upload costs nothing.
 */
export class Deadline {
  readonly attemptMs: number
  #remainingMs: number
  #underWay = 0
  #since = 0

  /** `attemptMs` bounds one attempt at one call. */
  constructor(milliseconds: number, attemptMs = STORE_ATTEMPT_MS) {
    this.#remainingMs = milliseconds
    this.attemptMs = attemptMs
  }

  remainingMs(): number {
    return this.#remainingMs - (this.#underWay > 0 ? Date.now() - this.#since : 0)
  }

  /** The operation's result, or `TimedOut` after `ms`; what it takes is spent. */
  spend<T>(ms: number, operation: () => Promise<T>): Promise<T> {
    return this.#charge(() => within(ms, operation))
  }

  /** Waits, and spends what it waits. */
  pause(ms: number): Promise<void> {
    return this.#charge(() => new Promise(resolve => setTimeout(resolve, ms)))
  }

  /**
   * Waits because somebody else's write came first, for the `losses`th time: a random while, for callers that meet here must
   * draw ever further apart, or each would outrun all others.
   */
  giveWay(losses: number): Promise<void> {
    return this.pause(Math.random() * Math.min(FIRST_GIVE_WAY_MS * 2 ** (losses - 1), MAX_GIVE_WAY_MS))
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

/** The operation's result, or `TimedOut` after `ms`. The operation itself goes on: nothing can cancel it. */
export async function within<T>(ms: number, operation: () => Promise<T>): Promise<T> {
  let timer: number | null = null
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
 * One D1 or R2 call, bounded in time and tried a second time where a fault may pass. The operation must be one that
 * has the same effect when it runs twice: a fault does not say whether the first attempt took effect.
 * Faults of the platform come out as `Unanswered`, anything else as it is.
 */
export async function withRetry<T>(deadline: Deadline, operation: () => Promise<T>): Promise<T> {
  let cause: unknown = new Error('no deadline left for another call')
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
