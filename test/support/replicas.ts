import { env } from 'cloudflare:workers'
import { BOOKMARK_HEADER } from '../../src/domain/bookmark.ts'
import type { Statement } from './bindings.ts'
import { migrate } from './migrations.ts'

/*
 * A fake of D1's read replication, because local D1 has none. The test database gets one replica, a second database
 * that is a number of transactions behind: it catches up only as far as a session's bookmark demands. The fake replaces
 * the methods of D1's class, so it sees each write, including those from jobs and from the tests themselves.
 *
 * While replication is on, `send` is a client that keeps bookmarks: it sends the newest one it has received. Writes
 * without a session, such as a job's, have no response that could give a client their bookmarks, so these count as
 * received.
 */

/** The transactions that the primary has committed, in order. A bookmark is the number of transactions seen. */
interface Replication {
  /** How many transactions the replica is behind, unless a session demands newer data. */
  lag: number
  log: (readonly Statement[])[]
  applied: number
  /** The newest bookmark that a client has received. */
  received: number
  /** The calls to the primary by reads without a session or by the first read in a session. */
  atPrimary: number
  atReplica: number
}

let replication: Replication | undefined

const prototype: D1Database = Object.getPrototypeOf(env.DB)
const original = {
  prepare: prototype.prepare,
  batch: prototype.batch,
  withSession: prototype.withSession,
}

/**
 * Turns replication on, for the deployment and the test client. The databases must be as the migrations leave them, so
 * call it before anything else in a file.
 */
export async function replicate(lag: number): Promise<void> {
  const { REPLICA: replica } = env
  await migrate(replica)
  replication = { lag, log: [], applied: 0, received: 0, atPrimary: 0, atReplica: 0 }
  env.READ_REPLICATION = 'on'
  prototype.prepare = function (this: D1Database, sql: string) {
    return this === replica ? original.prepare.call(this, sql) : new PlainStatement(sql, [])
  }
  prototype.batch = function <T>(this: D1Database, statements: D1PreparedStatement[]) {
    return this === replica ? original.batch.call(this, statements) : plain(statements.map(sentBy), runBatch<T>)
  } as D1Database['batch']
  prototype.withSession = constraint => new ReplicatedSession(constraint)
}

/** Turns replication off again. */
export function stopReplicating(): void {
  replication = undefined
  delete env.READ_REPLICATION
  Object.assign(prototype, original)
}

/** Changes how far the replica is behind. What it has already applied stays. */
export function setLag(lag: number): void {
  state().lag = lag
}

/** Counts the calls that `act` makes to the primary and the replica. */
export async function callsOf(act: () => Promise<unknown>): Promise<Pick<Replication, 'atPrimary' | 'atReplica'>> {
  const { atPrimary, atReplica } = state()
  await act()
  return { atPrimary: state().atPrimary - atPrimary, atReplica: state().atReplica - atReplica }
}

function state(): Replication {
  if (!replication) throw new Error('call replicate() first')
  return replication
}

/** A request as a client with bookmarks sends it. */
export function withBookmark(request: Request): Request {
  if (!replication || request.headers.has(BOOKMARK_HEADER)) return request
  const bookmarked = new Request(request)
  bookmarked.headers.set(BOOKMARK_HEADER, `DB=${bookmarkAt(replication.received)}`)
  return bookmarked
}

/** Keeps the bookmark of a response. */
export function keepBookmark({ headers }: Response): void {
  if (replication) receive(Number(/^DB=(\d+)$/.exec(headers.get(BOOKMARK_HEADER) ?? '')?.[1] ?? 0))
}

/** Keeps the bookmark of what a request wrote after its response, which had an older one. */
export async function keepingLater(work: () => Promise<unknown>): Promise<void> {
  const before = replication?.log.length
  await work()
  if (replication && replication.log.length !== before) receive(replication.log.length)
}

function receive(position: number): void {
  state().received = Math.max(state().received, position)
}

/** D1's bookmarks sort like text. */
const bookmarkAt = (position: number): string => String(position).padStart(10, '0')

const READ = /^(\s|--[^\n]*\n)*(select\b|with\b(?!.*\b(insert|update|delete)\b))/is

const isWrite = (statements: readonly Statement[]): boolean => statements.some(({ sql }) => !READ.test(sql))

/** Runs statements in a database. */
type Run<Result> = (database: D1Database, statements: readonly Statement[]) => Promise<Result>

const prepared = (database: D1Database, { sql, values }: Statement): D1PreparedStatement => {
  const statement = original.prepare.call(database, sql)
  return values.length === 0 ? statement : statement.bind(...values)
}

