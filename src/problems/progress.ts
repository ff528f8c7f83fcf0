import type { Project } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import type { CountedProblem } from '../store/problems/problem-list.ts'
import type { Progress } from './wire.ts'

/** Derives how far the fixes of problems have come, in the same order. */
export async function readProgress(
  _store: Store,
  _project: Project,
  problems: readonly CountedProblem[],
): Promise<Progress[]> {
  return problems.map(({ isDismissed }) => ({
    state: isDismissed ? 'dismissed' : 'open',
    candidate: null,
    proof: null,
    watch: null,
  }))
}
