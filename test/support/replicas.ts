import { env } from 'cloudflare:workers'
import { BOOKMARK_HEADER, formatBookmark, parseBookmark } from '../../src/domain/bookmark.ts'
import { boundShards, databaseOf } from '../../src/store/core/store.ts'
import type { Statement } from './bindings.ts'
import { migrate } from './migrations.ts'

/*
 * A fake of D1's read replication, because local D1 has none. Each of the test's databases gets one replica, a spare
 * database that stays a number of transactions behind, and catches up further only if a session's bookmark demands it.
 * The fake replaces the methods of D1's class, so it sees every write, including those from jobs and from the tests
 * themselves.
 *
 * While replication is on, `send` acts as a client that keeps bookmarks: it sends the newest bookmark that it has
 * received. Writes outside a session, such as a job's, have no response that could give a client their bookmarks, so
 * their bookmarks count as received.
 */

/** A database and its replica. */
interface Replicated {
  /** The database's name in bookmarks. */
  name: string
  primary: D1Database
  replica: D1Database
  /** The transactions that the primary has committed, in order. A bookmark is a count of these transactions. */
  log: (readonly Statement[])[]
  /** How many of these transactions the replica has applied. */
  applied: number
  /** The newest bookmark that a client has received. */
  received: number
  /** Both queues run calls one at a time. */
  atPrimary: Queue
  atReplica: Queue
}

interface Replication {
  /** How many transactions the replicas are behind, unless a session demands newer data. */
  lag: number
  databases: readonly Replicated[]
  /** The number of calls to primaries. Reads outside a session aren't counted. */
  callsToPrimaries: number
  callsToReplicas: number
}

let replication: Replication | undefined

const prototype: D1Database = Object.getPrototypeOf(env.DB)
const original = {
  prepare: prototype.prepare,
  batch: prototype.batch,
  withSession: prototype.withSession,
}

/**
 * Turns on replication for the deployment and the test client. Call this before anything else in a file, because the
 * databases must be exactly as the migrations left them.
 */
export async function replicate(lag: number): Promise<void> {
  const databases = [0, ...boundShards(env)].map(newReplicated)
  await Promise.all(databases.map(({ replica }) => migrate(replica)))
  replication = { lag, databases, callsToPrimaries: 0, callsToReplicas: 0 }
  const replicatedOf = (database: D1Database) => databases.find(({ primary }) => primary === database)
  env.READ_REPLICATION = 'on'
  prototype.prepare = function (this: D1Database, sql: string) {
    const replicated = replicatedOf(this)
    return replicated ? new PlainStatement(replicated, sql, []) : original.prepare.call(this, sql)
  }
  prototype.batch = function <T>(this: D1Database, statements: D1PreparedStatement[]) {
    const replicated = replicatedOf(this)
    return replicated ? plain(replicated, statements.map(sentBy), runBatch<T>) : original.batch.call(this, statements)
  } as D1Database['batch']
  prototype.withSession = function (this: D1Database, constraint) {
    const replicated = replicatedOf(this)
    if (!replicated) throw new Error("the database isn't replicated")
    return new ReplicatedSession(replicated, constraint)
  }
}

function newReplicated(shard: number): Replicated {
  const [name, replica] = shard === 0 ? ['DB', env.REPLICA] : [`DB_${shard}`, env[`REPLICA_${shard}`]]
  if (!replica) throw new Error(`${name} has no database for its replica`)
  const primary = databaseOf(env, shard)
  return { name, primary, replica, log: [], applied: 0, received: 0, atPrimary: queue(), atReplica: queue() }
}

/** Turns replication off again. */
export function stopReplicating(): void {
  replication = undefined
  delete env.READ_REPLICATION
  Object.assign(prototype, original)
}

/** Changes how far the replicas are behind. They keep what they have already applied. */
export function setLag(lag: number): void {
  state().lag = lag
}

/** Counts the calls that `act` makes to primaries and replicas. */
export async function callsOf(act: () => Promise<unknown>): Promise<{ atPrimary: number; atReplica: number }> {
  const { callsToPrimaries, callsToReplicas } = state()
  await act()
  return {
    atPrimary: state().callsToPrimaries - callsToPrimaries,
    atReplica: state().callsToReplicas - callsToReplicas,
  }
}

function state(): Replication {
  if (!replication) throw new Error('call replicate() first')
  return replication
}

