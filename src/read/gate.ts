import * as v from 'valibot'
import { described, IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import type { GateRecord } from '../store/experiments/gates.ts'

/** What an experiment must show before a version of a step's prompt may become active. */
export const Gate = v.object({
  id: described(Uuid, "The `targetId` of the gate's entries in the audit log"),
  stepId: v.string(),
  minItems: v.number(),
  minPassRate: v.nullable(v.number()),
  maxRegressed: v.nullable(v.number()),
  maxUnjudged: v.nullable(v.number()),
  maxAgeDays: v.nullable(v.number()),
  split: v.string(),
  allowJudge: described(
    v.boolean(),
    "Whether an unjudged item counts as passed or failed according to a model's judgment. A person's decision takes precedence.",
  ),
  autoRollback: described(
    v.boolean(),
    'Whether the previous version becomes active again if the watch finds that the new version is worse',
  ),
  updatedAt: IsoTime,
})

export const toGate = ({ updatedAt, ...gate }: GateRecord): v.InferOutput<typeof Gate> => ({
  ...gate,
  updatedAt: isoTime(updatedAt),
})
