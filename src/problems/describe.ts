import type * as v from 'valibot'
import type { Store } from '../store/core/store.ts'
import type { DayRange } from '../store/insights/insights.ts'
import type { FoundProblem } from '../store/problems/problem-ids.ts'
import { type CountedProblem, readProblemDetails, selectProblems } from '../store/problems/problem-list.ts'
import { readProgress } from './progress.ts'
import { type Problem, toProblem } from './wire.ts'

/** Reads a problem with its counts in a range of days. Returns zeros if nothing is stored. */
export async function readProblem(store: Store, found: FoundProblem, days: DayRange): Promise<CountedProblem> {
  const { projectKey, stepId, errorType, docSlug } = found
  const [problem] = await selectProblems(store, { key: projectKey }, { days, limit: 1, only: found })
  return problem ?? { ...NOTHING, stepId, errorType, docSlug }
}

const NOTHING = {
  id: null,
  byReviewers: 0,
  byEngine: 0,
  before: 0,
  lastDay: null,
  isDismissed: false,
  note: null,
  assigneeId: null,
  candidateVersionId: null,
  candidateAt: null,
  proof: null,
  knownState: null,
  revision: '',
}

/** Adds what responses show about a problem. */
export async function describeProblem(
  store: Store,
  { id, projectKey }: FoundProblem,
  problem: CountedProblem,
  { days, now }: { days: DayRange; now: number },
): Promise<v.InferOutput<typeof Problem>> {
  const project = { key: projectKey }
  const [[progress], [details]] = await Promise.all([
    readProgress(store, project, [problem], now),
    readProblemDetails(store, project, [problem], days),
  ])
  if (!progress || !details) throw new Error('a problem was not described')
  return toProblem(id, problem, details, progress)
}
