import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CURSOR, PROBLEM_ID, PROJECT_ID } from '../api/story.ts'
import { problemUuid } from '../domain/ids.ts'
import { PROBLEM_STATES, type ProblemState } from '../domain/problem.ts'
import { described, Uuid } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { MAX_LISTED_CANDIDATES, MAX_SCANNED_PROBLEMS, PAGE_MAX_LIMIT } from '../limits.ts'
import { dayParameters, daysOf } from '../read/days.ts'
import { projectSelector, selectedProject } from '../read/project.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import type { DayRange } from '../store/insights/insights.ts'
import { saveIds } from '../store/problems/problem-ids.ts'
import {
  type CountedProblem,
  type ProblemPlace,
  readProblemDetails,
  selectProblems,
} from '../store/problems/problem-list.ts'
import { describeProblem, readProblem } from './describe.ts'
import { problem } from './examples.ts'
import { requireProblem } from './frame.ts'
import { readProgress } from './progress.ts'
import { Problem, type Progress, toProblem } from './wire.ts'

export const listProblems = endpoint({
  family: 'problem',
  method: 'GET',
  path: '/api/problems',
  summary: "List a project's problems",
  description:
    "Groups reviewers' corrections and engines' findings by the step at fault, the error type, and the knowledge doc. Problems with the most cases come first. Covers whole UTC days. A case counts on the day of the reviewer's decision or the engine's answer. Problems with a candidate are listed even if they have no cases. " +
    `A page ends after ${MAX_LISTED_CANDIDATES} problems with a candidate. If \`state\` is set, a page covers at most ${MAX_SCANNED_PROBLEMS} problems, including those in other states. So a page may be short even if more problems follow. ` +
    "To list a problem's cases, use `GET /api/spans?problemId=`.",
  scope: 'read',
  query: v.strictObject({
    ...projectSelector,
    state: described(v.optional(v.picklist(PROBLEM_STATES)), 'Only problems in this state'),
    ...dayParameters,
    ...pageParameters,
  }),
  errors: { 404: 'Not found' },
  responses: { 200: v.object({ problems: v.array(Problem), nextCursor: NextCursor }) },
  example: {
    query: { projectId: PROJECT_ID },
    answers: { 200: { problems: [problem], nextCursor: CURSOR } },
  },
}).handle(async context => {
  const { query, store, now } = context
  const days = daysOf(query, now)
  const project = await selectedProject(context, query)
  const { items, nextCursor } = await pageOf({
    list: ['problems', store.organization.id, project.id],
    query,
    place: ['number', 'string', 'string', 'string'],
    read: async (limit, after) => {
      const { listed, nextPlace } = await findInState(store, project, { days, state: query.state, limit, after, now })
      return { items: await describeAll(store, project, listed, days), nextPlace }
    },
  })
  return { status: 200, body: { problems: items, nextCursor } }
})

export const getProblem = endpoint({
  family: 'problem',
  method: 'GET',
  path: '/api/problems/{problemId}',
  summary: 'Get a problem',
  description:
    "Covers whole UTC days, as the list does. If the step was renamed, the problem's earlier ID still works.",
  scope: 'read',
  params: v.object({ problemId: Uuid }),
  query: v.strictObject(dayParameters),
  responses: { 200: Problem },
  example: {
    params: { problemId: PROBLEM_ID },
    answers: { 200: problem },
  },
}).handle(async context => {
  const { params, query, store, now } = context
  const days = daysOf(query, now)
  const found = await requireProblem(context, params.problemId)
  const body = await describeProblem(store, found, await readProblem(store, found, days), { days, now })
  return { status: 200, body }
})

interface Listed {
  problem: CountedProblem
  progress: Progress
}

/** Finds a page of all problems, or of those in one state. */
async function findInState(
  store: Store,
  project: Project,
  {
    days,
    state,
    limit,
    after,
    now,
  }: { days: DayRange; state: ProblemState | undefined; limit: number; after: ProblemPlace | undefined; now: number },
): Promise<{ listed: Listed[]; nextPlace: ProblemPlace | null }> {
  const listed: Listed[] = []
  const isDecided = state !== undefined && state !== 'open'
  // A problem's state can't be determined from its row alone, so problems in other states are skipped here.
  const step = state === undefined ? limit : PAGE_MAX_LIMIT
  let place = after
  for (let looked = step; ; looked += step) {
    const rows = await selectProblems(store, project, { days, limit: step + 1, after: place, isDecided })
    const { items, nextPlace } = firstOf(rows, endOf(rows, step), placeOf)
    const progress = await readProgress(store, project, items, now)
    for (const [index, problem] of items.entries()) {
      const own = progress[index]
      if (!own || (state !== undefined && own.state !== state)) continue
      // The problem has no cases and was found only because of its candidate, whose prompt was deleted.
      if (problem.byReviewers + problem.byEngine === 0 && own.candidate === null) continue
      listed.push({ problem, progress: own })
      if (listed.length === limit) {
        return { listed, nextPlace: index < items.length - 1 ? placeOf(problem) : nextPlace }
      }
    }
    const isSpent = items.some(({ candidateVersionId }) => candidateVersionId !== null)
    if (!nextPlace || isSpent || looked >= MAX_SCANNED_PROBLEMS) return { listed, nextPlace }
    place = nextPlace
  }
}

/** How many rows a page looks at. Only a few may have a candidate, because each candidate takes several round trips. */
function endOf(rows: readonly CountedProblem[], step: number): number {
  const linked = rows.flatMap(({ candidateVersionId }, index) => (candidateVersionId === null ? [] : [index]))
  return Math.min(step, (linked[MAX_LISTED_CANDIDATES - 1] ?? step) + 1)
}

/** Adds the details that responses show, and stores ids that aren't stored yet. */
async function describeAll(store: Store, project: Project, listed: readonly Listed[], days: DayRange) {
  if (listed.length === 0) return []
  const named = await Promise.all(
    listed.map(async each => ({ ...each, id: each.problem.id ?? (await problemUuid(project.id, each.problem)) })),
  )
  const keys = listed.map(({ problem }) => problem)
  const details = await readProblemDetails(store, project, keys, days)
  const unnamed = named.filter(({ problem }) => problem.id === null)
  await saveIds(
    store,
    unnamed.map(({ id, problem }) => ({ ...problem, id, projectKey: project.key })),
  )
  return named.flatMap(({ id, problem, progress }, index) => {
    const own = details[index]
    return own ? [toProblem(id, problem, own, progress)] : []
  })
}

const placeOf = ({ stepId, errorType, docSlug, byReviewers, byEngine }: CountedProblem): ProblemPlace => [
  byReviewers + byEngine,
  stepId,
  errorType,
  docSlug,
]
