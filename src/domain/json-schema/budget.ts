import { MAX_SCHEMA_OPERATIONS } from '../../limits.ts'

/**
 * An allowance of operations for checking values against schemas; several checks may share it. It counts operations
 * instead of time, so that a check that passes today also passes tomorrow.
 */
export class Budget {
  #left = MAX_SCHEMA_OPERATIONS

  /** Uses up operations. Throws `TooCostly` once none are left. */
  spend(operations: number): void {
    this.#left -= operations
    if (this.#left < 0) throw new TooCostly()
  }
}

/** Thrown if a check needs more operations than its budget has. */
export class TooCostly extends Error {}
