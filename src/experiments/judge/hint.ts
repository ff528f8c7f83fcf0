import type { Job, Runtime } from '../../env.ts'
import { configuredModel } from '../../model/provider.ts'
import type { Store } from '../../store/core/store.ts'
import type { ExperimentRecord } from '../../store/experiments/experiments.ts'

/** The queue message for the job that asks a model about an experiment's unjudged results. */
export const judgeMessage = ({ organization }: Store, { id }: Pick<ExperimentRecord, 'id'>): Job => ({
  kind: 'model_job',
  organizationKey: organization.key,
  jobKind: 'judge_results',
  subject: id,
})

/**
 * Sends the job for an experiment that has just finished, if a gate may have requested it. Otherwise, cron would send
 * the job up to a minute later.
 */
export function sendJudging(
  { store, runtime, enqueue }: { store: Store; runtime: Runtime; enqueue: (...jobs: Job[]) => unknown },
  experiment: ExperimentRecord,
): void {
  const { state, promptVersionId } = experiment
  const isModel = configuredModel(runtime.env) !== undefined
  if (state === 'finished' && promptVersionId !== null && isModel) enqueue(judgeMessage(store, experiment))
}
