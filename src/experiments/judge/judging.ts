import * as v from 'valibot'
import { MODEL_JOB_STATUSES } from '../../domain/model-job.ts'
import { wilsonInterval } from '../../domain/statistics.ts'
import type { Tally } from '../../domain/tally.ts'
import { described, IsoTime, isoTime } from '../../http/atoms.ts'
import type { Store } from '../../store/core/store.ts'
import type { ExperimentRecord } from '../../store/experiments/experiments.ts'
import { type AgreementCounts, countUnanswered } from '../../store/experiments/judgments.ts'
import type { ModelJudgment } from '../../store/experiments/results.ts'
import { findModelJob, type ModelJobState } from '../../store/model-jobs/jobs.ts'

/** A model's judgment of an output. */
export const Judgment = v.object({
  same: described(v.boolean(), 'Whether the output means the same as the expected one'),
  reason: v.string(),
  model: v.string(),
  at: IsoTime,
})

/** A model's judgment as responses show it. Null if it couldn't judge. */
export const toJudgment = (judgment: ModelJudgment | null): v.InferOutput<typeof Judgment> | null =>
  judgment === null || judgment.same === null
    ? null
    : { same: judgment.same, reason: judgment.reason, model: judgment.model, at: isoTime(judgment.at) }

/** A model's judgments of an experiment's unjudged items, and the job that asks for them. */
export const Judging = v.object({
  same: described(
    v.number(),
    'The number of unjudged items whose output, according to a model, means the same as the expected one',
  ),
  different: described(
    v.number(),
    'The number of unjudged items whose output, according to a model, means something else',
  ),
  waiting: described(v.number(), 'The number of unjudged items without a judgment by a model'),
  unanswered: described(
    v.number(),
    "How many of the items in `waiting` a model tried but couldn't judge. Each item's `judgmentError` says why.",
  ),
  job: described(
    v.nullable(
      v.object({
        status: v.picklist(MODEL_JOB_STATUSES),
        requestedAt: IsoTime,
        failure: described(v.nullable(v.string()), "Why it failed, or why it's waiting"),
        waitsUntil: v.nullable(IsoTime),
      }),
    ),
    'Null if nobody has asked a model, or if no item is unjudged',
  ),
})

/** The state of a model's judgments on all of an experiment's unjudged items, or on those in one split. */
export async function readJudging(
  store: Store,
  experiment: ExperimentRecord,
  tally: Tally,
  split?: string,
): Promise<v.InferOutput<typeof Judging>> {
  const { unjudged } = tally.counts(split)
  const { same, different } = tally.said(split)
  const waiting = unjudged - same - different
  const job = unjudged === 0 ? undefined : await findModelJob(store, { kind: 'judge_results', subject: experiment.id })
  const unanswered = job && waiting > 0 ? await countUnanswered(store, experiment, split) : 0
  return { same, different, waiting, unanswered, job: job ? toJob(job) : null }
}

const toJob = ({ status, requestedAt, failure, waitsUntil }: ModelJobState) => ({
  status,
  requestedAt: isoTime(requestedAt),
  failure,
  waitsUntil: waitsUntil === null ? null : isoTime(waitsUntil),
})

/** How often a model agrees with people on outputs that both judged. */
export const ModelAgreement = v.object({
  agreed: described(
    v.number(),
    'The number of outputs that the model called the same and a person accepted, or that the model called different and a person rejected',
  ),
  of: described(v.number(), 'The number of outputs that both the model and a person judged'),
  interval: described(
    v.nullable(v.object({ low: v.number(), high: v.number() })),
    'The 95% interval of `agreed` / `of` (Wilson, without continuity correction). Null if `of` is 0.',
  ),
  sameAccepted: v.number(),
  sameRejected: described(v.number(), 'The number of outputs that the model called the same and a person rejected'),
  differentAccepted: described(
    v.number(),
    'The number of outputs that the model called different and a person accepted',
  ),
  differentRejected: v.number(),
})

export function toAgreement(counts: AgreementCounts): v.InferOutput<typeof ModelAgreement> {
  const agreed = counts.sameAccepted + counts.differentRejected
  const of = agreed + counts.sameRejected + counts.differentAccepted
  return { agreed, of, interval: wilsonInterval(agreed, of), ...counts }
}
