import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { PREVIEW_BYTES } from '../../limits.ts'

/*
 * How much of what a query finds travels to the Worker: its rows may hold more than an isolate does, and only SQLite knows
 * before they are sent.
 */

/** A text as JSON spells it, where a byte may become six; null stays null. */
export const spelled = (text: SQLiteColumn | string): SQL => sql`nullif(json_quote(${text}), 'null')`

/** The bytes of these columns, or texts made of them, in all rows together. */
export const bytesOf = (...texts: (SQLiteColumn | SQL)[]): SQL => {
  const bytes = texts.map(text => sql`coalesce(octet_length(${text}), 0)`)
  return sql`sum(${sql.join(bytes, sql` + `)})`
}

/** The bytes of these columns in a row and in all that SQLite read before it. */
export const bytesSoFar = (...texts: (SQLiteColumn | SQL)[]): SQL =>
  sql`${bytesOf(...texts)} over (rows unbounded preceding)`

/** Rows with a column's whole text while what was read fits `maxBytes`, after that with its beginning. */
export const bounded = (column: SQLiteColumn, soFar: SQL, maxBytes: SQL, name: string) =>
  sql<string | null>`iif(${soFar} > ${maxBytes}, substr(${column}, 1, ${PREVIEW_BYTES}), ${column})`.as(name)
