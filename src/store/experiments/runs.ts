import { and, eq, type SQL } from 'drizzle-orm'
import type { Store } from '../core/store.ts'
import type { ItemPlace } from '../datasets/items.ts'
import { holdsJob, type ModelJob } from '../model-jobs/jobs.ts'
import { experiments } from '../schema/experiments.ts'
import type { ExperimentRecord } from './experiments.ts'

/* The progress of a model's run of an experiment. Only the run that holds the job may write it. */

const ofRun = (store: Store, { key }: ExperimentRecord, job: ModelJob): SQL | undefined =>
  and(eq(experiments.key, key), eq(experiments.organizationKey, store.organization.key), holdsJob(store, job))

/**
 * Stores the cost of a run's calls, including the calls that it's about to make. Returns whether the run still holds
 * the job.
 */
export async function saveRunCost(
  store: Store,
  experiment: ExperimentRecord,
  job: ModelJob,
  runNanoUsd: number,
): Promise<boolean> {
  const rows = await store.database
    .update(experiments)
    .set({ runNanoUsd })
    .where(ofRun(store, experiment, job))
    .returning({ key: experiments.key })
  return rows.length > 0
}

/** Stores where the next run continues. */
export async function saveRunPlace(
  store: Store,
  experiment: ExperimentRecord,
  job: ModelJob,
  place: ItemPlace,
): Promise<void> {
  await store.database
    .update(experiments)
    .set({ runPlace: JSON.stringify(place) })
    .where(ofRun(store, experiment, job))
}