const runBatch = <T>(database: D1Database, statements: readonly Statement[]): Promise<D1Result<T>[]> =>
  original.batch.call(
    database,
    statements.map(each => prepared(database, each)),
  ) as Promise<D1Result<T>[]>

/** Runs tasks one at a time. */
function queue() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(task: () => Promise<Result>): Promise<Result> => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
}

const atPrimary = queue()
const atReplica = queue()

/** Runs statements at the primary. Also returns how new the result is. */
const runAtPrimary = <Result>(statements: readonly Statement[], run: Run<Result>) =>
  atPrimary(async () => {
    const { log } = state()
    state().atPrimary++
    const result = await run(env.DB, statements)
    if (isWrite(statements)) log.push(statements)
    return { result, position: log.length }
  })

const APPLIED_AT_ONCE = 200

/** Applies transactions to the replica until it has seen this many. */
async function catchUp(target: number): Promise<void> {
  const replicated = state()
  // Many at once, because requests wait for this.
  while (replicated.applied < target) {
    const end = Math.min(replicated.applied + APPLIED_AT_ONCE, target)
    await runBatch(env.REPLICA, replicated.log.slice(replicated.applied, end).flat())
    replicated.applied = end
  }
}

/** Runs statements at the replica, once it has caught up with `least`. */
const runAtReplica = <Result>(least: number, statements: readonly Statement[], run: Run<Result>) =>
  atReplica(async () => {
    const replicated = state()
    const { log, lag } = replicated
    // D1 waits for a bookmark that no write has reached, and gives up.
    if (least > log.length) throw new Error('D1_ERROR: the bookmark is ahead of the database')
    replicated.atReplica++
    await catchUp(Math.max(least, log.length - lag))
    return { result: await run(env.REPLICA, statements), position: replicated.applied }
  })

/** Runs statements without a session, always at the primary. */
async function plain<Result>(statements: readonly Statement[], run: Run<Result>): Promise<Result> {
  if (!isWrite(statements)) return run(env.DB, statements)
  const { result, position } = await runAtPrimary(statements, run)
  receive(position)
  // The next request would demand this anyway, but shouldn't spend its time on a test's large amounts of data.
  await atReplica(() => catchUp(position))
  return result
}

/** The calls of one session. The later ones never read older data than the earlier ones. */
class ReplicatedSession implements D1DatabaseSession {
  #position: number | undefined
  readonly #beginsAtPrimary: boolean

  constructor(constraint: D1SessionBookmark | D1SessionConstraint = 'first-unconstrained') {
    this.#beginsAtPrimary = constraint === 'first-primary'
    if (/^\d+$/.test(constraint)) this.#position = Number(constraint)
    else if (!constraint.startsWith('first-')) this.#position = Number.POSITIVE_INFINITY
  }

  prepare(sql: string): D1PreparedStatement {
    return new SessionStatement(this, sql, [])
  }

  batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
    return this.call(statements.map(sentBy), runBatch<T>)
  }

  getBookmark(): D1SessionBookmark | null {
    return this.#position === undefined ? null : bookmarkAt(this.#position)
  }

  async call<Result>(statements: readonly Statement[], run: Run<Result>): Promise<Result> {
    const isForPrimary = isWrite(statements) || (this.#beginsAtPrimary && this.#position === undefined)
    const { result, position } = await (isForPrimary
      ? runAtPrimary(statements, run)
      : runAtReplica(this.#position ?? 0, statements, run))
    this.#position = Math.max(this.#position ?? 0, position)
    return result
  }
}

/** A statement that remembers what it sends. */
abstract class SentStatement implements D1PreparedStatement {
  readonly sql: string
  readonly values: unknown[]

  constructor(sql: string, values: unknown[]) {
    this.sql = sql
    this.values = values
  }

  protected abstract call<Result>(run: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result>
  abstract bind(...values: unknown[]): D1PreparedStatement

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

class PlainStatement extends SentStatement {
  bind(...values: unknown[]): D1PreparedStatement {
    return new PlainStatement(this.sql, values)
  }

  protected call<Result>(run: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result> {
    return plain([this], database => run(prepared(database, this)))
  }
}

class SessionStatement extends SentStatement {
  readonly #session: ReplicatedSession

  constructor(session: ReplicatedSession, sql: string, values: unknown[]) {
    super(sql, values)
    this.#session = session
  }

  bind(...values: unknown[]): D1PreparedStatement {
    return new SessionStatement(this.#session, this.sql, values)
  }

  protected call<Result>(run: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result> {
    return this.#session.call([this], database => run(prepared(database, this)))
  }
}

function sentBy(statement: D1PreparedStatement): Statement {
  if (!(statement instanceof SentStatement)) throw new Error('a statement was prepared before replicate()')
  return statement
}
