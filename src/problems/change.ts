import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROBLEM_ID } from '../api/story.ts'
import { described, text, Uuid, uuid } from '../http/atoms.ts'
import { badRequest, forbidden, notFound, unprocessable } from '../http/errors.ts'
import { MAX_CHANGE_ATTEMPTS, MAX_NOTE_LENGTH } from '../limits.ts'
import { daysOf } from '../read/days.ts'
import { findAssignable } from '../store/accounts/users.ts'
import type { Store } from '../store/core/store.ts'
import { findCandidates } from '../store/problems/candidates.ts'
import { saveProblem } from '../store/problems/problem-changes.ts'
import type { FoundProblem } from '../store/problems/problem-ids.ts'
import type { ProblemDecision } from '../store/problems/problem-list.ts'
import { describeProblem, readProblem } from './describe.ts'
import { problem } from './examples.ts'
import { requireProblem } from './frame.ts'
import { Problem } from './wire.ts'

const NOTE_REQUIRED = 'is required to dismiss a problem'
const NO_USER = 'The assignee must be a user with access to the project'
const NO_VERSION = "The candidate must be a version of the problem step's prompt"

const Change = v.strictObject({
  dismissed: v.optional(described(v.boolean(), 'Whether people have decided not to fix the problem. Requires a note.')),
  note: v.optional(v.nullable(text(1, MAX_NOTE_LENGTH))),
  assigneeId: v.optional(
    v.nullable(uuid('A user in the organization who has access to the project. Null unassigns the problem.')),
  ),
  candidateVersionId: v.optional(
    v.nullable(
      uuid("The version of the step's prompt that should fix the problem. Null unlinks it. Requires the manage scope."),
    ),
  ),
})

export const patchProblem = endpoint({
  family: 'problem',
  method: 'PATCH',
  path: '/api/problems/{problemId}',
  summary: 'Dismiss a problem, assign it, or link the prompt version that should fix it',
  description:
    "Omitted fields stay unchanged. The counts in the response cover the last 30 days. If the step was renamed, the problem's earlier ID still works.",
  scope: 'review',
  params: v.object({ problemId: Uuid }),
  body: Change,
  errors: { 422: NO_VERSION },
  responses: { 200: Problem },
  example: {
    params: { problemId: PROBLEM_ID },
    body: { note: 'The prompt should ask for the newest doc.' },
    answers: { 200: { ...problem, note: 'The prompt should ask for the newest doc.' } },
  },
}).handle(async ({ params, body, caller, store, act, unscoped, now }) => {
  const found = await requireProblem({ caller, store, unscoped }, params.problemId)
  if (body.candidateVersionId !== undefined && !caller.scopes.includes('manage')) {
    throw forbidden('candidateVersionId requires the manage scope')
  }
  await requireTargets(store, found, body)
  const days = daysOf({}, now)
  for (let attempt = 1; attempt <= MAX_CHANGE_ATTEMPTS; attempt++) {
    const before = await readProblem(store, found, days)
    const after = changed(before, body, now)
    if (after.isDismissed && !after.note) throw badRequest(NOTE_REQUIRED, 'note')
    if (isSame(before, after)) return { status: 200, body: await describeProblem(store, found, before, { days, now }) }
    if (await saveProblem(store, act, found, before, after)) {
      return {
        status: 200,
        body: await describeProblem(store, found, await readProblem(store, found, days), { days, now }),
      }
    }
    await store.deadline.giveWay(attempt)
  }
  // A change that still can't be saved means that the project was deleted.
  throw notFound()
})

/** 422 if the assignee or the candidate can't be linked to the problem. */
async function requireTargets(
  store: Store,
  { projectKey, stepId }: FoundProblem,
  { assigneeId, candidateVersionId }: v.InferOutput<typeof Change>,
): Promise<void> {
  if (assigneeId && !(await findAssignable(store, projectKey, [assigneeId])).has(assigneeId)) {
    throw unprocessable(NO_USER, 'assigneeId')
  }
  if (!candidateVersionId) return
  const candidate = (await findCandidates(store, projectKey, [candidateVersionId])).get(candidateVersionId)
  if (candidate?.stepId !== stepId) throw unprocessable(NO_VERSION, 'candidateVersionId')
}

function changed(
  before: ProblemDecision,
  { dismissed, note, assigneeId, candidateVersionId }: v.InferOutput<typeof Change>,
  now: number,
): Omit<ProblemDecision, 'revision'> {
  const isLinked = candidateVersionId === undefined || candidateVersionId === before.candidateVersionId
  const { revision: _, ...kept } = before
  return {
    ...kept,
    ...(!isLinked && {
      candidateVersionId,
      candidateAt: candidateVersionId === null ? null : now,
      proof: null,
      verifiedAt: null,
    }),
    isDismissed: dismissed ?? before.isDismissed,
    note: note === undefined ? before.note : note,
    assigneeId: assigneeId === undefined ? before.assigneeId : assigneeId,
  }
}

const isSame = (before: ProblemDecision, after: Omit<ProblemDecision, 'revision'>): boolean =>
  before.isDismissed === after.isDismissed &&
  before.note === after.note &&
  before.assigneeId === after.assigneeId &&
  before.candidateVersionId === after.candidateVersionId
