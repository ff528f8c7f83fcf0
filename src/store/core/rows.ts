import { getTableColumns, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'

/*
 * Rows travel to D1 as one parameter, a JSON array of arrays that `json_each` expands. Which place a value has in its array,
 * and a column in its table, is known here alone: everywhere else both have names.
 */

/** A value of a row; undefined travels as null. */
type Cell = string | number | null | undefined

/** A kind of rows that statements read from a parameter. */
export interface RowSet<Name extends string> {
  /** A row as the parameter holds it. */
  encode: (row: Readonly<Record<Name, Cell>>) => Cell[]
  /** Many of them, as the parameter. */
  encodeAll: (rows: readonly Readonly<Record<Name, Cell>>[]) => string
  /** The table of the rows in a parameter. */
  from: (parameter: string | Placeholder, alias?: string) => SQL
  /** The columns of the row that a statement is at. */
  row: Readonly<Record<Name, SQL>>
  /** The same under another alias than `from` gives unasked. */
  rowOf: (alias: string) => Readonly<Record<Name, SQL>>
}

const ALIAS = 'item'

/** Declares rows by the names of their columns. */
export function rowSet<const Name extends string>(columns: readonly Name[]): RowSet<Name> {
  const encode = (row: Readonly<Record<Name, Cell>>) => columns.map(column => row[column])
  const rowOf = (alias: string): Readonly<Record<Name, SQL>> => {
    const places = columns.map((column, place) => [column, sql.raw(`${alias}.value ->> ${place}`)])
    return Object.fromEntries(places)
  }
  return {
    encode,
    encodeAll: rows => JSON.stringify(rows.map(encode)),
    from: (parameter, alias = ALIAS) => sql`json_each(${parameter}) as ${sql.raw(alias)}`,
    row: rowOf(ALIAS),
    rowOf,
  }
}

/** What a column of an inserted row becomes: an expression, or a value. */
type Inserted = SQL | SQLiteColumn | string | number | null

/** The query of an `insert … select`: what each column of the table becomes, for the rows of `from`. */
export function selectFor<Table extends SQLiteTable>(
  table: Table,
  values: Readonly<Record<keyof Table['_']['columns'], Inserted>>,
  from: SQL,
): SQL {
  const columns = Object.keys(getTableColumns(table)).map(name => written(values[name]))
  return sql`select ${sql.join(columns, sql`, `)} ${from}`
}

/** Expressions in a row, as for `group by`. */
export const listOf = (expressions: Readonly<Record<string, SQL | SQLiteColumn>>): SQL =>
  sql.join(
    Object.values(expressions).map(expression => sql`${expression}`),
    sql`, `,
  )

/** Of values, null and flags are written out, for a statement takes 100 parameters. */
const written = (value: Inserted | undefined): SQL =>
  value === null || value === 0 || value === 1 ? sql.raw(String(value)) : sql`${value}`
