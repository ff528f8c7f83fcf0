import { Tally } from '../domain/tally.ts'
import type { Store } from '../store/core/store.ts'
import type { ItemHead } from '../store/datasets/items.ts'
import { type ExperimentRecord, findExperiment, saveTally } from '../store/experiments/experiments.ts'
import { addMissing, findResultIds, readCounted, withdrawResults } from '../store/experiments/results.ts'
import { findFrame, isSelected, walkAll } from './frame.ts'

/** Whether some of an experiment's items may have no result yet. */
export const hasPending = ({ results, removed, items }: ExperimentRecord): boolean => results + removed < items

/** The counts of an experiment's results. While the experiment runs, each call counts the results again. */
export async function tallyOf(store: Store, experiment: ExperimentRecord): Promise<Tally> {
  if (experiment.tally !== null) return new Tally(JSON.parse(experiment.tally))
  const tally = new Tally()
  for await (const results of readCounted(store, experiment)) for (const result of results) tally.add(result)
  return tally
}

/**
 * Returns an experiment, up to date. If it has just ended, this stores its counts, so later deletions of items don't
 * change them. If it has finished, its items without a result first become errors.
 */
export async function settled(store: Store, experiment: ExperimentRecord): Promise<ExperimentRecord> {
  if (experiment.state === 'running' || experiment.tally !== null) return experiment
  if (experiment.state === 'finished' && hasPending(experiment)) await endPending(store, experiment)
  const latest = (await findExperiment(store, experiment.id)) ?? experiment
  await saveTally(store, latest, (await tallyOf(store, latest)).toJSON())
  return (await findExperiment(store, experiment.id)) ?? latest
}

/** Gives each item without a result an error. Items that can no longer be found get none. */
async function endPending(store: Store, experiment: ExperimentRecord): Promise<void> {
  const known = await findResultIds(store, experiment)
  const pending: ItemHead[] = []
  const frame = await findFrame(store, experiment)
  if (!frame) return
  for await (const heads of walkAll(store, frame)) {
    pending.push(...heads.filter(head => !known.has(head.id) && isSelected(head, experiment)))
  }
  await addMissing(store, experiment, pending)
  await withdrawResults(store, experiment, pending)
}
