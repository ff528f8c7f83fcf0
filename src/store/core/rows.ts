import { getTableColumns, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'

/*
 * Rows are sent to D1 as one parameter, a JSON array of arrays that `json_each` expands. Only this file deals with the
 * position of a value in its array or of a column in its table. All other code uses names.
 */

/** A value in a row. Undefined becomes null. */
type Cell = string | number | null | undefined

/** Rows that statements read from a parameter. */
export interface RowSet<Name extends string> {
  /** Encodes a row for the parameter. */
  encode: (row: Readonly<Record<Name, Cell>>) => Cell[]
  /** Encodes rows as the whole parameter. */
  encodeAll: (rows: readonly Readonly<Record<Name, Cell>>[]) => string
  /** The rows in the parameter or column, as a table for a `from` clause. */
  from: (parameter: string | Placeholder | SQL, alias?: string) => SQL
  /**
   * Like `from`, for rows with many or large columns. With `from`, `json_each` serializes a row again for each column
   * that's read from it. With `fromWide`, it does so only once, but the rows have no `key`.
   */
  fromWide: (parameter: string | Placeholder) => SQL
  /** The columns of the current row. */
  row: Readonly<Record<Name, SQL>>
  /** The same columns under an alias that was passed to `from`. */
  rowOf: (alias: string) => Readonly<Record<Name, SQL>>
}

const ALIAS = 'item'

/** Declares a row set by the names of its columns. */
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
    fromWide: parameter => sql`(
      with listed as materialized (select value from json_each(${parameter}) as ${sql.raw(ALIAS)}) select value from listed
    ) as ${sql.raw(ALIAS)}`,
    row: rowOf(ALIAS),
    rowOf,
  }
}

/** The value of a column in an inserted row: an expression or a constant. */
type Inserted = SQL | SQLiteColumn | string | number | null

/** The query of an `insert … select`. For every row of `from`, it selects a value for each of the table's columns. */
export function selectFor<Table extends SQLiteTable>(
  table: Table,
  values: Readonly<Record<keyof Table['_']['columns'], Inserted>>,
  from: SQL,
): SQL {
  const columns = Object.keys(getTableColumns(table)).map(name => literalOrBound(values[name]))
  return sql`select ${sql.join(columns, sql`, `)} ${from}`
}

/** A subquery that returns these values, which are bound as one parameter. */
export const valuesOf = (values: readonly (string | number)[]): SQL =>
  sql`(select item.value from json_each(${JSON.stringify(values)}) as item)`

/** Whether an expression has one of these values. */
export const isOneOf = (expression: SQL | SQLiteColumn, values: readonly (string | number)[]): SQL =>
  sql`${expression} in ${valuesOf(values)}`

/** A comma-separated list of expressions, such as for `group by`. */
export const sqlList = (expressions: Readonly<Record<string, SQL | SQLiteColumn>>): SQL =>
  sql.join(
    Object.values(expressions).map(expression => sql`${expression}`),
    sql`, `,
  )

/** Writes null, 0, and 1 as literals, because a statement can have at most 100 parameters. */
const literalOrBound = (value: Inserted | undefined): SQL =>
  value === null || value === 0 || value === 1 ? sql.raw(String(value)) : sql`${value}`
