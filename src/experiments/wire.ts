import * as v from 'valibot'
import { DatasetItemHead, Evaluator } from '../datasets/wire.ts'
import { CHANGES } from '../domain/change.ts'
import { countDurations, percentile } from '../domain/duration-histogram.ts'
import { EXPERIMENT_STATES, experimentState, ITEM_VERDICTS, RUN_STATES, RUNNERS } from '../domain/experiment.ts'
import { JsonText } from '../domain/json.ts'
import { OUTCOMES } from '../domain/outcome.ts'
import { wilsonInterval } from '../domain/statistics.ts'
import { type OutcomeCounts, Tally } from '../domain/tally.ts'
import { described, IsoTime, isoTime, StoredObject, StoredValue, Uuid } from '../http/atoms.ts'
import type { ExperimentRecord } from '../store/experiments/experiments.ts'
import type { ResultHead } from '../store/experiments/results.ts'
import type { ModelJobState } from '../store/model-jobs/jobs.ts'
import { GateState } from './gate-state.ts'
import { Judging, Judgment, ModelAgreement, toJudgment } from './judge/judging.ts'

const Count = v.number()

const Counts = v.object({
  passed: Count,
  failed: Count,
  unjudged: described(
    Count,
    "The number of items whose output is free text that differs from the expected output. They're neither right nor wrong until a person decides.",
  ),
  error: described(Count, 'The number of items without an output. They count as not passed.'),
  fixed: described(Count, 'The number of items that are right, but were wrong in the baseline'),
  regressed: described(Count, 'The number of items that are wrong, but were right in the baseline'),
  stillRight: Count,
  stillWrong: Count,
})

const PassRate = {
  passRate: described(
    v.nullable(v.number()),
    'The share `passed` / (`passed` + `failed` + `error`), 0 to 1. Null if no items passed, failed, or ended in an error.',
  ),
  interval: described(
    v.nullable(v.object({ low: v.number(), high: v.number() })),
    "The pass rate's 95% interval (Wilson, without continuity correction)",
  ),
}

/** An experiment without its results. */
const experiment = {
  id: Uuid,
  projectId: Uuid,
  datasetId: Uuid,
  stepId: v.string(),
  version: described(v.string(), "The dataset's version, which determines the items and their expected outputs"),
  split: v.nullable(v.string()),
  sample: v.nullable(v.number()),
  itemId: described(v.nullable(Uuid), 'The only item, if the experiment was created with `itemId`'),
  seed: described(v.string(), 'Determines which items are in a sample'),
  includeStale: v.boolean(),
  name: v.nullable(v.string()),
  metadata: StoredObject,
  promptVersionId: v.nullable(Uuid),
  runner: v.picklist(RUNNERS),
  model: v.nullable(v.string()),
  baseline: described(v.string(), '`recorded`: the outputs in production. Otherwise the ID of another experiment.'),
  maxCostUsd: v.nullable(v.number()),
  evaluator: described(
    Evaluator,
    'How results are judged: the evaluator that the dataset had when the experiment began',
  ),
  state: described(
    v.picklist(EXPERIMENT_STATES),
    "finished: every item has an output, or somebody finished the experiment. failed: no result arrived for 24 hours (48 hours if the model runs it), or the model's run failed.",
  ),
  endReason: described(v.nullable(v.string()), 'Why the service ended the experiment early. Otherwise null.'),
  createdBy: Uuid,
  createdAt: IsoTime,
  finishedAt: v.nullable(IsoTime),
  lastResultAt: v.nullable(IsoTime),
  items: described(Count, 'The number of items that the experiment began with'),
}

export const Experiment = v.object({
  ...experiment,
  pending: described(
    Count,
    'The number of items without a result. While the experiment is running, this includes items that were deleted before they had a result. Once it has finished, this is 0, because the remaining items became errors.',
  ),
})

export const ListedExperiment = v.object({
  ...Experiment.entries,
  counts: described(v.nullable(Counts), 'Null until the experiment has ended'),
  ...PassRate,
})

const Run = v.object({
  state: described(
    v.picklist(RUN_STATES),
    'waiting: the run is waiting for the provider, or until the project can make more model calls the next day',
  ),
  waitsUntil: described(v.nullable(IsoTime), "When the run continues, if it's waiting"),
  reason: described(v.nullable(v.string()), 'Why the run is waiting, or why its last attempt failed'),
  costUsd: described(
    v.nullable(v.number()),
    'The cost of all calls, including those without a result. Calls in flight count at their maximum cost. Null if the price is unknown.',
  ),
})

