import { type SQL, sql } from 'drizzle-orm'

/*
 * SQLite limits an expression's depth to 100, and counts the depth of its subqueries, except for the ones in a `from`.
 */

/** Whether a row exists. No matter how deep the rows' conditions are, they add little to the expression around it. */
export const existsShallow = (rows: SQL): SQL => sql`exists (select 1 from (${rows}))`

/** A condition that adds little depth to the expression around it. */
export const shallow = (condition: SQL): SQL => existsShallow(sql`select 1 where ${condition}`)
