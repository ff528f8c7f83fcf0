import { JobError } from '../../domain/job-error.ts'
import { applyChanges } from '../../domain/suggestion.ts'
import { inTurns } from '../../domain/turns.ts'
import type { Env } from '../../env.ts'
import { MAX_NOTE_LENGTH, MODEL_CALL_MS } from '../../limits.ts'
import { ask } from '../../model/ask.ts'
import type { ModelTask, TaskContext, TaskOutcome } from '../../model/job.ts'
import { configuredModel, modelSettings } from '../../model/provider.ts'
import type { Store } from '../../store/core/store.ts'
import type { ItemHead } from '../../store/datasets/items.ts'
import { holdsJob, type ModelJob } from '../../store/model-jobs/jobs.ts'
import { type FoundProblem, findProblem } from '../../store/problems/problem-ids.ts'
import {
  closeRequest,
  deleteFailed,
  findRequest,
  type SuggestionAnswer,
  type SuggestionRequest,
  saveAnswer,
} from '../../store/problems/suggestion-requests.ts'
import { findTrainItems } from '../../store/problems/train-items.ts'
import { addVersion, findVersions, type TextHead } from '../../store/texts/versioned-texts.ts'
import { answerSchema, readAnswer, type Suggestion } from './answer.ts'
import { findActive, readBasis } from './basis.ts'
import { linkSuggestion } from './link.ts'
import { type Basis, writeQuestion } from './question.ts'

const GONE = "The step's prompt was deleted"
const NO_EXAMPLES = 'The problem has no corrected outputs left on which to base a suggestion'
const TOO_MUCH = "The prompt's versions have reached their total size limit, so no version can be added"

/** Adds the version that was requested for a problem. */
export const suggestVersion: ModelTask = {
  run,
  failed: (store, { subject }) => deleteFailed(store, subject),
}

async function run(env: Env, store: Store, job: ModelJob, context: TaskContext): Promise<TaskOutcome> {
  const { projectKey, subject: problemId } = job
  const [problem, request] = await Promise.all([
    findProblem(store, problemId),
    findRequest(store, { projectKey, problemId }),
  ])
  if (!problem || !request) throw new JobError(GONE, { isFinal: true })
  // An earlier run may have stored the answer and then been cut off.
  if (!request.answer) await saveSuggestion(env, store, { job, problem, request, context })
  const isAdded = await addSuggestedVersion(store, job, problem)
  if (!isAdded) return { state: 'continue' }
  await linkSuggestion(store, { ...request.act, at: Date.now() }, problem, request)
  await closeRequest(store, request.versionId)
  return { state: 'done', result: JSON.stringify({ versionId: request.versionId }) }
}

interface Run {
  job: ModelJob
  problem: FoundProblem
  request: SuggestionRequest
  context: TaskContext
}

/** Asks the model and stores its answer. */
async function saveSuggestion(env: Env, store: Store, { job, problem, request, context }: Run): Promise<void> {
  const [prompt, { heads }] = await Promise.all([
    findActive(store, problem, { kind: 'prompt', name: problem.stepId }),
    findTrainItems(store, problem),
  ])
  if (!prompt || prompt.id !== request.promptId) throw new JobError(GONE, { isFinal: true })
  const basis = await readBasis(store, problem, { prompt, heads })
  if (basis.examples.length === 0) throw new JobError(NO_EXAMPLES, { isFinal: true })
  const model = configuredModel(env)
  if (!model) throw new JobError('No model is configured anymore', { isFinal: true })
  const question = {
    ...(await inTurns(writeQuestion(basis))),
    name: 'suggestion',
    schema: answerSchema(basis),
    read: (value: unknown) => inTurns(readAnswer(value, basis)),
  }
  const { answer } = await ask(modelSettings(model, env), question, { ...context, callMs: MODEL_CALL_MS })
  const draft = { versionId: request.versionId, baseVersionId: prompt.versionId, model }
  const isSaved = await saveAnswer(store, job, { ...draft, ...toStored(answer, basis, heads) }, Date.now())
  if (!isSaved) throw new JobError('The prompt or an example was deleted during the run', { isFinal: false })
}

function toStored({ changes }: Suggestion, basis: Basis, heads: readonly ItemHead[]) {
  const traceKeys = new Map(heads.map(({ id, place: [, traceKey] }) => [id, traceKey]))
  const indexesOf = (names: 'examples' | 'copiedFrom', spanId: string) =>
    changes.flatMap((change, index) => (change[names].includes(spanId) ? [index] : []))
  return {
    changes: changes.map(({ start, before, after, copiedFrom }) => ({
      start,
      before,
      after,
      isCopied: copiedFrom.length > 0,
    })),
    reasons: changes.map(({ reason }) => reason),
    // Every example that the model read, because a reason may quote any of them.
    examples: basis.examples.map(({ spanId }) => ({
      spanId,
      traceKey: traceKeys.get(spanId) ?? 0,
      serves: indexesOf('examples', spanId),
      copied: indexesOf('copiedFrom', spanId),
    })),
  } satisfies Partial<SuggestionAnswer>
}

/** Adds the stored answer's version, unless it already exists. Returns false if this run no longer holds the job. */
async function addSuggestedVersion(store: Store, job: ModelJob, problem: FoundProblem): Promise<boolean> {
  const { projectKey } = job
  const request = await findRequest(store, { projectKey, problemId: job.subject })
  if (!request?.answer) throw new JobError(GONE, { isFinal: true })
  const { versionId, promptId, act, answer } = request
  const prompt: TextHead = { id: promptId, kind: 'prompt', projectKey }
  const [base] = await findVersions(store, prompt, [answer.baseVersionId, versionId])
  if (!base) throw new JobError(GONE, { isFinal: true })
  const now = Date.now()
  const draft = {
    id: versionId,
    content: applyChanges(base.content, answer.changes),
    outputSchema: base.outputSchema?.text ?? null,
    note: noteOf(problem, answer.model),
    createdAt: now,
  }
  const added = await addVersion(store, { ...act, at: now }, prompt, draft, false, holdsJob(store, job))
  if (added === 'text_missing') throw new JobError(GONE, { isFinal: true })
  if (added === 'too_large') throw new JobError(TOO_MUCH, { isFinal: true })
  return added !== 'refused'
}

/** A note for the list of versions that says where a version comes from. */
function noteOf({ stepId, errorType, docSlug }: FoundProblem, model: string): string {
  const doc = docSlug && ` with the doc ${docSlug}`
  const note = `Suggested by ${model} for ${errorType || 'corrections without an error type'} in ${stepId}${doc}`
  return [...note].slice(0, MAX_NOTE_LENGTH).join('')
}
