/** A database that passes every call on to another one. */
export class ForwardingDatabase implements D1Database {
  protected readonly database: D1Database

  constructor(database: D1Database) {
    this.database = database
  }

  prepare(query: string): D1PreparedStatement {
    return this.database.prepare(query)
  }

  batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
    return this.database.batch<T>(statements)
  }

  exec(query: string): Promise<D1ExecResult> {
    return this.database.exec(query)
  }

  withSession(constraint?: D1SessionBookmark | D1SessionConstraint): D1DatabaseSession {
    return this.database.withSession(constraint)
  }

  dump(): Promise<ArrayBuffer> {
    return this.database.dump()
  }
}

/** A statement that uses `call` to pass every call on to another statement. */
export abstract class ForwardingStatement implements D1PreparedStatement {
  abstract bind(...values: unknown[]): D1PreparedStatement

  /** Makes a call on the other statement. */
  protected abstract call<Result>(make: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result>

  run<T = Record<string, unknown>>(): Promise<D1Result<T>> {
    return this.call(statement => statement.run<T>())
  }

  all<T = Record<string, unknown>>(): Promise<D1Result<T>> {
    return this.call(statement => statement.all<T>())
  }

  first<T = unknown>(column: string): Promise<T | null>
  first<T = Record<string, unknown>>(): Promise<T | null>
  first<T>(column?: string): Promise<T | null> {
    return this.call(statement => (column === undefined ? statement.first<T>() : statement.first<T>(column)))
  }

  raw<T = unknown[]>(options: { columnNames: true }): Promise<[string[], ...T[]]>
  raw<T = unknown[]>(options?: { columnNames?: false }): Promise<T[]>
  raw<T>(options?: { columnNames?: boolean }): Promise<T[]> | Promise<[string[], ...T[]]> {
    return options?.columnNames
      ? this.call(statement => statement.raw<T>({ columnNames: true }))
      : this.call(statement => statement.raw<T>())
  }
}
