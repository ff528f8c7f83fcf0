import { fillPlaceholders, type GetColumnData, type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { type Deadline, withRetry } from './deadline.ts'
import { ForwardingDatabase, ForwardingStatement } from './forwarding.ts'

export type Database = ReturnType<typeof openDatabase>

/** D1 behind drizzle. `withRetry` limits the time of each round trip and retries it. */
export const openDatabase = (database: D1Database, deadline: Deadline) =>
  drizzle(new RetryingDatabase(database, deadline))

/** A query that drizzle built. */
interface Query<Result = unknown> extends PromiseLike<Result> {
  toSQL: () => { sql: string; params: unknown[] }
}

/**
 * Runs queries in one round trip and returns D1's rows unchanged, because drizzle takes longer to map many rows than
 * SQLite takes to read them. Each field must be `named` or an expression aliased to the field's name.
 */
export async function readPlain<const Queries extends readonly Query<unknown[]>[]>(
  { $client: client }: Database,
  queries: Queries,
): Promise<{ [Index in keyof Queries]: Awaited<Queries[Index]> }> {
  const rows = (await client.batch(prepared(client, queries))).map(({ results }) => results)
  // Fields from `named` need no mapping, so D1's rows already have the selected shape.
  return rows as { [Index in keyof Queries]: Awaited<Queries[Index]> }
}

/** Runs several lists of queries in one round trip, as `readPlain` does. Returns the rows of each list's queries. */
export async function readLists<const Lists extends readonly (readonly Query<unknown[]>[])[]>(
  database: Database,
  lists: Lists,
): Promise<{ [Index in keyof Lists]: Awaited<Lists[Index][number]>[] }> {
  const rows: unknown[][] = [...(await readPlain(database, lists.flat()))]
  // There's one entry in `rows` for each query, in order.
  return lists.map(({ length }) => rows.splice(0, length)) as {
    [Index in keyof Lists]: Awaited<Lists[Index][number]>[]
  }
}

/** A query that drizzle built, or a `Template` with its values. */
type Statement = Pick<Query, 'toSQL'> | D1PreparedStatement

const prepared = (client: Database['$client'], queries: readonly Statement[]): D1PreparedStatement[] =>
  queries.map(query => {
    if (!('toSQL' in query)) return query
    const { sql, params } = query.toSQL()
    return client.prepare(sql).bind(...params)
  })

/** Runs any number of statements as one batch and returns the rows of the last one. Its fields must be `named`. */
export async function runLast<Row>(
  { $client: client }: Database,
  statements: readonly [...Statement[], Query<Row[]>],
): Promise<Row[]> {
  const results = await client.batch(prepared(client, statements))
  // The fields need no mapping, as in `readPlain`.
  return (results.at(-1)?.results ?? []) as Row[]
}

/**
 * A query whose SQL text never changes. It's built only once, because building a query is most of the Worker's work in
 * a small request. Its values are `sql.placeholder`s, and its fields are `named`, as for `readPlain`.
 */
export class Template<Result> {
  readonly #build: (database: Database) => Query<Result>
  #text: ReturnType<Query['toSQL']> | undefined

  constructor(build: (database: Database) => Query<Result>) {
    this.#build = build
  }

  /** The statement to put in a batch. `values` has the values by placeholder name. */
  with(database: Database, values: Record<string, unknown>): D1PreparedStatement {
    this.#text ??= this.#build(database).toSQL()
    const { sql, params } = this.#text
    return database.$client.prepare(sql).bind(...fillPlaceholders(params, values))
  }

  /** The rows in the result that a batch returned for this statement. */
  rowsOf(result: D1Result | undefined): Result | [] {
    // The fields need no mapping, as in `readPlain`.
    return (result?.results ?? []) as Result | []
  }
}

/**
 * Aliases columns to their field names, for `readPlain`. Only works for columns whose values need no mapping: text and
 * numbers.
 */
export function named<Columns extends Record<string, SQLiteColumn>>(columns: Columns): NamedFields<Columns> {
  const fields = Object.entries(columns).map(([name, column]) => [name, sql`${column}`.as(name)])
  return Object.fromEntries(fields)
}

type NamedFields<Columns extends Record<string, SQLiteColumn>> = {
  [Name in keyof Columns]: GetColumnData<Columns[Name]> extends string | number | null
    ? SQL.Aliased<GetColumnData<Columns[Name]>>
    : never
}

class RetryingDatabase extends ForwardingDatabase {
  readonly #deadline: Deadline

  constructor(database: D1Database, deadline: Deadline) {
    super(database)
    this.#deadline = deadline
  }

  override prepare(query: string): D1PreparedStatement {
    return new RetryingStatement(super.prepare(query), this.#deadline)
  }

  override batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
    const bare = statements.map(statement => (statement instanceof RetryingStatement ? statement.bare : statement))
    return withRetry(this.#deadline, () => super.batch<T>(bare))
  }

  override exec(query: string): Promise<D1ExecResult> {
    return withRetry(this.#deadline, () => super.exec(query))
  }
}

class RetryingStatement extends ForwardingStatement {
  readonly bare: D1PreparedStatement
  readonly #deadline: Deadline

  constructor(bare: D1PreparedStatement, deadline: Deadline) {
    super()
    this.bare = bare
    this.#deadline = deadline
  }

  override bind(...values: unknown[]): D1PreparedStatement {
    return new RetryingStatement(this.bare.bind(...values), this.#deadline)
  }

  protected override call<Result>(make: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result> {
    return withRetry(this.#deadline, () => make(this.bare))
  }
}