/** The request as a client that keeps bookmarks would send it. */
export function withBookmark(request: Request): Request {
  if (!replication || request.headers.has(BOOKMARK_HEADER)) return request
  const bookmarked = new Request(request)
  const points = replication.databases.map(({ name, received }) => [name, bookmarkAt(received)] as const)
  bookmarked.headers.set(BOOKMARK_HEADER, formatBookmark(new Map(points)))
  return bookmarked
}

/** Keeps the bookmark from a response. */
export function keepBookmark({ headers }: Response): void {
  const points = parseBookmark(headers.get(BOOKMARK_HEADER) ?? '')
  for (const each of replication?.databases ?? []) receive(each, Number(points?.get(each.name) ?? 0))
}

/** Keeps the bookmark for what a request writes after its response. The response has an older bookmark. */
export async function keepingLater(work: () => Promise<unknown>): Promise<void> {
  const before = replication?.databases.map(({ log }) => log.length)
  await work()
  for (const [index, each] of replication?.databases.entries() ?? []) {
    if (each.log.length !== before?.[index]) receive(each, each.log.length)
  }
}

function receive(replicated: Replicated, position: number): void {
  replicated.received = Math.max(replicated.received, position)
}

/** D1's bookmarks sort as text, so these are padded. */
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

type Queue = <Result>(task: () => Promise<Result>) => Promise<Result>

/** Runs tasks one at a time. */
function queue(): Queue {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(task: () => Promise<Result>): Promise<Result> => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
}

/** Runs statements on the primary. Also returns how recent the result is. */
const runAtPrimary = <Result>(
  { primary, log, atPrimary }: Replicated,
  statements: readonly Statement[],
  run: Run<Result>,
) =>
  atPrimary(async () => {
    state().callsToPrimaries++
    const result = await run(primary, statements)
    if (isWrite(statements)) log.push(statements)
    return { result, position: log.length }
  })

const APPLIED_AT_ONCE = 200

/** Applies transactions to the replica until it has applied `target` of them. */
async function catchUp(replicated: Replicated, target: number): Promise<void> {
  // Each batch has many transactions, because requests wait until the replica has caught up.
  while (replicated.applied < target) {
    const end = Math.min(replicated.applied + APPLIED_AT_ONCE, target)
    await runBatch(replicated.replica, replicated.log.slice(replicated.applied, end).flat())
    replicated.applied = end
  }
}

/** Runs statements on the replica once it has caught up with `least`. */
const runAtReplica = <Result>(
  replicated: Replicated,
  least: number,
  statements: readonly Statement[],
  run: Run<Result>,
) =>
  replicated.atReplica(async () => {
    const { log, replica } = replicated
    // If no write has reached a bookmark, D1 waits for the bookmark and then gives up.
    if (least > log.length) throw new Error('D1_ERROR: the bookmark is ahead of the database')
    state().callsToReplicas++
    await catchUp(replicated, Math.max(least, log.length - state().lag))
    return { result: await run(replica, statements), position: replicated.applied }
  })

/** Runs statements outside a session, always on the primary. */
async function plain<Result>(
  replicated: Replicated,
  statements: readonly Statement[],
  run: Run<Result>,
): Promise<Result> {
  if (!isWrite(statements)) return run(replicated.primary, statements)
  const { result, position } = await runAtPrimary(replicated, statements, run)
  receive(replicated, position)
  // Catch up now. The next request would demand this anyway, but a test may write so much data that copying it would
  // take up the request's time.
  await replicated.atReplica(() => catchUp(replicated, position))
  return result
}

/** The calls in one session. A call never reads older data than the calls before it. */
class ReplicatedSession implements D1DatabaseSession {
  #position: number | undefined
  readonly #replicated: Replicated
  readonly #beginsAtPrimary: boolean

  constructor(replicated: Replicated, constraint: D1SessionBookmark | D1SessionConstraint = 'first-unconstrained') {
    this.#replicated = replicated
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
      ? runAtPrimary(this.#replicated, statements, run)
      : runAtReplica(this.#replicated, this.#position ?? 0, statements, run))
    this.#position = Math.max(this.#position ?? 0, position)
    return result
  }
}

/** A statement that remembers its SQL and its values. */
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
  readonly #replicated: Replicated

  constructor(replicated: Replicated, sql: string, values: unknown[]) {
    super(sql, values)
    this.#replicated = replicated
  }

  bind(...values: unknown[]): D1PreparedStatement {
    return new PlainStatement(this.#replicated, this.sql, values)
  }

  protected call<Result>(run: (statement: D1PreparedStatement) => Promise<Result>): Promise<Result> {
    return plain(this.#replicated, [this], database => run(prepared(database, this)))
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
