import type { JsonObject } from '../domain/json.ts'
import type { Store } from '../store/core/store.ts'
import { findExperiment } from '../store/experiments/experiments.ts'
import { readGateState } from './gate-state.ts'
import { settled, tallyOf } from './tally.ts'
import { toReport } from './wire.ts'

/**
 * An ended experiment's figures, as in its report, and whether its version meets the gate. Undefined if the experiment
 * is gone.
 */
export async function toFigures(store: Store, experimentId: string, now: number): Promise<JsonObject | undefined> {
  const found = await findExperiment(store, experimentId)
  if (!found) return undefined
  const experiment = await settled(store, found)
  const { promptVersionId } = experiment
  const report = toReport(experiment, await tallyOf(store, experiment), NO_SURROUNDINGS, now)
  const { name, split, items, pending, removed, counts, passRate, interval, coverage, usage, cost, durationMs } = report
  const gate =
    promptVersionId === null ? undefined : (await readGateState(store, experiment, promptVersionId, now)).state
  return {
    name,
    report: { split, items, pending, removed, counts, passRate, interval, coverage, usage, cost, durationMs },
    gate: gate ? { met: gate.met, unmet: gate.unmet, experimentId: gate.experimentId } : null,
  }
}

const NO_SURROUNDINGS = { versionsTried: 0, changedSince: null, job: undefined }
