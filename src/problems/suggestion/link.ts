import { MAX_CHANGE_ATTEMPTS } from '../../limits.ts'
import { daysOf } from '../../read/days.ts'
import type { Act } from '../../store/accounts/audit.ts'
import type { Store } from '../../store/core/store.ts'
import { saveProblem } from '../../store/problems/problem-changes.ts'
import type { FoundProblem } from '../../store/problems/problem-ids.ts'
import type { SuggestionRequest } from '../../store/problems/suggestion-requests.ts'
import { readProblem } from '../describe.ts'

/** The version that's linked to a problem, or null. */
export const findCandidate = async (store: Store, problem: FoundProblem, now: number): Promise<string | null> =>
  (await readProblem(store, problem, daysOf({}, now))).candidateVersionId

/** Links an added version to its problem, unless the linked version has changed since the request. */
export async function linkSuggestion(
  store: Store,
  act: Act,
  problem: FoundProblem,
  { versionId, candidateBefore }: SuggestionRequest,
): Promise<void> {
  for (let attempt = 1; attempt <= MAX_CHANGE_ATTEMPTS; attempt++) {
    const before = await readProblem(store, problem, daysOf({}, act.at))
    if (before.candidateVersionId !== candidateBefore) return
    const after = { ...before, candidateVersionId: versionId, candidateAt: act.at, proof: null }
    if (await saveProblem(store, act, problem, before, after)) return
    await store.deadline.giveWay(attempt)
  }
}
