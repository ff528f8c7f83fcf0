import type { Caller } from '../auth/authenticate.ts'
import { requireFound } from '../auth/require-project.ts'
import { isForeignProblem } from '../store/accounts/ownership.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { type FoundProblem, findProblem } from '../store/problems/problem-ids.ts'

/** The problem with this id, if the caller may see it. */
export async function requireProblem(
  { caller, store, unscoped }: { caller: Caller; store: Store; unscoped: UnscopedStore },
  id: string,
): Promise<FoundProblem> {
  const problem = await findProblem(store, id)
  return requireFound(caller, problem, () => isForeignProblem(unscoped, store.organization, id))
}
