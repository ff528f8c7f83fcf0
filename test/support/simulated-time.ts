import { vi } from 'vitest'

/** Tracks the platform calls that are in flight while time is simulated. */
export class Flight {
  #underWay = 0
  #hangs = false

  /** Makes a call. Time doesn't advance until it responds. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    this.#hangs = false
    this.#underWay++
    return call().finally(() => this.#underWay--)
  }

  /** A call that never responds. */
  hang(): Promise<never> {
    this.#hangs = true
    return new Promise(() => {})
  }

  get isWaiting(): boolean {
    return this.#underWay === 0
  }

  get isHanging(): boolean {
    return this.#hangs
  }
}

/** Roughly the longest pause that the service makes between calls. */
const STEP_MS = 250

/**
 * Advances the time while `response` waits only for timers. Unless a call hangs, time advances in small steps, because
 * work between calls may be slow on a busy machine, and an earlier request's timer may be far in the future.
 */
export async function passTime<T>(response: Promise<T>, flight: Flight): Promise<T> {
  let isSettled = false
  const watched = response.finally(() => {
    isSettled = true
  })
  // The caller that awaits the result handles its error.
  watched.catch(() => {})
  for (let idle = 0; !isSettled; ) {
    await scheduler.wait(1)
    // Reading an R2 object's body after the call doesn't count as a call, but finishes immediately.
    idle = flight.isWaiting ? idle + 1 : 0
    if (idle <= 3 || vi.getTimerCount() === 0) continue
    const step = flight.isHanging ? null : setTimeout(() => {}, STEP_MS)
    await vi.advanceTimersToNextTimerAsync()
    clearTimeout(step)
  }
  return watched
}
