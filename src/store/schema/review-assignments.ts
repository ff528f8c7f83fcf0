import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Who should review which spans. A row stays after the decision, because the span may have to be reviewed again. */
export const reviewAssignments = sqliteTable(
  'review_assignments',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    /** A user. Keys that act for no user have no assignments. */
    userId: text('user_id').notNull(),
    projectKey: integer('project_key').notNull(),
    /** Null: no due date. */
    dueAt: integer('due_at'),
    assignedAt: integer('assigned_at').notNull(),
    /** Whether the span is undecided. 0 is always right, but 1 may be outdated, so queries also check the span. */
    isOpen: integer('is_open', { mode: 'boolean' }).notNull().default(true),
  },
  table => [
    primaryKey({ columns: [table.traceKey, table.spanId, table.userId] }),
    // Finds a user's open assignments, no matter how many traces the project has.
    index('review_assignments_open').on(table.projectKey, table.userId, table.dueAt).where(sql`${table.isOpen} = 1`),
  ],
)
