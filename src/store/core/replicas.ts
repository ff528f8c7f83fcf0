import { type Bookmark, formatBookmark } from '../../domain/bookmark.ts'
import { ForwardingDatabase, ForwardingStatement } from './forwarding.ts'
import { boundShards, databaseOf, type StoreBindings } from './store.ts'

/**
 * Gives one request access to databases that have replicas, through D1's sessions. Tracks the bookmark of everything
 * that the request has read and written.
 */
export class ReplicatedDatabases<Bindings extends StoreBindings> {
  readonly #bindings: Bindings
  readonly #bookmark: Map<string, string>

  /** `sent` is the bookmark that came with the request. No older data may be read. */
  constructor(bindings: Bindings, sent: Bookmark) {
    this.#bindings = bindings
    this.#bookmark = new Map(sent)
  }

  /** Bindings that send every call to the primary. */
  primary(): Bindings {
    return this.#replaced((name, database) => new SessionDatabase(database, this.#noting(name), 'each'))
  }

  /** Bindings that read from the nearest replica that isn't older than the bookmark. Writes go to the primary. */
  nearest(): Bindings {
    return this.#replaced((name, database) => {
      const session = database.withSession(this.#bookmark.get(name) ?? 'first-unconstrained')
      return new SessionDatabase(database, this.#noting(name), session)
    })
  }

  /**
   * The value for the response's bookmark header. Undefined if the request neither sent a bookmark nor called a
   * database.
   */
  bookmark(): string | undefined {
    return this.#bookmark.size === 0 ? undefined : formatBookmark(this.#bookmark)
  }

  /** Each database has its own sessions and its own point in the bookmark. */
  #replaced(replace: (name: string, database: D1Database) => D1Database): Bindings {
    const shards = [0, ...boundShards(this.#bindings)]
    const replaced = shards.map(shard => {
      const name = shard === 0 ? 'DB' : `DB_${shard}`
      return [name, replace(name, databaseOf(this.#bindings, shard))]
    })
    return { ...this.#bindings, ...Object.fromEntries(replaced) }
  }

  #noting(name: string): (point: string | null) => void {
    return point => {
      if (point !== null && point > (this.#bookmark.get(name) ?? '')) this.#bookmark.set(name, point)
    }
  }
}

/**
 * A database that makes all its calls in one session or, with `each`, makes every call in a new session at the primary.
 */
class SessionDatabase extends ForwardingDatabase {
  readonly #note: (point: string | null) => void
  readonly #session: D1DatabaseSession | 'each'

  constructor(database: D1Database, note: (point: string | null) => void, session: D1DatabaseSession | 'each') {
    super(database)
    this.#note = note
    this.#session = session
  }

  /** Makes a call and notes the session's bookmark after it. */
  async call<Result>(make: (session: D1DatabaseSession) => Promise<Result>): Promise<Result> {
    // The second call in a session may go to a replica even if the first one goes to the primary.
    const session = this.#session === 'each' ? this.withSession('first-primary') : this.#session
    try {
      return await make(session)
    } finally {
      this.#note(session.getBookmark())
    }
  }

  override prepare(query: string): SessionStatement {
    return new SessionStatement(this, query, [])
  }

  override batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
    return this.call(session =>
      session.batch<T>(statements.map(each => (each instanceof SessionStatement ? each.in(session) : each))),
    )
  }
}

class SessionStatement extends ForwardingStatement {
  readonly #database: SessionDatabase
  readonly #query: string
  readonly #values: readonly unknown[]

  constructor(database: SessionDatabase, query: string, values: readonly unknown[]) {
    super()
    this.#database = database
    this.#query = query
    this.#values = values
  }

  /** The statement, prepared in the session. */
  in(session: D1DatabaseSession): D1PreparedStatement {
    const statement = session.prepare(this.#query)
    return this.#values.length === 0 ? statement : statement.bind(...this.#values)
  }

  override bind(...values: unknown[]): SessionStatement {
    return new SessionStatement(this.#database, this.#query, values)
  }

  protected override call<Result>(make: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result> {
    return this.#database.call(session => make(this.in(session)))
  }
}
