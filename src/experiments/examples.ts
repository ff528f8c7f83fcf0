import type { Shown } from '../api/contract.ts'
import {
  ANSWER,
  ANSWERED,
  CORRECTION,
  DATASET_ID,
  EXPERIMENT_ID,
  JUDGED,
  METADATA,
  PROJECT_ID,
  PROMPT_DRAFT_ID,
  QUESTION,
  SPAN_ID,
  STARTED,
  USER_ID,
} from '../api/story.ts'
import { DATASET_VERSION, itemHead } from '../datasets/examples.ts'
import { gate } from '../read/examples.ts'
import type { GateState } from './gate-state.ts'
import type { Judging, Judgment } from './judge/judging.ts'
import type { Experiment, ExperimentItem, ItemResult, ListedExperiment, Report } from './wire.ts'

export const experiment: Shown<typeof Experiment> = {
  id: EXPERIMENT_ID,
  projectId: PROJECT_ID,
  datasetId: DATASET_ID,
  stepId: 'generate-answer',
  version: DATASET_VERSION,
  split: 'test',
  sample: null,
  itemId: null,
  seed: DATASET_ID,
  includeStale: false,
  name: 'Cite the warranty doc',
  metadata: {},
  promptVersionId: PROMPT_DRAFT_ID,
  runner: 'client',
  model: null,
  baseline: 'recorded',
  maxCostUsd: null,
  evaluator: {},
  state: 'running',
  endReason: null,
  createdBy: USER_ID,
  createdAt: STARTED,
  finishedAt: null,
  lastResultAt: null,
  items: 40,
  pending: 40,
}

const counts = {
  passed: 31,
  failed: 5,
  unjudged: 4,
  error: 0,
  fixed: 5,
  regressed: 1,
  stillRight: 26,
  stillWrong: 4,
}

/** A model's judgment of the candidate's output for the item in the examples. */
export const judgment: Shown<typeof Judgment> = {
  same: true,
  reason: 'Both say that the warranty lasts 24 months.',
  model: 'openai/gpt-5-mini',
  at: JUDGED,
}

export const judging: Shown<typeof Judging> = {
  same: 0,
  different: 0,
  waiting: 4,
  unanswered: 0,
  job: { status: 'pending', requestedAt: JUDGED, failure: null, waitsUntil: null },
}

const NO_AGREEMENT = {
  agreed: 0,
  of: 0,
  interval: null,
  sameAccepted: 0,
  sameRejected: 0,
  differentAccepted: 0,
  differentRejected: 0,
}

/** The gate's state in the examples, after the experiment. */
export const gateState: Shown<typeof GateState> = {
  gate,
  versionId: PROMPT_DRAFT_ID,
  experimentId: EXPERIMENT_ID,
  judging: null,
  met: false,
  unmet: [
    { condition: 'minPassRate', required: 0.9, actual: 31 / 36 },
    { condition: 'maxUnjudged', required: 0, actual: 4 },
  ],
}

const passRate = { passRate: 31 / 36, interval: { low: 0.713, high: 0.939 } }

export const listedExperiment: Shown<typeof ListedExperiment> = {
  ...experiment,
  state: 'finished',
  finishedAt: JUDGED,
  lastResultAt: JUDGED,
  pending: 0,
  counts,
  ...passRate,
}

export const report: Shown<typeof Report> = {
  ...listedExperiment,
  run: null,
  counts,
  removed: 0,
  coverage: 1,
  splits: [{ split: 'test', counts, ...passRate }],
  errorTypes: [
    {
      errorType: 'context_misinterpretation',
      counts: { ...counts, passed: 5, failed: 2, unjudged: 1, fixed: 5, regressed: 0, stillRight: 0, stillWrong: 2 },
    },
  ],
  fields: [{ path: 'answer', compared: 40, agreed: 31, accuracy: 0.775 }],
  otherFields: null,
  usage: { inputTokens: 16_480, outputTokens: 1440, totalTokens: 17_920, results: 40 },
  cost: { usd: 0.0072, results: 40 },
  durationMs: { p50: 991, p95: 1762, results: 40 },
  versionsTried: 3,
  changedSince: { excluded: 1, moved: 0 },
  repeatedInputs: 0,
  judging: { ...judging, job: null },
  agreement: NO_AGREEMENT,
  gate: gateState,
}

const outcome = {
  outcome: 'passed',
  change: 'fixed',
  error: null,
  durationMs: 1040,
  usage: { inputTokens: 412, outputTokens: 36, totalTokens: 448 },
  costUsd: null,
  resultTraceId: null,
  review: null,
  judgment: null,
  judgmentError: null,
} as const

export const result: Shown<typeof ItemResult> = { itemId: SPAN_ID, ...outcome }

export const reviewedResult: Shown<typeof ItemResult> = {
  ...result,
  review: { decision: 'accept', comment: 'Says the same thing.', by: USER_ID, at: ANSWERED },
}

export const experimentItem: Shown<typeof ExperimentItem> = {
  ...itemHead,
  input: QUESTION,
  state: {},
  metadata: METADATA,
  expected: [CORRECTION],
  recordedOutput: ANSWER,
  output: CORRECTION,
  difference: [],
  share: 1,
  ...outcome,
  truncated: [],
}
