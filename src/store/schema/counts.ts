import { isNotNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/* The counts for insights, which would otherwise have to read all traces. A `day` is a UTC day, in days since 1970. */

/**
 * The number of current decisions that were made on a day, by the dimensions that insights show. Both counts may drop
 * to 0.
 */
export const reviewDays = sqliteTable(
  'review_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    stepId: text('step_id').notNull(),
    /** '' if there is none. */
    promptVersionId: text('prompt_version_id').notNull(),
    userId: text('user_id').notNull(),
    /** The error type that the decisions name; '' if there is none. */
    errorType: text('error_type').notNull(),
    accepted: integer('accepted').notNull(),
    corrected: integer('corrected').notNull(),
    /** How many of these decisions follow from votes. Their reviewer is the first voter. */
    byVotes: integer('by_votes').notNull().default(0),
    /** How many of the decisions are gone because their traces expired. */
    expiredAccepted: integer('expired_accepted').notNull().default(0),
    expiredCorrected: integer('expired_corrected').notNull().default(0),
  },
  table => [
    primaryKey({
      columns: [table.projectKey, table.day, table.stepId, table.promptVersionId, table.userId, table.errorType],
    }),
    // A decision never changes these columns, so it doesn't write this index.
    index('review_days_expired')
      .on(table.projectKey, table.day)
      .where(sql`${table.expiredAccepted} + ${table.expiredCorrected} > 0`),
    // Only a day's first decision writes this index, because the counts aren't in it.
    index('review_days_by_version').on(table.promptVersionId).where(sql`${table.promptVersionId} <> ''`),
  ],
)

/** Queries must use this exact condition to be served from `review_days_expired`. */
export const isAnyExpired = sql`${reviewDays.expiredAccepted} + ${reviewDays.expiredCorrected} > 0`

/** The number of traces whose latest engine answer was given on a day, by error type and blamed step. */
export const answerDays = sqliteTable(
  'answer_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    /** '' if there is none. */
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    answers: integer('answers').notNull(),
    /** How many of the answers are gone because their traces expired. */
    expired: integer('expired').notNull().default(0),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.day, table.stepId, table.errorType] }),
    // An answer never changes this column, so it doesn't write this index.
    index('answer_days_expired').on(table.projectKey, table.day).where(sql`${table.expired} > 0`),
  ],
)

/** Queries must use this exact condition to be served from `answer_days_expired`. */
export const isAnyAnswerExpired = sql`${answerDays.expired} > 0`

/** The number of spans that have an output, by day and step, as of cron's last count. */
export const outputDays = sqliteTable(
  'output_days',
  {
    projectKey: integer('project_key').notNull(),
    /** The day of the traces' own timestamps. */
    day: integer('day').notNull(),
    /** '' stands in for all steps past the limit of steps that are counted separately. */
    stepId: text('step_id').notNull(),
    outputs: integer('outputs').notNull(),
    reviewed: integer('reviewed').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId] })],
)

/**
 * The tokens, cost, and durations of the spans with an output to review and of the model calls, by day, step, and
 * prompt version, as of cron's last count.
 */
export const useDays = sqliteTable(
  'use_days',
  {
    projectKey: integer('project_key').notNull(),
    /** The day of the traces' own timestamps. */
    day: integer('day').notNull(),
    /** '' stands in for everything past the limit of versions that are counted separately. */
    stepId: text('step_id').notNull(),
    /** '' if there is none. */
    promptVersionId: text('prompt_version_id').notNull(),
    /** Null if no span has any usage. */
    inputTokens: integer('input_tokens'),
    outputTokens: integer('output_tokens'),
    /** Billionths of a US dollar. Null if no span has a cost. */
    costNanoUsd: integer('cost_nano_usd'),
    /** A `DurationHistogram` as JSON. */
    durations: text('durations').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId, table.promptVersionId] })],
)

/** The days that have traces: when their outputs were last counted, and when they're due again. */
export const countedDays = sqliteTable(
  'counted_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    /** When the last complete count began. Null if there hasn't been one yet. */
    countedAt: integer('counted_at'),
    /** The day isn't counted again before this time, regardless of changes. Days with many traces wait longer. */
    restsUntil: integer('rests_until').notNull(),
    /** When cron starts or continues the count. Null if no change is expected. */
    dueAt: integer('due_at'),
    /** Whether there was a change that the last count or the current one may have missed. */
    isChanged: integer('is_changed', { mode: 'boolean' }).notNull(),
    /** The current count's progress: a `CountProgress` as JSON. Null if no count is in progress. */
    progress: text('progress'),
    /** Whether retention has deleted traces from this day. If so, its rows in `use_days` stay as they are. */
    isUseKept: integer('is_use_kept', { mode: 'boolean' }).notNull().default(false),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.day] }),
    index('counted_days_due').on(table.dueAt).where(isNotNull(table.dueAt)),
  ],
)