export const Report = v.object({
  ...experiment,
  run: described(v.nullable(Run), "The model's run. Null if `runner` is `client`."),
  pending: Experiment.entries.pending,
  removed: described(
    Count,
    'The number of items that have been deleted since the experiment began. If the experiment had already finished by then, its counts still include them.',
  ),
  counts: Counts,
  ...PassRate,
  coverage: described(v.nullable(v.number()), 'The share of the items that have an output, 0 to 1'),
  splits: v.array(v.object({ split: v.string(), counts: Counts, ...PassRate })),
  errorTypes: described(
    v.array(v.object({ errorType: v.string(), counts: Counts })),
    'The counts by the error type that reviewers named for the recorded output, most frequent first',
  ),
  fields: described(
    v.array(
      v.object({
        path: v.string(),
        compared: Count,
        agreed: Count,
        accuracy: described(v.number(), '`agreed` / `compared`'),
      }),
    ),
    'How often each field agrees with the expected value. All items of an array count as one field, such as `items.*.price`.',
  ),
  otherFields: described(
    v.nullable(v.object({ path: v.string(), compared: Count, agreed: Count, accuracy: v.number() })),
    'The totals for all fields beyond the first 200. Null if there are no more than 200.',
  ),
  usage: described(
    v.nullable(
      v.object({
        inputTokens: v.number(),
        outputTokens: v.number(),
        totalTokens: v.number(),
        results: described(Count, 'The number of results that report their usage'),
      }),
    ),
    'The totals for all results that report their usage. Null if none do.',
  ),
  cost: described(
    v.nullable(
      v.object({ usd: v.number(), results: described(Count, 'The number of results that report their cost') }),
    ),
    'The total for all results that report their cost. Null if none do.',
  ),
  durationMs: described(
    v.object({ p50: v.nullable(v.number()), p95: v.nullable(v.number()), results: Count }),
    'Percentiles of how long the items took, accurate to within 15.5%',
  ),
  versionsTried: described(Count, 'How many prompt versions were tried on this split of the dataset'),
  changedSince: described(
    v.nullable(v.object({ excluded: Count, moved: Count })),
    "How many of the dataset's items have been excluded or moved to another split since the version that the experiment uses. Null if the dataset no longer has that version because the step was renamed.",
  ),
  repeatedInputs: described(
    Count,
    "How many of the experiment's items in the `test` split have an input that also occurs in `train`",
  ),
  judging: described(Judging, "A model's judgments of the unjudged items, which change none of the counts"),
  agreement: described(
    ModelAgreement,
    "How often the model agrees with people, on the existing items that both have judged. People may have seen the model's judgment before they decided.",
  ),
  gate: described(
    v.nullable(GateState),
    "Whether the version meets the step's gate. Null if the step has no gate or the experiment has no prompt version. The gate may use a different experiment.",
  ),
})

/** A person's decision on a candidate's output. */
export const Verdict = v.object({
  decision: v.picklist(ITEM_VERDICTS),
  comment: v.nullable(v.string()),
  by: Uuid,
  at: IsoTime,
})

/** A candidate's result on an item, without its output. */
const result = {
  outcome: v.picklist(OUTCOMES),
  change: described(
    v.nullable(v.picklist(CHANGES)),
    'The change from the baseline. Null if there is no baseline, or if either side is unjudged or an error.',
  ),
  error: v.nullable(v.string()),
  durationMs: v.nullable(v.number()),
  usage: v.nullable(v.object({ inputTokens: v.number(), outputTokens: v.number(), totalTokens: v.number() })),
  costUsd: v.nullable(v.number()),
  resultTraceId: described(v.nullable(v.string()), "The ID of the candidate's own trace, as sent by the client"),
  review: described(v.nullable(Verdict), "A person's decision on the candidate's output"),
  judgment: described(
    v.nullable(Judgment),
    "A model's judgment of the output. It changes neither the outcome nor any count; only a gate with `allowJudge` uses it.",
  ),
  judgmentError: described(v.nullable(v.string()), "Why a model couldn't judge the output"),
}

export const ItemResult = v.object({ itemId: Uuid, ...result })

export const ExperimentItem = v.object({
  ...DatasetItemHead.entries,
  input: StoredValue,
  state: v.record(v.string(), StoredValue),
  metadata: StoredObject,
  expected: described(v.array(StoredValue), 'The approved output first, then alternatives to it'),
  recordedOutput: described(StoredValue, 'The output in production. Null for an imported example.'),
  output: described(StoredValue, "The candidate's output. Null if there is none."),
  difference: described(
    v.array(v.object({ path: v.string(), expected: v.optional(v.unknown()), actual: v.optional(v.unknown()) })),
    'The first 20 parts that differ from the nearest expected value. If the expected or the actual output lacks a part, `expected` or `actual` is absent. A value whose JSON is over 256 bytes is replaced with a string: the beginning of its JSON.',
  ),
  share: described(
    v.nullable(v.number()),
    'The share of the compared leaves that agree, 0 to 1. Null if there is no output.',
  ),
  ...result,
  outcome: described(v.nullable(result.outcome), 'Null while the item is pending'),
  truncated: described(v.array(v.string()), 'Fields shown as previews: input, output, expected.0, ...'),
})

