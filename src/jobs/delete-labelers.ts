import type { Env } from '../env.ts'
import { LABELER_STEPS } from '../limits.ts'
import type { UnscopedStore } from '../store/core/store.ts'
import { checkLabelers } from '../store/reviews/labeler-walk.ts'

/** Deletes labelers who have no records. Checks a bounded number of traces per minute. */
export async function deleteUnusedLabelers(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  for (let step = 0; step < LABELER_STEPS; step++) {
    if (!(await checkLabelers(env, unscoped, now))) return
  }
}
