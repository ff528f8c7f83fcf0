import { isNotNull } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { type Alternative, ATTRIBUTION_STATUSES, ERROR_CATEGORIES, type Evidence } from '../../domain/attribution.ts'

/** What a disagreement between AI and human may come from. */
export const errorTypes = sqliteTable('error_types', {
  errorType: text('error_type').primaryKey(),
  /** UUIDv5 of `countersign:error-type:<error_type>` in the URL namespace. */
  id: text('id').notNull(),
  name: text('name').notNull(),
  category: text('category', { enum: ERROR_CATEGORIES }).notNull(),
  /** When it is the cause. */
  rule: text('rule').notNull(),
})

/** What a project makes of them: types of its own, and built-in ones that it switched off. */
export const projectErrorTypes = sqliteTable(
  'project_error_types',
  {
    projectKey: integer('project_key').notNull(),
    errorType: text('error_type').notNull(),
    /** UUIDv5 of `error-type:<error_type>` in the project; a built-in one's own. */
    id: text('id').notNull(),
    /** Null, as are `category` and `rule`: those of the built-in one. */
    name: text('name'),
    category: text('category', { enum: ERROR_CATEGORIES }),
    rule: text('rule'),
    /** A type that is switched off keeps its row: what named it before still has its name. */
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.errorType] })],
)

/**
 * Whether a trace's disagreement is to be analyzed, is being, or was: the truth about that, of which a message in the queue is
 * a hint. One row for each trace that was ever asked about.
 */
export const attributionJobs = sqliteTable(
  'attribution_jobs',
  {
    traceKey: integer('trace_key').primaryKey(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    status: text('status', { enum: ATTRIBUTION_STATUSES }).notNull(),
    /** Counts the requests: a run that ends after another request came leaves the job pending. */
    requests: integer('requests').notNull(),
    requestedAt: integer('requested_at').notNull(),
    /** How often it was claimed since it was asked for. */
    attempts: integer('attempts').notNull(),
    /** Names the run that works on it; a result is written with this token alone. */
    leaseToken: text('lease_token'),
    leaseUntil: integer('lease_until'),
    /** When cron sends it again; null while there is nothing to do. */
    dueAt: integer('due_at'),
    /** Until when nobody works on it, since the project's model calls of the day are used up. */
    waitsUntil: integer('waits_until'),
    /** Why it failed, in words that hold nothing of the trace. */
    failure: text('failure'),
    /** What the last result went by: the same of the trace as it is now, and there is nothing new. */
    basis: text('basis'),
    /** The last result's number in `attributions`, 0 where there is none, and its type. */
    attributionNumber: integer('attribution_number').notNull().default(0),
    errorType: text('error_type'),
  },
  table => [index('attribution_jobs_due').on(table.dueAt).where(isNotNull(table.dueAt))],
)

/** Every answer that an engine gave, numbered from 1. */
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
    /** The blamed span; null: none. */
    spanId: text('span_id'),
    reasoning: text('reasoning').notNull(),
    /** `[{errorType, confidence}]`. */
    alternatives: text('alternatives', { mode: 'json' }).$type<readonly Alternative[]>().notNull(),
    /** `[{spanId, path, note}]`. */
    evidence: text('evidence', { mode: 'json' }).$type<readonly Evidence[]>().notNull(),
    /** `rules`, or a model's name. */
    engine: text('engine').notNull(),
    durationMs: integer('duration_ms').notNull(),
    /** What a model took; null for the rules, and where it did not say. */
    inputTokens: integer('input_tokens'),
    outputTokens: integer('output_tokens'),
    costUsd: real('cost_usd'),
    /** The blamed span's step ('': none) as it was answered: what it counts under. Null: it was never counted. */
    stepId: text('step_id'),
  },
  table => [primaryKey({ columns: [table.traceKey, table.number] })],
)

/*
 * What insights are read from, however many traces there are. A `day` is one of UTC, counted from 1970.
 */
