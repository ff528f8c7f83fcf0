/** The effort of a search: the steps it has taken, and the limit for its current part. */
export interface Effort {
  spent: number
  until: number
}

/** The running search. It must not await anything while it runs, because another search may start. */
let current: Effort | undefined

/** Runs a part of a search and counts its steps toward this effort. */
export function within<Result>(effort: Effort, run: () => Result): Result {
  const before = current
  current = effort
  try {
    return run()
  } finally {
    current = before
  }
}

class OutOfEffort extends Error {}

/**
 * Counts upcoming steps, each worth 100 to 200 nanoseconds, such as reading a character or looking up a
 * fact or word. A search is bounded by this count instead of the clock, so that a trace gets the same answer on any
 * machine. Outside a search, it counts nothing.
 *
 * @throws If the limit is exceeded; `attempt` catches it.
 */
export function spend(steps: number): void {
  if (!current) return
  current.spent += steps
  if (current.spent > current.until) throw new OutOfEffort('the search has reached its limit')
}

/** Runs a part of a search. Returns undefined if it doesn't finish within this many steps. */
export function attempt<Result>(steps: number, run: () => Result): Result | undefined {
  const effort = current
  if (!effort) return run()
  const { until } = effort
  effort.until = Math.min(until, effort.spent + steps)
  try {
    return run()
  } catch (error) {
    if (error instanceof OutOfEffort) return undefined
    throw error
  } finally {
    // The steps over the limit weren't taken.
    effort.spent = Math.min(effort.spent, effort.until)
    effort.until = until
  }
}

/** The steps that the search has taken. */
export const spentSteps = (): number => current?.spent ?? 0
