import { type SQL, sql } from 'drizzle-orm'

/*
 * SQLite limits an expression's depth to 100. The depth of its subqueries counts too, except for those in a `from`
 * clause.
 */

/**
 * Whether `rows` returns a row. Adds little depth to the expression around it, no matter how deep the query itself is.
 */
export const existsShallow = (rows: SQL): SQL => sql`exists (select 1 from (${rows}))`

/** The same condition, in a form that adds little depth to the expression around it. */
export const shallow = (condition: SQL): SQL => existsShallow(sql`select 1 where ${condition}`)
