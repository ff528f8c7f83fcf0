import { isNotNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { FEEDBACK_SOURCES, type Labeler, type Rating } from '../../domain/feedback.ts'
import type { JsonObject } from '../../domain/json.ts'
import { DECISIONS, REVIEW_BASES, REVIEW_OUTCOMES } from '../../domain/review-state.ts'

export const feedback = sqliteTable(
  'feedback',
  {
    /** UUIDv5 of `feedback:<feedback_id>` in the project. */
    id: text('id').notNull(),
    traceKey: integer('trace_key').notNull(),
    /** Null for the root span. */
    spanId: text('span_id'),
    userId: text('user_id').notNull(),
    rating: text('rating', { mode: 'json' }).$type<Rating>(),
    comment: text('comment'),
    correction: text('correction', { mode: 'json' }).$type<JsonObject>(),
    /** The subject of the feedback, such as `helpfulness`. */
    name: text('name'),
    labeller: text('labeller', { mode: 'json' }).$type<Labeler>(),
    timestamp: integer('timestamp').notNull(),
    /** Has a fraction of a millisecond, like an observation's `receivedAt`. */
    receivedAt: integer('received_at').notNull(),
    /**
     * Identifies the write that created the row, so a retry of that write still reports the row as created. Later, it
     * identifies the last write that changed the row.
     */
    createdBy: text('created_by').notNull(),
    /** Whether a pipeline sent the feedback or a reviewer wrote it as a comment. */
    source: text('source', { enum: FEEDBACK_SOURCES }).notNull().default('api'),
  },
  table => [primaryKey({ columns: [table.id, table.traceKey] }), index('feedback_by_trace').on(table.traceKey)],
)

/**
 * Every decision ever made on a span, numbered from 1. Only this table contains approved values. The span's
 * `reviewNumber` identifies the current row.
 */
export const reviews = sqliteTable(
  'reviews',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    number: integer('number').notNull(),
    id: text('id').notNull(),
    projectKey: integer('project_key').notNull(),
    decision: text('decision', { enum: DECISIONS }).notNull(),
    /** The span's state after the decision. Null: unreviewed. */
    state: text('state', { enum: REVIEW_OUTCOMES }),
    /** The reviewer: a user's id, or the id of a key that acts for no user. */
    userId: text('user_id').notNull(),
    /** The time of the decision. An imported decision was made elsewhere, before the import. */
    createdAt: integer('created_at').notNull(),
    /** The judged output: its revision, and a hash of its value. */
    outputRevision: text('output_revision').notNull(),
    outputHash: text('output_hash').notNull(),
    /** The approved output, stored like an observation's `data`. Null if there is none. */
    approved: text('approved'),
    approvedRef: text('approved_ref'),
    comment: text('comment'),
    errorType: text('error_type'),
    /**
     * The step and prompt version that the decision is counted under: those of the span at the time of the decision (''
     * if it had none). Null if the decision was never counted.
     */
    stepId: text('step_id'),
    promptVersionId: text('prompt_version_id'),
    /** Null if the decision was made in this service. */
    importedAt: integer('imported_at'),
    /** The basis of the decision, if several people vote on the span. Null if it's one reviewer's own decision. */
    basis: text('basis', { enum: REVIEW_BASES }),
  },
  table => [
    primaryKey({ columns: [table.traceKey, table.spanId, table.number] }),
    index('reviews_by_time').on(table.projectKey, table.createdAt),
    index('reviews_with_error_type').on(table.projectKey, table.createdAt).where(isNotNull(table.errorType)),
    // The decisions that a watch may count. Other decisions don't write this index.
    index('reviews_by_version')
      .on(table.promptVersionId, table.createdAt)
      .where(sql`${table.promptVersionId} <> '' and ${table.state} is not null and ${table.importedAt} is null`),
  ],
)

/**
 * What several reviewers said about a span, one row per reviewer for each output and round. Each decision starts a new
 * round, so the current votes are those for the span's current `reviewNumber` and output. The votes of earlier rounds
 * are kept to measure agreement.
 */
