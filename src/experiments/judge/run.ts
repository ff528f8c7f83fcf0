import type { Evaluator } from '../../domain/evaluator.ts'
import { JobError } from '../../domain/job-error.ts'
import { inTurns } from '../../domain/turns.ts'
import type { Env } from '../../env.ts'
import { JUDGE_CALLS_IN_FLIGHT, JUDGE_RUN_MS, MODEL_CALL_MS } from '../../limits.ts'
import { ask } from '../../model/ask.ts'
import { runInFlight } from '../../model/in-flight.ts'
import type { ModelTask, TaskContext, TaskOutcome } from '../../model/job.ts'
import { jobModel, type ModelSettings } from '../../model/provider.ts'
import type { Store } from '../../store/core/store.ts'
import { findExperiment } from '../../store/experiments/experiments.ts'
import type { JudgmentDraft } from '../../store/experiments/judgments.ts'
import { findModelJob, type ModelJob } from '../../store/model-jobs/jobs.ts'
import { findFrame, RENAMED } from '../frame.ts'
import { ANSWER_SCHEMA, type Compared, readAnswer, writeQuestion } from './question.ts'
import { readSubjects, type Subject } from './subjects.ts'
import { judgmentWriter } from './write.ts'

const TOO_LARGE = 'The outputs are too large for a model to compare'

/** Asks a model about an experiment's unjudged results: whether each output means the same as the expected one. */
export const judgeResults: ModelTask = { run }

async function run(env: Env, store: Store, job: ModelJob, context: TaskContext): Promise<TaskOutcome> {
  const startedAt = Date.now()
  const settings = jobModel(env)
  const experiment = await findExperiment(store, job.subject)
  if (!experiment) return { state: 'done', result: null }
  const frame = await findFrame(store, experiment)
  if (!frame) throw new JobError(RENAMED, { isFinal: true })
  const since = (await findModelJob(store, job))?.requestedAt ?? startedAt
  const ignored = ignoredPaths(JSON.parse(experiment.evaluator))
  const save = judgmentWriter(store, job, context.signal)
  const counts = { judged: 0, refused: 0 }
  let isOver = true
  const subjects = async function* () {
    for await (const subject of readSubjects(store, experiment, frame, since)) {
      if (Date.now() > startedAt + JUDGE_RUN_MS) {
        isOver = false
        return
      }
      yield subject
    }
  }
  const judge = async (subject: Subject) => {
    const { same, reason, error } = await askAbout(
      settings,
      subject.compared && { ...subject.compared, ignored },
      context,
    )
    await save({ ...subject.result, same, reason, model: settings.name, at: Date.now() })
    if (same !== null) counts.judged++
    // The provider seems to reject everything, so don't use up the day's calls.
    else if (error && ++counts.refused === JUDGE_CALLS_IN_FLIGHT && counts.judged === 0) throw error
  }
  try {
    await runInFlight(subjects(), JUDGE_CALLS_IN_FLIGHT, judge)
  } catch (error) {
    const isTemporary = error instanceof JobError && !error.isFinal && error.retryAfterSeconds !== undefined
    if (!isTemporary || counts.judged === 0) throw error
    // This run made progress, so it isn't a failed attempt.
    return { state: 'wait', until: Date.now() + (error.retryAfterSeconds ?? 0) * 1000, reason: error.message }
  }
  return isOver ? { state: 'done', result: null } : { state: 'continue' }
}

/** A model's judgment of a result. If the model was asked but gave no judgment, `error` says why. */
type Said = Pick<JudgmentDraft, 'same' | 'reason'> & { error?: JobError }

async function askAbout(settings: ModelSettings, compared: Compared | undefined, context: TaskContext): Promise<Said> {
  const question = compared && (await inTurns(writeQuestion(compared)))
  if (!question) return { same: null, reason: TOO_LARGE }
  const read = async (value: unknown) => readAnswer(value)
  try {
    const asked = { ...question, name: 'judgment', schema: ANSWER_SCHEMA, read }
    return (await ask(settings, asked, { ...context, callMs: MODEL_CALL_MS })).answer
  } catch (error) {
    if (!(error instanceof JobError && error.isFinal)) throw error
    return { same: null, reason: error.message, error }
  }
}

/** The parts of an output that an evaluator ignores. */
const ignoredPaths = ({ paths = {} }: Evaluator): string[] =>
  Object.entries(paths).flatMap(([path, { type }]) => (type === 'ignore' ? path : []))
