import { isNotNull, isNull } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { PROBLEM_STATES } from '../../domain/problem.ts'

/*
 * What people and engines found wrong, by the step at fault, the error type, and the knowledge doc. '' means that
 * nobody named a type or doc. Steps have the names that pipelines send, except in `problem_ids`.
 */

/**
 * The cases of problems: one for each span with a current correction, and one for each trace that has no such span but
 * for which an engine found a cause. They follow from `reviews`, `spans`, and `attributions`, and are updated in the
 * batch that changes those rows.
 */
export const problemCases = sqliteTable(
  'problem_cases',
  {
    traceKey: integer('trace_key').notNull(),
    /** '' if the engine didn't blame a span. The case then applies to the trace as a whole. */
    spanId: text('span_id').notNull(),
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    docSlug: text('doc_slug').notNull(),
    /** Whether only an engine named the type. */
    isByEngine: integer('is_by_engine', { mode: 'boolean' }).notNull(),
    /** The time of the decision or, in a trace without a correction, of the engine's answer. */
    at: integer('at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.traceKey, table.spanId] }),
    index('problem_cases_by_problem').on(table.projectKey, table.stepId, table.errorType, table.docSlug, table.at),
  ],
)

/** The number of cases by day. All counts may drop to 0. */
export const problemDays = sqliteTable(
  'problem_days',
  {
    projectKey: integer('project_key').notNull(),
    /** A UTC day, in days since 1970. */
    day: integer('day').notNull(),
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    docSlug: text('doc_slug').notNull(),
    byReviewers: integer('by_reviewers').notNull(),
    byEngine: integer('by_engine').notNull(),
    /** How many of the cases are gone because their traces expired. */
    expiredByReviewers: integer('expired_by_reviewers').notNull(),
    expiredByEngine: integer('expired_by_engine').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId, table.errorType, table.docSlug] })],
)

/** Every problem that a project has had, with its id. `step_id` is a name under which the step was shown. */
export const problemIds = sqliteTable(
  'problem_ids',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    docSlug: text('doc_slug').notNull(),
    /**
     * UUIDv5 of `problem:<step>:<type>:<doc or ''>` in the project. Null until a request asks for an id that no row
     * has.
     */
    id: text('id'),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.stepId, table.errorType, table.docSlug] }),
    index('problem_ids_by_id').on(table.id).where(isNotNull(table.id)),
    index('problem_ids_unnamed').on(table.projectKey).where(isNull(table.id)),
  ],
)

/** What people decided about a problem. The first such decision creates the row. */
export const problems = sqliteTable(
  'problems',
  {
    projectKey: integer('project_key').notNull(),
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    docSlug: text('doc_slug').notNull(),
    isDismissed: integer('is_dismissed', { mode: 'boolean' }).notNull(),
    note: text('note'),
    /** A user's id. */
    assigneeId: text('assignee_id'),
    /** The prompt version that should fix it, and when somebody linked it. */
    candidateVersionId: text('candidate_version_id'),
    candidateAt: integer('candidate_at'),
    /**
     * `{experimentId, items, fixed}` as JSON: the result of the candidate's experiment while its items' results still
     * existed.
     */
    proof: text('proof'),
    /** The state that webhooks last reported. Null if it isn't known yet, because an earlier release wrote the row. */
    knownState: text('known_state', { enum: PROBLEM_STATES }),
    updatedAt: integer('updated_at').notNull(),
    /** Identifies the last change. */
    revision: text('revision').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.stepId, table.errorType, table.docSlug] })],
)
