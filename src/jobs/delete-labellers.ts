import type { Env } from '../env.ts'
import { LABELLER_STEPS } from '../limits.ts'
import type { UnscopedStore } from '../store/core/store.ts'
import { checkLabellers } from '../store/reviews/labeller-walk.ts'

/** Deletes labelers without records. Checks a bounded number of traces per minute. */
export async function deleteUnusedLabellers(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  for (let step = 0; step < LABELLER_STEPS; step++) {
    if (!(await checkLabellers(env, unscoped, now))) return
  }
}
