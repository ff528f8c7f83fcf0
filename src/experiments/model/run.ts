import { experimentState } from '../../domain/experiment.ts'
import { JobError } from '../../domain/job-error.ts'
import type { Env } from '../../env.ts'
import { MODEL_CALL_MS, MODEL_RUN_ITEMS, MODEL_RUN_MS, MODEL_RUN_RETRY_MS } from '../../limits.ts'
import type { ModelTask, TaskContext, TaskOutcome } from '../../model/job.ts'
import { LeaseLost } from '../../model/lease.ts'
import { configuredModel, type ModelSettings, modelSettings } from '../../model/provider.ts'
import type { Store } from '../../store/core/store.ts'
import { findHeads, type HeadPage, type ItemPlace, walkMatching } from '../../store/datasets/items.ts'
import { type ExperimentRecord, endExperiment, findExperiment } from '../../store/experiments/experiments.ts'
import { findPromptText } from '../../store/experiments/prompts.ts'
import { findResults } from '../../store/experiments/results.ts'
import { saveRunCost, saveRunPlace } from '../../store/experiments/runs.ts'
import { findModelJob, type ModelJob } from '../../store/model-jobs/jobs.ts'
import { type Frame, findFrame, isSelected, RENAMED } from '../frame.ts'
import { settled } from '../tally.ts'
import { Budget, BudgetUsedUp } from './budget.ts'
import { ItemRun, Paused, type Times } from './items.ts'
import { askerFor } from './question.ts'

const DONE: TaskOutcome = { state: 'done', result: null }

/** Has the model run an experiment's items, a bounded number in each run. */
export const runExperiment = (times: Times = { callMs: MODEL_CALL_MS, retryMs: MODEL_RUN_RETRY_MS }): ModelTask => ({
  run: async (env, store, job, context) => {
    const experiment = await findExperiment(store, job.subject)
    if (!experiment || experimentState(experiment, Date.now()) !== 'running') return DONE
    const run = await openRun(env, store, experiment, { job, context, times })
    const startedAt = Date.now()
    let place: ItemPlace | undefined = experiment.runPlace === null ? undefined : JSON.parse(experiment.runPlace)
    for (let asked = 0; asked < MODEL_RUN_ITEMS && Date.now() - startedAt < MODEL_RUN_MS; ) {
      const { heads, nextPlace } = await nextItems(store, experiment, run.frame, place, MODEL_RUN_ITEMS - asked)
      try {
        await run.items.ask(heads)
      } catch (error) {
        if (error instanceof Paused) return { state: 'wait', until: Date.now() + error.ms, reason: error.message }
        if (!(error instanceof BudgetUsedUp)) throw error
        return end(store, experiment, `The experiment's maxCostUsd of $${experiment.maxCostUsd} was used up`)
      } finally {
        await run.budget?.save()
      }
      if (nextPlace === null) return end(store, experiment, null)
      await saveRunPlace(store, experiment, job, nextPlace)
      place = nextPlace
      asked += heads.length
    }
    return { state: 'continue' }
  },
  failed: async (store, name, now) => {
    const experiment = await findExperiment(store, name.subject)
    const job = await findModelJob(store, name)
    const reason = job?.failure ?? 'The run failed'
    if (experiment) await endExperiment(store, experiment, { state: 'failed', now, reason, isByRun: true })
  },
})

/** Finishes an experiment. Items without a result become errors, with `reason` if there is one. */
async function end(store: Store, experiment: ExperimentRecord, reason: string | null): Promise<TaskOutcome> {
  await endExperiment(store, experiment, { state: 'finished', now: Date.now(), reason, isByRun: true })
  const latest = await findExperiment(store, experiment.id)
  if (latest) await settled(store, latest)
  return DONE
}

/** Reads again everything that a run needs, because the previous run may have been on another release. */
async function openRun(
  env: Env,
  store: Store,
  experiment: ExperimentRecord,
  { job, context, times }: { job: ModelJob; context: TaskContext; times: Times },
) {
  const { model, maxCostUsd, runNanoUsd, promptVersionId, projectKey } = experiment
  const settings = settingsFor(env, model ?? '')
  if (maxCostUsd !== null && settings.prices === null) {
    throw new JobError("The model's price is no longer configured, so maxCostUsd can't be enforced", { isFinal: true })
  }
  const frame = await findFrame(store, experiment)
  if (!frame) throw new JobError(RENAMED, { isFinal: true })
  const content = await findPromptText(store, projectKey, promptVersionId ?? '')
  if (content === undefined) throw new JobError('The prompt version has been deleted', { isFinal: true })
  const most = maxCostUsd === null ? null : Math.floor(maxCostUsd * 1e9)
  const budget =
    settings.prices === null
      ? null
      : new Budget({ most, total: runNanoUsd ?? 0 }, async total => {
          if (!(await saveRunCost(store, experiment, job, total))) throw new LeaseLost()
        })
  const asker = askerFor(experiment.outputSchema)
  const items = new ItemRun({ store, experiment, frame, content, asker, settings, budget, context, times })
  return { frame, budget, items }
}

/** The settings for an experiment's model. Only the configured model has a known price. */
export function settingsFor(env: Env, model: string): ModelSettings {
  const settings = modelSettings(model, env)
  return model === configuredModel(env) ? settings : { ...settings, prices: null }
}

/** The next items without a result, up to `limit`. */
async function nextItems(
  store: Store,
  experiment: ExperimentRecord,
  { dataset, parts }: Frame,
  after: ItemPlace | undefined,
  limit: number,
): Promise<HeadPage> {
  const findIn: Parameters<typeof walkMatching>[3] = async heads => {
    const own = heads.filter(head => isSelected(head, experiment))
    const ids = own.map(({ id }) => id)
    const known = own.length === 0 ? new Map() : await findResults(store, experiment, ids)
    return own.filter(({ id }) => !known.has(id))
  }
  if (experiment.itemId === null) {
    return walkMatching(store, dataset, { parts, after, limit, step: WALKED_ITEMS }, findIn)
  }
  const found = await findHeads(store, dataset, parts, [experiment.itemId])
  return { heads: await findIn([...found.values()]), nextPlace: null }
}

/** Items that one statement looks at. Some of them may already have a result, or may not be in the sample. */
const WALKED_ITEMS = 100
