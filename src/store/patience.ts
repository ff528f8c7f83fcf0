import { unavailable } from '../http/errors.ts'
import { STORE_ATTEMPT_MS } from '../limits.ts'
import { classifyFault, type Fault, UNKNOWN_OUTCOME } from './faults.ts'

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
  for (let attempt = 1; ; attempt++) {
    const startedAt = Date.now()
    let fault: Fault | undefined
    try {
      return await within(Math.max(0, Math.min(STORE_ATTEMPT_MS, patience.remainingMs)), operation)
    } catch (error) {
      fault = error instanceof TimedOut ? UNKNOWN_OUTCOME : classifyFault(error)
      if (!fault) throw error
    } finally {
      patience.remainingMs -= Date.now() - startedAt
    }
    if (!fault.retry || attempt === 2 || patience.remainingMs < MIN_ATTEMPT_MS)
      throw unavailable(fault.retryAfterSeconds)
    await scheduler.wait(100 + Math.random() * 100)
  }
}

/** A second attempt shorter than this would only add load. */
const MIN_ATTEMPT_MS = 200
