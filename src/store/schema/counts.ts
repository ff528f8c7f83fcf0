import { isNotNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** How many decisions are in force that were made on a day, by what they count under. Some rows count none any more. */
export const reviewDays = sqliteTable(
  'review_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    stepId: text('step_id').notNull(),
    /** '': none. */
    promptVersionId: text('prompt_version_id').notNull(),
    userId: text('user_id').notNull(),
    /** The error type that the decision named; '': none. */
    errorType: text('error_type').notNull(),
    accepted: integer('accepted').notNull(),
    corrected: integer('corrected').notNull(),
  },
  table => [
    primaryKey({
      columns: [table.projectKey, table.day, table.stepId, table.promptVersionId, table.userId, table.errorType],
    }),
    // A row more for the first of a day alone: what counts is in no index.
    index('review_days_by_version').on(table.promptVersionId).where(sql`${table.promptVersionId} <> ''`),
  ],
)

/** How many traces' last answer of an engine was given on a day, by its error type and the step that it blames. */
export const answerDays = sqliteTable(
  'answer_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    /** '': none. */
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    answers: integer('answers').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId, table.errorType] })],
)

/** How many spans with an output the traces of a day have, by step, when cron last counted them. */
export const outputDays = sqliteTable(
  'output_days',
  {
    projectKey: integer('project_key').notNull(),
    /** Of the traces' own timestamps. */
    day: integer('day').notNull(),
    /** '': steps past as many as are counted one by one. */
    stepId: text('step_id').notNull(),
    outputs: integer('outputs').notNull(),
    reviewed: integer('reviewed').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId] })],
)

/** The days that have traces: when their outputs were counted, and when they are to be counted again. */
export const countedDays = sqliteTable(
  'counted_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    /** When the last whole count began; null: there was none yet. */
    countedAt: integer('counted_at'),
    /** Until when it is not counted again, whatever changes: a large day rests longer. */
    restsUntil: integer('rests_until').notNull(),
    /** When cron counts, or goes on counting; null: nothing is expected to change. */
    dueAt: integer('due_at'),
    /** Whether something changed of which the last count, or the one under way, may not know. */
    isChanged: integer('is_changed', { mode: 'boolean' }).notNull(),
    /** A count under way, a `CountProgress` as JSON; null: none. */
    progress: text('progress'),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.day] }),
    index('counted_days_due').on(table.dueAt).where(isNotNull(table.dueAt)),
  ],
)
