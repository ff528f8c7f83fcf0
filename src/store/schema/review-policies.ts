import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Which of a project's outputs are reviewed. Projects without a row have no policy: everything is reviewed. */
export const reviewPolicies = sqliteTable(
  'review_policies',
  {
    projectKey: integer('project_key').primaryKey(),
    alwaysNegative: integer('always_negative', { mode: 'boolean' }).notNull(),
    alwaysError: integer('always_error', { mode: 'boolean' }).notNull(),
    alwaysLowConfidence: integer('always_low_confidence', { mode: 'boolean' }).notNull(),
    updatedAt: integer('updated_at').notNull(),
    /** Changes whenever the policy changes or one of the project's steps is renamed. */
    revision: text('revision').notNull(),
    /** When cron continues its pass over the project's traces. */
    passDueAt: integer('pass_due_at').notNull(),
    /**
     * Whether the pass is checking the traces that an earlier revision left out, newest first. The queue also reads
     * such traces until the pass has checked them. If false, the pass looks for traces to leave out.
     */
    isPassOverLeftOut: integer('is_pass_over_left_out', { mode: 'boolean' }).notNull(),
    /** The place of the last trace that the pass looked at. */
    passTimestamp: integer('pass_timestamp').notNull(),
    passTraceId: text('pass_trace_id').notNull(),
  },
  table => [index('review_policies_due').on(table.passDueAt)],
)

/** How the outputs of one step are reviewed. */
export const reviewPolicySteps = sqliteTable(
  'review_policy_steps',
  {
    projectKey: integer('project_key').notNull(),
    /** One of the step's names, or '' for the steps without a row of their own. */
    stepId: text('step_id').notNull(),
    sample: real('sample').notNull(),
    reviewers: integer('reviewers').notNull(),
    isBlind: integer('is_blind', { mode: 'boolean' }).notNull(),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.stepId] }),
    // Shows in one lookup whether any step has a blind policy.
    index('review_policy_steps_blind').on(table.projectKey).where(sql`${table.isBlind} = 1`),
  ],
)
