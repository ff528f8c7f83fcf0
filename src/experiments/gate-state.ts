import * as v from 'valibot'
import { checkGate, GATE_CONDITIONS, isMinimum, type UnmetCondition } from '../domain/gate.ts'
import { described, Uuid } from '../http/atoms.ts'
import { type ApiError, gateNotMet } from '../http/errors.ts'
import { Gate, toGate } from '../read/gate.ts'
import type { Store } from '../store/core/store.ts'
import { type ExperimentRecord, findExperiment } from '../store/experiments/experiments.ts'
import { findGateBasis, type GateBasis, type GateRecord, type Step } from '../store/experiments/gates.ts'
import { Judging, readJudging } from './judge/judging.ts'
import { settled, tallyOf } from './tally.ts'

/** Whether a version meets its step's gate. */
export const GateState = v.object({
  gate: Gate,
  versionId: described(v.nullable(Uuid), 'Null if the request names no version and the step has no prompt'),
  experimentId: described(
    v.nullable(Uuid),
    "The experiment that the gate uses: the version's latest finished experiment that ran on the step's dataset (all splits, or the gate's split), used the dataset's current evaluator, was compared with recorded outputs, and was created without `version`, `sample`, or `includeStale`. Null if there is none.",
  ),
  judging: described(
    v.nullable(Judging),
    "A model's judgments of the experiment's unjudged items in the gate's split. The gate's figures take them into account. Null if the gate doesn't have `allowJudge`, or if there is no experiment.",
  ),
  met: v.boolean(),
  unmet: v.array(
    v.object({
      condition: v.picklist(GATE_CONDITIONS),
      required: v.number(),
      actual: described(v.nullable(v.number()), "Null if there's nothing to measure"),
    }),
  ),
})

/**
 * Whether a version meets its step's gate. `state` is undefined if the step has no gate. `holds` is an SQL condition
 * for writes that depend on the answer. It's true as long as nothing that determines the answer has changed.
 */
export async function readGateState(
  store: Store,
  step: Step,
  versionId: string | null,
  now: number,
): Promise<Pick<GateBasis, 'holds'> & { state: v.InferOutput<typeof GateState> | undefined }> {
  for (let losses = 1; ; losses++) {
    const { gate, experiment, holds } = await findGateBasis(store, step, versionId ?? '')
    if (!gate) return { state: undefined, holds }
    const record = experiment ? await findExperiment(store, experiment.id) : undefined
    if (record && record.tally === null) {
      // Store the experiment's counts first. Once they're stored, deletions no longer change them.
      await settled(store, record)
      await store.deadline.giveWay(losses)
      continue
    }
    const measured = record && (await measure(store, gate, record))
    const state = {
      gate: toGate(gate),
      versionId,
      experimentId: record?.id ?? null,
      judging: measured?.judging ?? null,
      ...checkGate(gate, measured, now),
    }
    return { state, holds }
  }
}

/** The figures that a gate's experiment shows. */
async function measure(store: Store, { split, allowJudge }: GateRecord, experiment: ExperimentRecord) {
  const tally = await tallyOf(store, experiment)
  return {
    counts: allowJudge ? tally.countsAsSaid(split) : tally.counts(split),
    finishedAt: experiment.finishedAt ?? experiment.activeAt,
    judging: allowJudge ? await readJudging(store, experiment, tally, split) : null,
  }
}

/** 409 `gate_not_met`, whose details name each unmet condition with its figures. */
export const refusal = (message: string, unmet: readonly UnmetCondition[]): ApiError =>
  gateNotMet(
    message,
    unmet.map(({ condition, required, actual }) => ({
      path: condition,
      message: `must be at ${isMinimum(condition) ? 'least' : 'most'} ${required}, ${
        actual === null ? "but there's nothing to measure" : `but is ${actual}`
      }`,
    })),
  )