/** An experiment's fields as of `now`. */
export function toExperiment(record: ExperimentRecord, now: number): v.InferOutput<typeof Experiment> {
  const state = experimentState(record, now)
  return {
    id: record.id,
    projectId: record.projectId,
    datasetId: record.datasetId,
    stepId: record.stepId,
    version: record.version,
    split: record.split,
    sample: record.sample,
    itemId: record.itemId,
    seed: record.seed,
    includeStale: record.includesStale,
    name: record.name,
    metadata: new JsonText(record.metadata),
    promptVersionId: record.promptVersionId,
    runner: record.runner,
    model: record.model,
    baseline: record.baselineId ?? RECORDED,
    maxCostUsd: record.maxCostUsd,
    evaluator: JSON.parse(record.evaluator),
    state,
    endReason: record.endReason,
    createdBy: record.userId,
    createdAt: isoTime(record.createdAt),
    finishedAt: record.finishedAt === null ? null : isoTime(record.finishedAt),
    lastResultAt: record.activeAt === record.createdAt && record.outputs === 0 ? null : isoTime(record.activeAt),
    items: record.items,
    pending: state === 'finished' ? 0 : Math.max(0, record.items - record.results - record.removed),
  }
}

/** An experiment with its counts, which are null until it has ended. */
export function toListed(record: ExperimentRecord, now: number): v.InferOutput<typeof ListedExperiment> {
  const counts = record.tally === null ? null : new Tally(JSON.parse(record.tally)).counts()
  return { ...toExperiment(record, now), counts, ...(counts ? passRate(counts) : { passRate: null, interval: null }) }
}

/** The baseline of experiments that are compared with the outputs in production. */
export const RECORDED = 'recorded'

export const toResult = (head: ResultHead): Omit<v.InferOutput<typeof ItemResult>, 'itemId'> => ({
  outcome: head.outcome,
  change: head.change,
  error: head.error,
  durationMs: head.durationMs,
  usage: head.usage,
  costUsd: head.costUsd,
  resultTraceId: head.traceId,
  review: head.verdict && {
    decision: head.verdict.decision,
    comment: head.verdict.comment,
    by: head.verdict.userId,
    at: isoTime(head.verdict.at),
  },
  judgment: toJudgment(head.judgment),
  judgmentError: head.judgment?.same === null ? head.judgment.reason : null,
})

/** What a report has besides the experiment and its tally. */
interface Surroundings {
  versionsTried: number
  changedSince: { excluded: number; moved: number } | null
  /** The model's run, if it has one. */
  job: ModelJobState | undefined
}

/** The report of an experiment with these counts. */
export function toReport(
  record: ExperimentRecord,
  tally: Tally,
  { versionsTried, changedSince, job }: Surroundings,
  now: number,
): Omit<v.InferOutput<typeof Report>, 'judging' | 'agreement' | 'gate'> {
  const counts = tally.counts()
  const { fields, restOfFields, inputTokens, outputTokens, totalTokens, costNanoUsd, durations } = tally.toJSON()
  return {
    ...toExperiment(record, now),
    run: record.runner === 'model' ? toRun(record, job, now) : null,
    removed: record.removed,
    counts,
    ...passRate(counts),
    coverage: record.items === 0 ? null : (counts.passed + counts.failed + counts.unjudged) / record.items,
    splits: tally.bySplit().map(({ split, counts }) => ({ split, counts, ...passRate(counts) })),
    errorTypes: tally.byErrorType(),
    fields: fields.filter(({ compared }) => compared > 0).map(withAccuracy),
    otherFields: restOfFields && withAccuracy(restOfFields),
    usage:
      totalTokens.results === 0
        ? null
        : {
            inputTokens: inputTokens.sum,
            outputTokens: outputTokens.sum,
            totalTokens: totalTokens.sum,
            results: totalTokens.results,
          },
    cost: costNanoUsd.results === 0 ? null : { usd: costNanoUsd.sum / 1e9, results: costNanoUsd.results },
    durationMs: {
      p50: percentile(durations, 0.5),
      p95: percentile(durations, 0.95),
      results: countDurations(durations),
    },
    versionsTried,
    changedSince,
    repeatedInputs: record.repeatedInputs,
  }
}

function toRun(record: ExperimentRecord, job: ModelJobState | undefined, now: number): v.InferOutput<typeof Run> {
  const costUsd = record.runNanoUsd === null ? null : record.runNanoUsd / 1e9
  if (experimentState(record, now) !== 'running' || job?.status !== 'pending') {
    return { state: 'ended', waitsUntil: null, reason: null, costUsd }
  }
  const { waitsUntil, failure: reason } = job
  const isWaiting = waitsUntil !== null && waitsUntil > now
  return {
    state: isWaiting ? 'waiting' : 'running',
    waitsUntil: isWaiting ? isoTime(waitsUntil) : null,
    reason,
    costUsd,
  }
}

const withAccuracy = ({ path, compared, agreed }: { path: string; compared: number; agreed: number }) => ({
  path,
  compared,
  agreed,
  accuracy: agreed / compared,
})

function passRate({ passed, failed, error }: OutcomeCounts) {
  const settled = passed + failed + error
  return { passRate: settled === 0 ? null : passed / settled, interval: wilsonInterval(passed, settled) }
}
