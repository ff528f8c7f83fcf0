import { unavailable } from '../http/errors.ts'
import { STORE_ATTEMPT_MS } from '../limits.ts'
import { classifyFault, UNKNOWN_OUTCOME } from './faults.ts'

/** How long a request, or a job's step, may still wait for the platform. Spent by waiting, not by the client's upload. */
export interface Patience {
  remainingMs: number
}

/** An operation that took longer than its caller could wait. Whether it took effect is unknown. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
    this.name = 'TimedOut'
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
 * Faults of the platform come out as 503, anything else as it is.
 */
export async function patiently<T>(patience: Patience, operation: () => Promise<T>): Promise<T> {
  let cause: unknown
  for (let attemptsLeft = 2; patience.remainingMs >= MIN_ATTEMPT_MS; ) {
    const startedAt = Date.now()
    try {
      return await within(Math.min(STORE_ATTEMPT_MS, patience.remainingMs), operation)
    } catch (error) {
      const fault = error instanceof TimedOut ? UNKNOWN_OUTCOME : classifyFault(error)
      if (!fault) throw error
      if (!fault.retry || --attemptsLeft === 0) throw unavailable(fault.retryAfterSeconds, error)
      cause = error
    } finally {
      patience.remainingMs -= Date.now() - startedAt
    }
    await scheduler.wait(100 + Math.random() * 100)
  }
  throw unavailable(UNKNOWN_OUTCOME.retryAfterSeconds, cause ?? new Error('no patience left for another call'))
}

/** An attempt shorter than this would only add load. */
const MIN_ATTEMPT_MS = 200
