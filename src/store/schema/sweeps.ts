import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** The progress of a pass that cron does in pieces. */
export const sweeps = sqliteTable('sweeps', {
  name: text('name').primaryKey(),
  /** Where the next piece begins; '' at the start of a pass. */
  cursor: text('cursor').notNull(),
  dueAt: integer('due_at').notNull(),
})
