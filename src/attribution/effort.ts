/** The effort of a search: how many steps it has done, and up to how many the part at hand may go. */
export interface Effort {
  spent: number
  until: number
}

/** The search that is under way. It must not wait for anything meanwhile: another one may begin. */
let current: Effort | undefined

/** Runs a part of a search: what it spends counts as this effort. */
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
 * Counts steps that are about to be done, each of one or two ten-millionths of a second: a character that is read, a fact or word
 * that is looked up. A search ends by this count and not by the clock, so that a trace gets the same answer on any machine.
 * Outside of a search nothing is counted.
 *
 * @throws Where they are too many; `attempt` catches it.
 */
export function spend(steps: number): void {
  if (!current) return
  current.spent += steps
  if (current.spent > current.until) throw new OutOfEffort('the search has looked at enough')
}

/** What a part of a search returns; undefined where it did not come to its end in this many steps. */
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
    // The steps that were one too many were not done.
    effort.spent = Math.min(effort.spent, effort.until)
    effort.until = until
  }
}

/** The steps that the search has done. */
export const spentSteps = (): number => current?.spent ?? 0
