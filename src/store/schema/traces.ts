import { isNotNull, isNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { Derivation } from '../../domain/derivation.ts'
import type { JsonObject } from '../../domain/json.ts'
import { TRACE_STATUSES } from '../../domain/trace-status.ts'

/**
 * One row per creation of a `trace_id`. A deleted trace's row stays as a tombstone until its children are purged,
 * possibly next to a live row with the same `trace_id`.
 */
export const traces = sqliteTable(
  'traces',
  {
    /**
     * Created by `newKeys` and never reused, because a late write or purge with this key must not affect another trace.
     */
    key: integer('key').primaryKey(),
    /** UUIDv5 of `trace:<trace_id>` in the project. */
    id: text('id').notNull(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    /** The client's `trace_id`. */
    traceId: text('trace_id').notNull(),
    /** Stored here so that a query by the trace's id can reach the root span in the same round trip. */
    rootSpanId: text('root_span_id').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: TRACE_STATUSES }).notNull(),
    /** The client's timestamp. */
    timestamp: integer('timestamp').notNull(),
    durationMs: integer('duration_ms'),
    metadata: text('metadata', { mode: 'json' }).$type<JsonObject>().notNull(),
    /** The metadata fields that completing calls set. Running calls don't overwrite them. */
    completedFields: text('completed_fields', { mode: 'json' }).$type<readonly string[]>().notNull(),
    /**
     * Changes with every write of this row. A write that is based on an earlier read first checks that the revision is
     * the same.
     */
    revision: text('revision').notNull(),
    receivedAt: integer('received_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    deletedAt: integer('deleted_at'),
    /**
     * When cron queues the purge of a deleted trace again, unless a job has purged the trace by then. Null while the
     * trace exists.
     */
    purgeDueAt: integer('purge_due_at'),
    /**
     * 1 if the trace may have spans to review. 0 once every span with an output has a review: the search for reviewable
     * spans then skips the trace. 2 if the trace has spans without a review, but the project's policy selects none of
     * them: the queue then also skips the trace. Any write that may change this sets the value back to 1
     * (`reopenTraces` and `needsReview`). Don't read the column directly, because it maps 2 to false.
     */
    needsReview: integer('needs_review', { mode: 'boolean' }).notNull().default(true),
    /** Whether any of its feedback is negative. */
    isNegative: integer('is_negative', { mode: 'boolean' }).notNull().default(false),
    /**
     * Whether a client posted the trace, in which case the client's values win. False if the trace is known only from
     * telemetry.
     */
    isPosted: integer('is_posted', { mode: 'boolean' }).notNull().default(true),
    /** Which spans the fields from telemetry came from. Null if there was never any telemetry. */
    derivation: text('derivation', { mode: 'json' }).$type<Derivation>(),
    /** When the trace is treated as completed even if its root never arrives. Null if it isn't waiting for its root. */
    closesAt: integer('closes_at'),
    /** Whether none of its known spans is a step of an AI pipeline. If so, lists leave the trace out by default. */
    isGeneric: integer('is_generic', { mode: 'boolean' }).notNull().default(false),
    /**
     * When cron brings its dataset items up to date, because a reviewed span's output, step, or root may have changed.
     * Null if they're up to date.
     */
    itemsDueAt: integer('items_due_at'),
    /**
     * For a deleted trace, whether the purge subtracts the trace's decisions from the counts. False if the trace
     * expired.
     */
    isUncounted: integer('is_uncounted', { mode: 'boolean' }).notNull().default(false),
  },
  table => [
    uniqueIndex('traces_by_id').on(table.id).where(isNull(table.deletedAt)),
    index('traces_by_time').on(table.projectKey, table.timestamp, table.id).where(isNull(table.deletedAt)),
    index('traces_by_name').on(table.projectKey, table.name, table.timestamp, table.id).where(isNull(table.deletedAt)),
    // Contains only running traces. D1 doesn't bill the index write when a completed trace leaves the index.
    index('traces_running')
      .on(table.projectKey, table.status, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.status} = 'running'`),
    index('traces_to_purge').on(table.purgeDueAt).where(isNotNull(table.purgeDueAt)),
    index('traces_to_review')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.needsReview} = 1`),
    index('traces_left_out')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.needsReview} = 2`),
    index('traces_negative')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.isNegative} = 1`),
    index('traces_to_close')
      .on(table.closesAt)
      .where(sql`${table.deletedAt} is null and ${table.closesAt} is not null`),
    index('traces_with_items_due').on(table.itemsDueAt).where(isNotNull(table.itemsDueAt)),
  ],
)

/**
 * Queries must use these exact conditions to be served from the partial indexes `traces_running`, `_to_review`,
 * `_left_out`, and `_negative`.
 */
export const isRunning = sql`${traces.status} = 'running'`

export const isOpenForReview = sql`${traces.needsReview} = 1`

/** Whether the queue skips a trace because of the project's policy. */
export const isLeftOut = sql`${traces.needsReview} = 2`

/** Whether a trace has spans to review, in the queue or not. */
export const mayNeedReview = sql<boolean>`(${traces.needsReview} <> 0)`.mapWith(Boolean)

export const isNegative = sql`${traces.isNegative} = 1`

/** One row per searchable metadata leaf of a trace. Each filter is one index seek, already sorted by time. */
export const traceFields = sqliteTable(
  'trace_fields',
  {
    projectKey: integer('project_key').notNull(),
    path: text('path').notNull(),
    value: text('value').notNull(),
    timestamp: integer('timestamp').notNull(),
    traceKey: integer('trace_key').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.path, table.value, table.timestamp, table.traceKey] })],
)
