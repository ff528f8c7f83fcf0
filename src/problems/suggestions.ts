import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { PROBLEM_ID, PROMPT_DRAFT_ID } from '../api/story.ts'
import { newId } from '../domain/ids.ts'
import { described, isoTime, Uuid } from '../http/atoms.ts'
import { ERRORS, failedPermanently, notFound, unprocessable } from '../http/errors.ts'
import { MAX_SUGGESTION_EXAMPLES } from '../limits.ts'
import { requireModel } from '../model/provider.ts'
import { findModelJob, type ModelJobState } from '../store/model-jobs/jobs.ts'
import { requestSuggestion, suggestionJob } from '../store/problems/suggestion-requests.ts'
import { findSuggestion } from '../store/problems/suggestions.ts'
import { findTrainItems } from '../store/problems/train-items.ts'
import { pendingSuggestion, suggestion } from './examples.ts'
import { requireProblem } from './frame.ts'
import { findActive } from './suggestion/basis.ts'
import { findCandidate } from './suggestion/link.ts'
import { PendingSuggestion, Suggestion, toSuggestion } from './suggestion-wire.ts'

const NO_PROMPT = 'The step has no prompt. Create one with POST /api/prompts.'
const NO_CORRECTIONS = 'Nobody has corrected an output with this problem. A suggestion has to be based on corrections.'
const NO_TRAIN_ITEMS =
  "None of the problem's newest corrections is a `train` item. Correct more outputs, or move items to the `train` split."
const NOT_REQUESTED = 'There is no suggestion for this problem'

const params = v.object({ problemId: Uuid })

export const suggestVersion = endpoint({
  family: 'problem',
  method: 'POST',
  path: '/api/problems/{problemId}/suggestion',
  summary: "Ask a model for a new version of a step's prompt",
  description: `Starts a job that reads the active prompt and up to ${MAX_SUGGESTION_EXAMPLES} of the problem's newest corrections that are \`train\` items. The job adds a version that isn't active, and links it as the problem's candidate unless somebody has linked another version in the meantime. If a job is already pending, the call doesn't start another one. Poll the \`Location\` for the result.`,
  scope: 'manage',
  params,
  location: 202,
  errors: { 409: 'No model is configured (code model_not_configured)', 422: NO_TRAIN_ITEMS },
  responses: { 202: PendingSuggestion },
  example: { params: { problemId: PROBLEM_ID }, answers: { 202: pendingSuggestion } },
}).handle(async context => {
  const { params, store, act, now, runtime, enqueue } = context
  const problem = await requireProblem(context, params.problemId)
  const ofProblem = { projectKey: problem.projectKey, problemId: problem.id }
  const job = suggestionJob(ofProblem)
  const running = await findModelJob(store, job)
  if (running?.status === 'pending') return pending(problem.id, running)
  requireModel(runtime.env)
  const [prompt, { heads, cases }, candidate] = await Promise.all([
    findActive(store, problem, { kind: 'prompt', name: problem.stepId }),
    findTrainItems(store, problem),
    findCandidate(store, problem, now),
  ])
  if (!prompt) throw unprocessable(NO_PROMPT, 'problemId')
  if (heads.length === 0) throw unprocessable(cases === 0 ? NO_CORRECTIONS : NO_TRAIN_ITEMS, 'problemId')
  const draft = { versionId: newId(), promptId: prompt.id, candidateBefore: candidate }
  await requestSuggestion(store, act, ofProblem, draft)
  enqueue({
    kind: 'model_job',
    organizationKey: store.organization.key,
    jobKind: job.kind,
    subject: job.subject,
  })
  return pending(problem.id, undefined)
})

export const getSuggestion = endpoint({
  family: 'problem',
  method: 'GET',
  path: '/api/problems/{problemId}/suggestion',
  summary: 'Get a suggested version of a prompt',
  description:
    'Returns the latest suggestion for a problem, a 202 while the model is writing it, or a 502 with the reason if the job failed. Returns a 404 if no suggestion was requested or if the prompt was deleted.',
  scope: 'read',
  params,
  query: v.strictObject({
    versionId: v.optional(
      described(Uuid, 'Returns the suggestion that became this version, even if there is a later suggestion'),
    ),
  }),
  errors: { 502: ERRORS[502].message },
  responses: { 200: Suggestion, 202: PendingSuggestion },
  example: {
    params: { problemId: PROBLEM_ID },
    query: { versionId: PROMPT_DRAFT_ID },
    answers: { 200: suggestion, 202: pendingSuggestion },
  },
}).handle(async context => {
  const { params, query, store } = context
  const problem = await requireProblem(context, params.problemId)
  const ofProblem = { projectKey: problem.projectKey, problemId: problem.id }
  const [job, found] = await Promise.all([
    query.versionId === undefined ? findModelJob(store, suggestionJob(ofProblem)) : undefined,
    findSuggestion(store, ofProblem, query.versionId),
  ])
  if (job?.status === 'pending') return pending(problem.id, job)
  if (job?.status === 'failed') throw failedPermanently(job.failure ?? ERRORS[502].message)
  if (!found) throw notFound(NOT_REQUESTED)
  return { status: 200, body: toSuggestion(problem.id, found) }
})

/** 202 with the location of the result. */
function pending(problemId: string, job: ModelJobState | undefined) {
  const { waitsUntil = null } = job ?? {}
  const until = waitsUntil !== null && waitsUntil > Date.now() && { waitsUntil: isoTime(waitsUntil) }
  const body = { status: 'pending' as const, problemId, ...until }
  return { status: 202 as const, body, location: `/api/problems/${problemId}/suggestion` }
}
