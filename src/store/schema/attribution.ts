import { isNotNull } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { type Alternative, ATTRIBUTION_STATUSES, ERROR_CATEGORIES, type Evidence } from '../../domain/attribution.ts'

/** The built-in causes of a disagreement between AI and human judgment. */
export const errorTypes = sqliteTable('error_types', {
  errorType: text('error_type').primaryKey(),
  /** UUIDv5 of `countersign:error-type:<error_type>` in the URL namespace. */
  id: text('id').notNull(),
  name: text('name').notNull(),
  category: text('category', { enum: ERROR_CATEGORIES }).notNull(),
  /** Describes when a disagreement has this cause. */
  rule: text('rule').notNull(),
})

/** A project's own error types, and the built-in ones that it disabled. */
export const projectErrorTypes = sqliteTable(
  'project_error_types',
  {
    projectKey: integer('project_key').notNull(),
    errorType: text('error_type').notNull(),
    /** UUIDv5 of `error-type:<error_type>` in the project; for a built-in type, the built-in id. */
    id: text('id').notNull(),
    /** Null for a built-in type, as are `category` and `rule`, because the built-in values apply. */
    name: text('name'),
    category: text('category', { enum: ERROR_CATEGORIES }),
    rule: text('rule'),
    /** A disabled type keeps its row, so records that use it can still show its name. */
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.errorType] })],
)

/**
 * The state of a trace's attribution, one row for each trace that was ever submitted. This row is authoritative; a
 * queue message is only a hint.
 */
export const attributionJobs = sqliteTable(
  'attribution_jobs',
  {
    traceKey: integer('trace_key').primaryKey(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    status: text('status', { enum: ATTRIBUTION_STATUSES }).notNull(),
    /** Counts the requests. If a request arrives during a run, the job becomes pending again after the run. */
    requests: integer('requests').notNull(),
    requestedAt: integer('requested_at').notNull(),
    /** The number of claims since the last request. */
    attempts: integer('attempts').notNull(),
    /** Identifies the run that works on the job. Only this run may write the result. */
    leaseToken: text('lease_token'),
    leaseUntil: integer('lease_until'),
    /** When cron sends the job again. Null if there is nothing to do. */
    dueAt: integer('due_at'),
    /**
     * When the job may run, if it's waiting because the project has used up its model calls for the day. Otherwise
     * null.
     */
    waitsUntil: integer('waits_until'),
    /** Why the job failed. Contains nothing from the trace. */
    failure: text('failure'),
    /**
     * A fingerprint of the data that the last result was based on. If it still matches the trace, nothing has changed.
     */
    basis: text('basis'),
    /** The last result's number in `attributions` (0 if there is none) and its type. */
    attributionNumber: integer('attribution_number').notNull().default(0),
    errorType: text('error_type'),
  },
  table => [index('attribution_jobs_due').on(table.dueAt).where(isNotNull(table.dueAt))],
)

/** Every answer that an engine has given, numbered from 1 within its trace. */
export const attributions = sqliteTable(
  'attributions',
  {
    traceKey: integer('trace_key').notNull(),
    number: integer('number').notNull(),
    id: text('id').notNull(),
    projectKey: integer('project_key').notNull(),
    createdAt: integer('created_at').notNull(),
    errorType: text('error_type').notNull(),
    confidence: real('confidence').notNull(),
    /** The blamed span, or null. */
    spanId: text('span_id'),
    reasoning: text('reasoning').notNull(),
    /** `[{errorType, confidence}]`. */
    alternatives: text('alternatives', { mode: 'json' }).$type<readonly Alternative[]>().notNull(),
    /** `[{spanId, path, note}]`. */
    evidence: text('evidence', { mode: 'json' }).$type<readonly Evidence[]>().notNull(),
    /** `rules`, or the model's name. */
    engine: text('engine').notNull(),
    /**
     * The version of the rules, or of the question for a model. Answers from before this column existed have version 1.
     */
    engineVersion: text('engine_version').notNull().default('1'),
    durationMs: integer('duration_ms').notNull(),
    /** The model's usage. Null for the rules, or if the provider didn't report it. */
    inputTokens: integer('input_tokens'),
    outputTokens: integer('output_tokens'),
    costUsd: real('cost_usd'),
    /**
     * The step that the answer is counted under: the blamed span's step at the time of the answer ('' if there is
     * none). Null if the answer was never counted.
     */
    stepId: text('step_id'),
    /** The slug of the knowledge doc that the evidence cites first. Null if it cites none. */
    docSlug: text('doc_slug'),
  },
  table => [primaryKey({ columns: [table.traceKey, table.number] })],
)
