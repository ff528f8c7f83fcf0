import { problemUuid } from '../domain/ids.ts'
import { daysOf } from '../read/days.ts'
import type { Store } from '../store/core/store.ts'
import { saveKnownState } from '../store/problems/problem-changes.ts'
import { type ProblemPlace, selectProblems } from '../store/problems/problem-list.ts'
import { readProgress } from './progress.ts'

/**
 * Checks how far the fixes for some of a project's problems have progressed since the last check, and records events
 * for the changes. Returns where to continue, or null at the end.
 */
export async function noticeStates(
  store: Store,
  project: { key: number; id: string },
  { after, limit, now }: { after: ProblemPlace | null; limit: number; now: number },
): Promise<ProblemPlace | null> {
  const page = { days: daysOf({}, now), limit: limit + 1, after: after ?? undefined, isDecided: true }
  const rows = await selectProblems(store, project, page)
  const problems = rows.slice(0, limit)
  const progress = await readProgress(store, project, problems, now)
  for (const [index, problem] of problems.entries()) {
    const state = progress[index]?.state
    if (state === undefined || state === problem.knownState) continue
    const id = problem.id ?? (await problemUuid(project.id, problem))
    await saveKnownState(store, { ...problem, id, projectKey: project.key }, state, now)
  }
  const last = problems.at(-1)
  if (!last || rows.length <= limit) return null
  return [last.byReviewers + last.byEngine, last.stepId, last.errorType, last.docSlug]
}
