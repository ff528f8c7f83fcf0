import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { CHANGES } from '../../domain/change.ts'
import { EXPERIMENT_STATES, ITEM_VERDICTS, RUNNERS } from '../../domain/experiment.ts'
import { OUTCOMES } from '../../domain/outcome.ts'

/*
 * Candidates and their results on a dataset's items. An experiment's version, split, and sample determine its items, so
 * only results have rows.
 */

export const experiments = sqliteTable(
  'experiments',
  {
    key: integer('key').primaryKey(),
    /** Chosen by the client or the service. Unique in its organization. */
    id: text('id').notNull(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    datasetId: text('dataset_id').notNull(),
    stepId: text('step_id').notNull(),
    /** A hash of the request, which distinguishes a repeated request from a different one with the same id. */
    requestHash: text('request_hash').notNull(),
    /** The dataset's version. */
    version: text('version').notNull(),
    /** Whether the request named the version. */
    isVersionNamed: integer('is_version_named', { mode: 'boolean' }).notNull(),
    split: text('split'),
    sample: integer('sample'),
    /** The item, if the candidate is tried on only one. */
    itemId: text('item_id'),
    seed: text('seed').notNull(),
    threshold: text('threshold'),
    includesStale: integer('includes_stale', { mode: 'boolean' }).notNull(),
    name: text('name'),
    /** JSON. */
    metadata: text('metadata').notNull(),
    promptVersionId: text('prompt_version_id'),
    runner: text('runner', { enum: RUNNERS }).notNull(),
    model: text('model'),
    maxCostUsd: real('max_cost_usd'),
    /** The id of the experiment to compare with. Null: the recorded outputs. */
    baselineId: text('baseline_id'),
    /** How results are judged: an `Evaluator` and the step's `outputSchema`, as JSON. */
    evaluator: text('evaluator').notNull(),
    outputSchema: text('output_schema'),
    /**
     * How many items the experiment had at the start, and how many of its `test` items have an input that's also in
     * `train`.
     */
    items: integer('items').notNull(),
    repeatedInputs: integer('repeated_inputs').notNull(),
    userId: text('user_id').notNull(),
    createdAt: integer('created_at').notNull(),
    state: text('state', { enum: EXPERIMENT_STATES }).notNull(),
    /** When the experiment got its last result or, if it has none, when it began. */
    activeAt: integer('active_at').notNull(),
    finishedAt: integer('finished_at'),
    /** How many items have a result, and how many of those have an output. */
    results: integer('results').notNull(),
    outputs: integer('outputs').notNull(),
    /** How many of its results were deleted with their traces. */
    removed: integer('removed').notNull(),
    /** A `StoredTally` as JSON. Null while the experiment runs. */
    tally: text('tally'),
    /** Identifies the last write of results or of the tally. */
    revision: text('revision').notNull(),
    /** Why the service ended it, or null. */
    endReason: text('end_reason'),
    /** Where the model's run continues: after the place of the last item that it has handled, as JSON. */
    runPlace: text('run_place'),
    /**
     * The cost of the model's calls, in billionths of a dollar. Calls in flight, and those whose cost isn't known,
     * count at their maximum cost. Null if the model's price isn't known.
     */
    runNanoUsd: integer('run_nano_usd'),
  },
  table => [
    uniqueIndex('experiments_by_id').on(table.id, table.organizationKey),
    index('experiments_by_project').on(table.projectKey),
  ],
)

/** What an experiment must show before a version of a step's prompt may become active: a `Gate`. */
export const gates = sqliteTable(
  'gates',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    /** UUIDv5 of `gate:<stepId>` in the project. */
    id: text('id').notNull(),
    minItems: integer('min_items').notNull(),
    minPassRate: real('min_pass_rate'),
    maxRegressed: integer('max_regressed'),
    maxUnjudged: integer('max_unjudged'),
    maxAgeDays: real('max_age_days'),
    split: text('split').notNull(),
    allowJudge: integer('allow_judge', { mode: 'boolean' }).notNull().default(false),
    /** Whether the service reactivates the previous version if a new one does worse. */
    autoRollback: integer('auto_rollback', { mode: 'boolean' }).notNull().default(false),
    updatedAt: integer('updated_at').notNull(),
    /** Identifies the last change. */
    revision: text('revision').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId] })],
)

/** The narrow columns come first: SQLite then reads them without the pages that hold the values. */
export const experimentResults = sqliteTable(
  'experiment_results',
  {
    experimentKey: integer('experiment_key').notNull(),
    itemId: text('item_id').notNull(),
    /** The item's trace. 0 for imported examples. */
    traceKey: integer('trace_key').notNull(),
    outcome: text('outcome', { enum: OUTCOMES }).notNull(),
    change: text('change', { enum: CHANGES }),
    /** The item's split and error type. */
    split: text('split').notNull(),
    errorType: text('error_type'),
    /** Whether the baseline is right. Null if that's unknown. */
    wasRight: integer('was_right', { mode: 'boolean' }),
    createdAt: integer('created_at').notNull(),
    durationMs: integer('duration_ms'),
    inputTokens: integer('input_tokens'),
    outputTokens: integer('output_tokens'),
    totalTokens: integer('total_tokens'),
    costUsd: real('cost_usd'),
    /** The id of the candidate's own trace, as the client gave it. */
    traceId: text('trace_id'),
    /** A person's decision on the output. */
    verdict: text('verdict', { enum: ITEM_VERDICTS }),
    reviewedBy: text('reviewed_by'),
    reviewedAt: integer('reviewed_at'),
    /** Identifies the write that stored the output. */
    writtenBy: text('written_by').notNull(),
    /** A hash of the output or the error, which distinguishes a repeated result from a different one. */
    contentHash: text('content_hash').notNull(),
    /** `FieldAgreement`s as a JSON array: the paths that agree, and those that don't. */
    fields: text('fields').notNull(),
    comment: text('comment'),
    error: text('error'),
    /** Stored like an observation's `data`, in the experiment's folder. */
    output: text('output'),
    outputRef: text('output_ref'),
  },
  table => [
    primaryKey({ columns: [table.experimentKey, table.itemId] }),
    index('experiment_results_by_trace').on(table.traceKey),
  ],
)

/**
 * A model's judgment of an output: whether it means the same as the expected one. It changes neither the result's
 * outcome nor any count. It has its own table, because columns after the values would be slow to read.
 */
export const resultJudgments = sqliteTable(
  'result_judgments',
  {
    experimentKey: integer('experiment_key').notNull(),
    itemId: text('item_id').notNull(),
    /** Null if the model couldn't judge the output. `reason` then says why. */
    saidSame: integer('said_same', { mode: 'boolean' }),
    /** A person's latest decision on the same output, copied from the result. */
    verdict: text('verdict', { enum: ITEM_VERDICTS }),
    judgedAt: integer('judged_at').notNull(),
    model: text('model').notNull(),
    reason: text('reason').notNull(),
  },
  table => [
    primaryKey({ columns: [table.experimentKey, table.itemId] }),
    index('result_judgments_decided')
      .on(table.experimentKey, table.itemId, table.saidSame, table.verdict)
      .where(sql`${table.verdict} is not null and ${table.saidSame} is not null`),
  ],
)
