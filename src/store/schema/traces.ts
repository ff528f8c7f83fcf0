import { isNotNull, isNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { Derivation } from '../../domain/derivation.ts'
import type { JsonObject } from '../../domain/json.ts'
import { TRACE_STATUSES } from '../../domain/trace-status.ts'

/**
 * One row per creation of a `trace_id`. A deleted trace's row stays as a tombstone until its children are purged; the
 * same `trace_id` may have a live row beside it.
 */
export const traces = sqliteTable(
  'traces',
  {
    /** `newKeys`, never given out again: what a late write or purge still holds must not be another trace's. */
    key: integer('key').primaryKey(),
    /** UUIDv5 of `trace:<trace_id>` in the project. */
    id: text('id').notNull(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    /** The client's `trace_id`. */
    traceId: text('trace_id').notNull(),
    /** Here, so that a reader who has the trace's id reaches the root span in the same round trip. */
    rootSpanId: text('root_span_id').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: TRACE_STATUSES }).notNull(),
    /** The client's timestamp. */
    timestamp: integer('timestamp').notNull(),
    durationMs: integer('duration_ms'),
    metadata: text('metadata', { mode: 'json' }).$type<JsonObject>().notNull(),
    /** The metadata fields that completing calls gave: running calls do not overwrite them. */
    completedFields: text('completed_fields', { mode: 'json' }).$type<readonly string[]>().notNull(),
    /** Changes with every write of this row: what a write that was computed from an earlier read compares. */
    revision: text('revision').notNull(),
    receivedAt: integer('received_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    deletedAt: integer('deleted_at'),
    /** When cron sends the purge of a deleted trace again, if no job works on it before; null while it lives. */
    purgeDueAt: integer('purge_due_at'),
    /** False once every span with an output has a review: such traces are no longer looked through for what to review. */
    needsReview: integer('needs_review', { mode: 'boolean' }).notNull().default(true),
    /** Whether some feedback on it is negative. */
    isNegative: integer('is_negative', { mode: 'boolean' }).notNull().default(false),
    /** Whether a client posted it: its word counts then. False: it is known from telemetry alone. */
    isPosted: integer('is_posted', { mode: 'boolean' }).notNull().default(true),
    /** Where what telemetry says of it came from; null where none ever did. */
    derivation: text('derivation', { mode: 'json' }).$type<Derivation>(),
    /** When it counts as completed although its root never came; null where nothing is waited for. */
    closesAt: integer('closes_at'),
    /** Whether all that is known of it are spans that are no step of an AI pipeline: lists leave it out. */
    isGeneric: integer('is_generic', { mode: 'boolean' }).notNull().default(false),
    /** Of a deleted trace: whether its purge takes what was decided on it out of the counts. Expiry leaves them as they are. */
    isUncounted: integer('is_uncounted', { mode: 'boolean' }).notNull().default(false),
  },
  table => [
    uniqueIndex('traces_by_id').on(table.id).where(isNull(table.deletedAt)),
    index('traces_by_time').on(table.projectKey, table.timestamp, table.id).where(isNull(table.deletedAt)),
    index('traces_by_name').on(table.projectKey, table.name, table.timestamp, table.id).where(isNull(table.deletedAt)),
    // Of those in flight alone: a completion leaves it, which D1 does not bill.
    index('traces_running')
      .on(table.projectKey, table.status, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.status} = 'running'`),
    index('traces_to_purge').on(table.purgeDueAt).where(isNotNull(table.purgeDueAt)),
    index('traces_to_review')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.needsReview} = 1`),
    index('traces_negative')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.isNegative} = 1`),
    index('traces_to_close')
      .on(table.closesAt)
      .where(sql`${table.deletedAt} is null and ${table.closesAt} is not null`),
  ],
)

/** What a query must say to be served from the partial indexes `traces_running`, `_to_review` and `_negative`, to the letter. */
export const isRunning = sql`${traces.status} = 'running'`

export const isOpenForReview = sql`${traces.needsReview} = 1`

export const isNegative = sql`${traces.isNegative} = 1`

/** One row per searchable metadata leaf of a trace: a seek per filter, newest first for free. */
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
