import { MAX_SCHEMA_OPERATIONS } from '../../limits.ts'

/** What schemas may do to values, in operations: several checks may share one. Counts and no clock, so that what fits today fits tomorrow. */
export class Budget {
  #left = MAX_SCHEMA_OPERATIONS

  /** Takes operations. Throws `TooCostly` when there are none left, then and from then on. */
  spend(operations: number): void {
    this.#left -= operations
    if (this.#left < 0) throw new TooCostly()
  }
}

/** A check that would take more operations than its budget has. */
export class TooCostly extends Error {}
