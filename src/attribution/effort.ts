/** How many steps a search has taken, and the number of steps at which its current part must stop. */
export interface Effort {
  spent: number
  until: number
}

/** The running search. It must not await anything, because another search could start in the meantime. */
let current: Effort | undefined

/** Runs part of a search and counts its steps toward this effort. */
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
 * Counts steps that are about to run. A step, such as reading a character or looking up a fact or word, takes 100 to
 * 200 nanoseconds. Searches are limited by this count instead of the clock, so a trace gets the same answer on any
 * machine. Outside a search, does nothing.
 *
 * @throws If the limit is exceeded. `attempt` catches this error.
 */
export function spend(steps: number): void {
  if (!current) return
  current.spent += steps
  if (current.spent > current.until) throw new OutOfEffort('the search has reached its limit')
}

/** Runs part of a search. Returns undefined if it doesn't finish within this many steps. */
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
    // The steps past the limit weren't taken, so don't count them.
    effort.spent = Math.min(effort.spent, effort.until)
    effort.until = until
  }
}

/** How many steps the running search has taken. */
export const spentSteps = (): number => current?.spent ?? 0
