import { isNotNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { OBSERVATION_TYPES } from '../../domain/fold.ts'
import type { JsonObject } from '../../domain/json.ts'
import { REVIEW_OUTCOMES } from '../../domain/review-state.ts'
import { SPAN_STATUSES } from '../../domain/span.ts'

/**
 * The root span is found by its id, which the trace's row holds; only the others need the index by trace. What a client
 * has not given yet is null. A trace that is known from telemetry alone has no root before a span without parent came, or
 * something that belongs to the whole.
 */
export const spans = sqliteTable(
  'spans',
  {
    id: text('id').notNull(),
    traceKey: integer('trace_key').notNull(),
    isRoot: integer('is_root', { mode: 'boolean' }).notNull(),
    /** Null or '': a span without parent, which hangs under the root. */
    parentId: text('parent_id'),
    stepId: text('step_id').notNull(),
    /** Of telemetry, with a fraction of microseconds. */
    timestamp: integer('timestamp').notNull(),
    promptVersionId: text('prompt_version_id'),
    metadata: text('metadata', { mode: 'json' }).$type<JsonObject>(),
    /** Whether an output other than null arrived: such spans are what there is to review. */
    hasOutput: integer('has_output', { mode: 'boolean' }).notNull().default(false),
    status: text('status', { enum: SPAN_STATUSES }),
    durationMs: integer('duration_ms'),
    /** Values given to the span itself, held as an observation's `data` is. Observations fold over them. */
    input: text('input'),
    inputRef: text('input_ref'),
    output: text('output'),
    outputRef: text('output_ref'),
    /** Changes with `output`: what a reviewer's `If-Match` compares. */
    outputRevision: text('output_revision'),
    /** Whether null arrived as an output, too: then only the fold can tell whether the span has one. */
    hasNullOutput: integer('has_null_output', { mode: 'boolean' }).notNull().default(false),
    /** How many decisions `reviews` has of it; the last one counts. */
    reviewNumber: integer('review_number').notNull().default(0),
    /** What the last decision left it as; null: unreviewed. */
    reviewState: text('review_state', { enum: REVIEW_OUTCOMES }),
    /** Who holds it for review (a user's id, or a key's that acts for none), and until when. */
    claimedBy: text('claimed_by'),
    claimedUntil: integer('claimed_until'),
    /** Whether it is no step of an AI pipeline: the queue leaves it out. */
    isGeneric: integer('is_generic', { mode: 'boolean' }).notNull().default(false),
    /** State given to the span itself: a JSON array of `[key, text, ref]`, each value held as an observation's `data` is. */
    state: text('state'),
    /** The object that such values lie in, as the reference to one of them: they are put together. */
    stateRef: text('state_ref'),
    /** Of a span from telemetry: which of several exports of it counts, the greatest. Null: a client's, whose fields stay. */
    exportRevision: text('export_revision'),
    /** Whether the output has changed since the last decision: such a span waits for review again. */
    isStale: integer('is_stale', { mode: 'boolean' }).notNull().default(false),
    /** When the service first heard of it; null: before it kept that. */
    receivedAt: integer('received_at'),
  },
  table => [
    primaryKey({ columns: [table.id, table.traceKey] }),
    index('spans_by_trace').on(table.traceKey).where(sql`${table.isRoot} = 0`),
    index('spans_reviewed').on(table.traceKey, table.reviewState).where(isNotNull(table.reviewState)),
  ],
)

/** What a query must say to be served from `spans_by_trace`, to the letter: a bound parameter would not match the index. */
export const isNoRoot = sql`${spans.isRoot} = 0`

export const observations = sqliteTable(
  'observations',
  {
    traceKey: integer('trace_key').notNull(),
    id: text('id').notNull(),
    /** Null: the root span. */
    spanId: text('span_id'),
    type: text('type', { enum: OBSERVATION_TYPES }).notNull(),
    stateKey: text('state_key'),
    /** JSON, or its first bytes where `dataRef` says that the whole lies in R2. */
    data: text('data').notNull(),
    dataRef: text('data_ref'),
    timestamp: integer('timestamp').notNull(),
    /** With a fraction that keeps the events of one batch in their order. */
    receivedAt: integer('received_at').notNull(),
  },
  table => [primaryKey({ columns: [table.traceKey, table.id] })],
)