export const votes = sqliteTable(
  'votes',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    /** The number of the span's decisions at the time of the vote. */
    round: integer('round').notNull(),
    /** The judged output: its revision, and a hash of its value. */
    outputRevision: text('output_revision').notNull(),
    outputHash: text('output_hash').notNull(),
    /** The reviewer: a user's id, or the id of a key that acts for no user. */
    userId: text('user_id').notNull(),
    /** Identifies the write that last changed the vote. */
    id: text('id').notNull(),
    projectKey: integer('project_key').notNull(),
    /** The span's step at the time of the first vote. */
    stepId: text('step_id').notNull(),
    /** `reset` if the reviewer withdrew the vote. */
    decision: text('decision', { enum: DECISIONS }).notNull(),
    /** The correction, stored like an observation's `data`. Null if it isn't a correction. */
    approved: text('approved'),
    approvedRef: text('approved_ref'),
    /** A hash of the correction's value. */
    approvedHash: text('approved_hash'),
    comment: text('comment'),
    errorType: text('error_type'),
    createdAt: integer('created_at').notNull(),
    /** How many reviewers the round needs: the policy's number at its first vote. */
    reviewers: integer('reviewers').notNull(),
    /** What the reviewer said first, before changing or withdrawing it, and under which policy. */
    firstDecision: text('first_decision', { enum: DECISIONS }).notNull(),
    firstErrorType: text('first_error_type'),
    firstAt: integer('first_at').notNull(),
    isBlind: integer('is_blind', { mode: 'boolean' }).notNull(),
    /**
     * Whether the policy's sample includes the span. False if the span isn't in the sample, even if one of the policy's
     * rules selected it.
     */
    isSampled: integer('is_sampled', { mode: 'boolean' }).notNull(),
  },
  table => [
    primaryKey({ columns: [table.traceKey, table.spanId, table.round, table.outputRevision, table.userId] }),
    // Contains the votes that `today` counts.
    index('votes_by_time').on(table.projectKey, table.firstAt, table.userId, table.decision),
  ],
)

/**
 * The spans on which enough reviewers voted without agreeing. A row only helps lists find the span. If the output has
 * changed since, the votes have ended, and the span is no longer disputed. The next vote or decision then deletes the
 * row.
 */
export const disputes = sqliteTable(
  'disputes',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    projectKey: integer('project_key').notNull(),
    /** The time of the vote that completed the round. */
    disputedAt: integer('disputed_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.traceKey, table.spanId] }),
    index('disputes_by_time').on(table.projectKey, table.disputedAt, table.traceKey, table.spanId),
  ],
)

/** Claims on spans that several people review, besides the one in the span's row. */
export const reviewClaims = sqliteTable(
  'review_claims',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    /** A user's id, or the id of a key that acts for no user. */
    userId: text('user_id').notNull(),
    until: integer('until').notNull(),
  },
  table => [primaryKey({ columns: [table.traceKey, table.spanId, table.userId] })],
)

/**
 * Decisions that agents suggest, at most one per agent and span. A suggestion has no effect until a person decides. It
 * applies only as long as the judged output is the span's current output; the next suggestion on the span deletes
 * outdated suggestions.
 */
export const suggestions = sqliteTable(
  'suggestions',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    /** The agent: a user's id, or the id of a key that acts for no user. */
    userId: text('user_id').notNull(),
    id: text('id').notNull(),
    createdAt: integer('created_at').notNull(),
    decision: text('decision', { enum: DECISIONS }).notNull(),
    /** The revision of the output that the agent judged. */
    outputRevision: text('output_revision').notNull(),
    /** The correction, stored like an observation's `data`. Null if it isn't a correction. */
    approved: text('approved'),
    approvedRef: text('approved_ref'),
    /** A hash of the correction's value, which shows whether the agent repeats itself. */
    approvedHash: text('approved_hash'),
    comment: text('comment'),
    errorType: text('error_type'),
  },
  table => [primaryKey({ columns: [table.traceKey, table.spanId, table.userId] })],
)
