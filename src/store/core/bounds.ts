import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { PREVIEW_BYTES } from '../../limits.ts'

/*
 * Limits on how much of a query's result is sent to the Worker. The rows may not fit in an isolate's memory, and only
 * SQLite can measure them before they're sent.
 */

/** Text as a JSON string, in which one byte of the text may take up six. Null stays null. */
export const quotedJson = (text: SQLiteColumn | string): SQL => sql`nullif(json_quote(${text}), 'null')`

/** The total size of these columns or expressions over all rows, in bytes. */
export const bytesOf = (...texts: (SQLiteColumn | SQL)[]): SQL => {
  const bytes = texts.map(text => sql`coalesce(octet_length(${text}), 0)`)
  return sql`sum(${sql.join(bytes, sql` + `)})`
}

/** The running total of these columns' sizes in bytes, in the order in which SQLite reads the rows. */
export const bytesSoFar = (...texts: (SQLiteColumn | SQL)[]): SQL =>
  sql`${bytesOf(...texts)} over (rows unbounded preceding)`

/** A column's full text while `soFar` is within `maxBytes`; after that, only the beginning of the text. */
export const bounded = (column: SQLiteColumn, soFar: SQL, maxBytes: SQL, name: string) =>
  sql<string | null>`iif(${soFar} > ${maxBytes}, substr(${column}, 1, ${PREVIEW_BYTES}), ${column})`.as(name)
