import { isNotNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { OBSERVATION_TYPES } from '../../domain/fold.ts'
import type { JsonObject } from '../../domain/json.ts'
import { REVIEW_OUTCOMES } from '../../domain/review-state.ts'
import { SPAN_STATUSES } from '../../domain/span.ts'

/**
 * The trace's row contains the root span's id, so only the other spans need to be in the index by trace. Fields that a
 * client hasn't sent yet are null. A trace known only from telemetry has no root until a span without a parent, or data
 * that belongs to the whole trace, arrives.
 */
export const spans = sqliteTable(
  'spans',
  {
    id: text('id').notNull(),
    traceKey: integer('trace_key').notNull(),
    isRoot: integer('is_root', { mode: 'boolean' }).notNull(),
    /** If this is null or '', the span has no parent and appears under the root. */
    parentId: text('parent_id'),
    stepId: text('step_id').notNull(),
    /** With fractional milliseconds if it came from telemetry. */
    timestamp: integer('timestamp').notNull(),
    promptVersionId: text('prompt_version_id'),
    metadata: text('metadata', { mode: 'json' }).$type<JsonObject>(),
    /** Whether a non-null output arrived. Only such spans need review. */
    hasOutput: integer('has_output', { mode: 'boolean' }).notNull().default(false),
    status: text('status', { enum: SPAN_STATUSES }),
    durationMs: integer('duration_ms'),
    /** Values given to the span itself, stored like an observation's `data`. Observations are folded over them. */
    input: text('input'),
    inputRef: text('input_ref'),
    output: text('output'),
    outputRef: text('output_ref'),
    /** Changes whenever `output` does. A reviewer's `If-Match` is compared with it. */
    outputRevision: text('output_revision'),
    /** Whether a null output arrived. If a non-null one did too, only folding shows whether the span has an output. */
    hasNullOutput: integer('has_null_output', { mode: 'boolean' }).notNull().default(false),
    /** The number of its decisions in `reviews`. The last one is current. */
    reviewNumber: integer('review_number').notNull().default(0),
    /** The span's state after the last decision. Null: unreviewed. */
    reviewState: text('review_state', { enum: REVIEW_OUTCOMES }),
    /** Grows with each vote on the span. 0: nobody has voted on it. */
    voteNumber: integer('vote_number').notNull().default(0),
    /** Who has claimed it for review (a user's id, or the id of a key that acts for no user), and until when. */
    claimedBy: text('claimed_by'),
    claimedUntil: integer('claimed_until'),
    /** How many people review it, as of its last claim. Null: one. */
    reviewers: integer('reviewers'),
    /** True if nobody reviews the span, because it isn't a step of an AI pipeline or its output is a vector. */
    isGeneric: integer('is_generic', { mode: 'boolean' }).notNull().default(false),
    /**
     * Whether the span is offered for review only if it's the root. This is the case for chains and retrievers. See
     * `domain/step-kind.ts`.
     */
    isSupporting: integer('is_supporting', { mode: 'boolean' }).notNull().default(false),
    /**
     * State given to the span itself: a JSON array of `[key, text, ref]`, each value stored like an observation's
     * `data`.
     */
    state: text('state'),
    /** A reference to one of these values in R2. All of them share one object. */
    stateRef: text('state_ref'),
    /**
     * The revision of a span from telemetry. If a span is exported several times, the greatest revision wins. Null if a
     * client sent the span. Exports then don't overwrite the client's fields.
     */
    exportRevision: text('export_revision'),
    /** Whether the output has changed since the last decision. If so, the span is waiting for review again. */
    isStale: integer('is_stale', { mode: 'boolean' }).notNull().default(false),
    model: text('model'),
    provider: text('provider'),
    /** A `TokenUsage`. */
    usage: text('usage'),
    costUsd: real('cost_usd'),
    /** When the service first received it. Null for spans from before this column existed. */
    receivedAt: integer('received_at'),
    /**
     * The `sharedTextHash` of its output. Null if it has none, or if it's a tool below the root. Negative if a
     * correction of it can't be converted to the root's form, so the span and the root are reviewed separately.
     */
    textHash: integer('text_hash'),
    /** The observed output whose hash is `textHash`. Null if `textHash` is the hash of the span's own output. */
    textId: text('text_id'),
    /**
     * Whether an agent has ever suggested a decision on the span. If not, reads of the span skip the lookup for
     * suggestions.
     */
    hasSuggestions: integer('has_suggestions', { mode: 'boolean' }).notNull().default(false),
  },
  table => [
    primaryKey({ columns: [table.id, table.traceKey] }),
    index('spans_by_trace').on(table.traceKey).where(sql`${table.isRoot} = 0`),
    index('spans_reviewed').on(table.traceKey, table.reviewState).where(isNotNull(table.reviewState)),
    index('spans_by_model_use')
      .on(table.traceKey, table.parentId, table.model, table.usage, table.costUsd)
      .where(sql`(${table.model} is not null or ${table.usage} is not null or ${table.costUsd} is not null)`),
  ],
)

/**
 * Queries must use this exact condition to be served from `spans_by_trace`, because a bound parameter wouldn't match
 * the index.
 */
export const isNotRoot = sql`${spans.isRoot} = 0`

export const observations = sqliteTable(
  'observations',
  {
    traceKey: integer('trace_key').notNull(),
    id: text('id').notNull(),
    /** Null: the root span. */
    spanId: text('span_id'),
    type: text('type', { enum: OBSERVATION_TYPES }).notNull(),
    stateKey: text('state_key'),
    /** The JSON, or its first bytes if `dataRef` refers to the whole value in R2. */
    data: text('data').notNull(),
    dataRef: text('data_ref'),
    timestamp: integer('timestamp').notNull(),
    /** The fraction keeps the events of one batch in order. */
    receivedAt: integer('received_at').notNull(),
    /** The `sharedTextHash` of an output. */
    textHash: integer('text_hash'),
  },
  table => [primaryKey({ columns: [table.traceKey, table.id] })],
)
