import * as v from 'valibot'
import { Split } from '../datasets/wire.ts'
import { checkGate, GATE_CONDITIONS, isMinimum, type UnmetCondition } from '../domain/gate.ts'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import { type ApiError, gateNotMet } from '../http/errors.ts'
import type { Store } from '../store/core/store.ts'
import { findExperiment } from '../store/experiments/experiments.ts'
import { findGateBasis, type GateBasis, type GateRecord, type Step } from '../store/experiments/gates.ts'
import { settled, tallyOf } from './tally.ts'

export const Gate = v.object({
  id: described(Uuid, 'The target of its entries in the audit log'),
  stepId: v.string(),
  minItems: v.number(),
  minPassRate: v.nullable(v.number()),
  maxRegressed: v.nullable(v.number()),
  maxUnjudged: v.nullable(v.number()),
  maxAgeDays: v.nullable(v.number()),
  split: Split,
  allowJudge: described(v.boolean(), 'Not available yet: always false'),
  autoRollback: described(v.boolean(), 'Not available yet: always false'),
  updatedAt: IsoTime,
})

/** Whether a version meets its step's gate. */
export const GateState = v.object({
  gate: Gate,
  versionId: described(v.nullable(Uuid), 'Null if you named none and the step has no prompt'),
  experimentId: described(
    v.nullable(Uuid),
    "The experiment that the gate looks at: the version's latest that finished on the step's dataset, with the evaluator that the dataset has now, on all splits or the gate's, compared with recorded outputs, and created without `version`, `sample`, and `includeStale`. Null if there is none.",
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

export const toGate = ({ updatedAt, ...gate }: GateRecord): v.InferOutput<typeof Gate> => ({
  ...gate,
  allowJudge: false,
  autoRollback: false,
  updatedAt: isoTime(updatedAt),
})

/**
 * Whether a version meets its step's gate: undefined if the step has none. `holds` is the condition that nothing has
 * changed since, for a write that depends on the answer.
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
      // Its counts must be stored first, because they stay as they are from then on.
      await settled(store, record)
      await store.deadline.giveWay(losses)
      continue
    }
    const measured = record && {
      counts: (await tallyOf(store, record)).counts(gate.split),
      finishedAt: record.finishedAt ?? record.activeAt,
    }
    const result = checkGate(gate, measured, now)
    return { state: { gate: toGate(gate), versionId, experimentId: record?.id ?? null, ...result }, holds }
  }
}

/** 409 `gate_not_met`: its details name each unmet condition with its figures. */
export const refusal = (message: string, unmet: readonly UnmetCondition[]): ApiError =>
  gateNotMet(
    message,
    unmet.map(({ condition, required, actual }) => ({
      path: condition,
      message: `must be at ${isMinimum(condition) ? 'least' : 'most'} ${required}, ${
        actual === null ? "and there's nothing to measure" : `is ${actual}`
      }`,
    })),
  )
