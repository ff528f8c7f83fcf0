import { Tally } from '../domain/tally.ts'
import type { Store } from '../store/core/store.ts'
import { type ExperimentRecord, findExperiment, saveTally } from '../store/experiments/experiments.ts'
import { readCounted } from '../store/experiments/results.ts'
import { frameOf, isSelected, walkAll } from './frame.ts'

/**
 * The counts of an experiment's results. While it runs, they're counted each time. When it has ended, they're stored,
 * and stay as they are even if items are deleted later.
 */
export async function tallyOf(store: Store, experiment: ExperimentRecord): Promise<Tally> {
  if (experiment.tally !== null) return new Tally(JSON.parse(experiment.tally))
  const tally = new Tally()
  const seen = new Set<string>()
  for await (const results of readCounted(store, experiment)) {
    for (const result of results) {
      seen.add(result.itemId)
      tally.add(result)
    }
  }
  if (experiment.state === 'running') return tally
  if (experiment.state === 'finished') await addPending(store, experiment, seen, tally)
  await saveTally(store, experiment, tally.toJSON())
  return tally
}

/** Counts the items without a result as errors. */
async function addPending(
  store: Store,
  experiment: ExperimentRecord,
  seen: ReadonlySet<string>,
  tally: Tally,
): Promise<void> {
  if (seen.size === experiment.items) return
  for await (const heads of walkAll(store, await frameOf(store, experiment))) {
    for (const head of heads) {
      if (seen.has(head.id) || !isSelected(head, experiment)) continue
      const { split, errorType } = head
      tally.add({
        split,
        errorType,
        outcome: 'error',
        change: null,
        fields: [],
        durationMs: null,
        usage: null,
        costUsd: null,
      })
    }
  }
}

/** Stores the counts of an experiment if it has just ended, and returns it as it is now. */
export async function freezeTally(store: Store, { id }: ExperimentRecord): Promise<ExperimentRecord | undefined> {
  const latest = await findExperiment(store, id)
  if (latest && latest.state !== 'running') await tallyOf(store, latest)
  return latest
}
