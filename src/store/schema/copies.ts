import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/*
 * These two tables track how changes to the `copied` tables get from the control database to the others. Both stay
 * empty if a deployment has only one database.
 */

/** The rows of `copied` tables that have changed, in order. Triggers write them in the control database. */
export const copiedChanges = sqliteTable(
  'copied_changes',
  {
    sequence: integer('sequence').primaryKey({ autoIncrement: true }),
    organizationKey: integer('organization_key').notNull(),
    /** The table's name in SQL. */
    table: text('table_name').notNull(),
    /** The row's primary key, as a JSON array of its columns' values. */
    row: text('row_key').notNull(),
  },
  table => [index('copied_changes_by_organization').on(table.organizationKey, table.sequence)],
)

/** How up to date a database's copies are: for each organization, the last change that they contain. */
export const copies = sqliteTable(
  'copies',
  {
    /** 0 for rows that no longer belong to an organization. */
    organizationKey: integer('organization_key').primaryKey(),
    sequence: integer('sequence').notNull(),
  },
  table => [index('copies_by_sequence').on(table.sequence)],
)
