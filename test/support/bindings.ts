import { env } from 'cloudflare:workers'
import type { Env } from '../../src/env.ts'
import type { Ask } from '../../src/rate-limit/window.ts'

/** How many calls a request made to each binding, and how many rows it wrote. */
export interface Counts {
  d1RoundTrips: number
  rowsWritten: number
  r2Calls: number
  limiterCalls: number
  queueSends: number
}

/**
 * Handles each binding call. To let a call through, it returns the result of `call`. `breakOff` makes D1 fail after
 * running the statements in a batch, but before committing them. It's undefined for calls other than batches.
 * `database` is the number of the database that a D1 call goes to.
 */
export type Intercept = <T>(
  binding: 'DB' | 'PAYLOADS' | 'RATE_LIMITER' | 'JOBS',
  call: () => Promise<T>,
  breakOff?: () => Promise<unknown>,
  database?: number,
) => Promise<T>

/** A statement sent to D1. */
export interface Statement {
  sql: string
  values: unknown[]
}

/**
 * Bindings that pass every call to `intercept`. Calls to any database are passed as calls to `DB`. `onResult` gets the
 * result of each D1 statement, `onStatement` gets each statement, and `onRoundTrip` gets the SQL of the statements in
 * each call.
 */
export function wrapBindings(
  intercept: Intercept,
  onResult?: (result: D1Result) => void,
  onStatement: (statement: Statement) => void = () => {},
  onRoundTrip: (texts: string[]) => void = () => {},
): Env {
  const see = async <T>(results: Promise<D1Result<T>[]>) => {
    for (const result of await results) onResult?.(result)
    return results
  }
  const runOne = async <T>(statement: D1PreparedStatement, number: number): Promise<D1Result<T>> => {
    const result = await intercept('DB', () => statement.run<T>(), undefined, number)
    onResult?.(result)
    return result
  }
  const readRaw = async (statement: D1PreparedStatement, number: number) => {
    const rows = await intercept('DB', () => statement.raw(), undefined, number)
    // raw() doesn't report a statement's cost, so the statement runs again with run(), which costs the same.
    if (onResult) onResult(await statement.run())
    return rows
  }
  const bare = new WeakMap<D1PreparedStatement, D1PreparedStatement>()
  const texts = new WeakMap<D1PreparedStatement, string>()
  const wrapStatement = (statement: D1PreparedStatement, sql: string, number: number): D1PreparedStatement => {
    const wrapped = {
      bind: (...values: unknown[]) => {
        onStatement({ sql, values })
        return wrapStatement(statement.bind(...values), sql, number)
      },
      run: () => {
        onRoundTrip([sql])
        return runOne(statement, number)
      },
      all: () => {
        onRoundTrip([sql])
        return runOne(statement, number)
      },
      // A write must not run twice, so its rows come from run().
      raw: async () => {
        onRoundTrip([sql])
        return /^\s*select/i.test(sql)
          ? readRaw(statement, number)
          : (await runOne<Record<string, unknown>>(statement, number)).results.map(row => Object.values(row))
      },
    } as unknown as D1PreparedStatement
    bare.set(wrapped, statement)
    texts.set(wrapped, sql)
    return wrapped
  }
  const wrapCalls = (database: Pick<D1Database, 'prepare' | 'batch'>, number: number) => ({
    prepare: (sql: string) => wrapStatement(database.prepare(sql), sql, number),
    batch: (statements: D1PreparedStatement[]) => {
      onRoundTrip(statements.map(statement => texts.get(statement) ?? ''))
      const given = statements.map(statement => bare.get(statement) ?? statement)
      return intercept(
        'DB',
        () => see(database.batch(given)),
        () => database.batch([...given, database.prepare("select json('{')")]),
        number,
      )
    },
  })
  const wrapDatabase = (database: D1Database, number: number) =>
    ({
      ...wrapCalls(database, number),
      withSession: (constraint: string) => {
        const session = database.withSession(constraint)
        return { ...wrapCalls(session, number), getBookmark: () => session.getBookmark() }
      },
    }) as unknown as D1Database
  // The benchmarks run this file without the rest of the project, so it can't import the function that finds the
  // shards.
  const shards = Object.entries<unknown>({ ...env }).filter((entry): entry is [string, D1Database] =>
    /^DB_\d+$/.test(entry[0]),
  )
  const intercepted = <T extends object>(
    binding: 'PAYLOADS' | 'RATE_LIMITER' | 'JOBS',
    target: T,
    methods: string[],
  ): T =>
    new Proxy(target, {
      get: (object, property) => {
        const value: unknown = Reflect.get(object, property)
        if (typeof value !== 'function') return value
        if (!methods.includes(String(property))) return value.bind(object)
        return (...values: unknown[]) => intercept(binding, async () => Reflect.apply(value, object, values))
      },
    })
  return {
    ...env,
    DB: wrapDatabase(env.DB, 0),
    ...Object.fromEntries(shards.map(([name, shard]) => [name, wrapDatabase(shard, Number(name.slice(3)))])),
    PAYLOADS: intercepted('PAYLOADS', env.PAYLOADS, ['put', 'get', 'delete', 'list', 'head']),
    RATE_LIMITER: new Proxy(env.RATE_LIMITER, {
      get: (namespace, property) =>
        property === 'get'
          ? (id: DurableObjectId) => ({
              take: (ask: Ask) => intercept('RATE_LIMITER', async () => namespace.get(id).take(ask)),
            })
          : Reflect.get(namespace, property).bind(namespace),
    }),
    ...(env.JOBS && { JOBS: intercepted('JOBS', env.JOBS, ['send', 'sendBatch']) }),
    // Calls to the queue for events are passed as calls to `JOBS`.
    ...(env.EVENTS && { EVENTS: intercepted('JOBS', env.EVENTS, ['send', 'sendBatch']) }),
  }
}

/** Fails the first `times` calls to a binding, before or after they take effect. */
export function failing(
  binding: string,
  message: string,
  times: number,
  when: 'before' | 'after' = 'before',
): Intercept {
  let left = times
  return async (called, call) => {
    if (called !== binding || left-- <= 0) return call()
    if (when === 'after') await call()
    throw new Error(message)
  }
}

/** Bindings that count the calls to them, and the counts. */
export function countingBindings(): { bindings: Env; counts: Counts } {
  const counts: Counts = { d1RoundTrips: 0, rowsWritten: 0, r2Calls: 0, limiterCalls: 0, queueSends: 0 }
  const counters = {
    DB: 'd1RoundTrips',
    PAYLOADS: 'r2Calls',
    RATE_LIMITER: 'limiterCalls',
    JOBS: 'queueSends',
  } as const
  const bindings = wrapBindings(
    (binding, call) => {
      counts[counters[binding]]++
      return call()
    },
    result => {
      counts.rowsWritten += result.meta.rows_written
    },
  )
  return { bindings, counts }
}

/** Bindings that record every D1 statement, and the SQL of the statements in each round trip. */
export function recordingBindings(): { bindings: Env; statements: Statement[]; roundTrips: string[][] } {
  const statements: Statement[] = []
  const roundTrips: string[][] = []
  const bindings = wrapBindings(
    (_, call) => call(),
    undefined,
    statement => statements.push(statement),
    texts => roundTrips.push(texts),
  )
  return { bindings, statements, roundTrips }
}

/** Fails every D1 call starting with number `first`, counted from 1, before it takes effect. */
export function failingFrom(first: number, message: string): Intercept {
  let calls = 0
  return async (binding, call) => {
    if (binding === 'DB' && ++calls >= first) throw new Error(message)
    return call()
  }
}

/** Fails only the `nth` D1 call, counted from 1. */
export function failingAt(nth: number, message: string, when: 'before' | 'after'): Intercept {
  let calls = 0
  return async (binding, call) => {
    if (binding !== 'DB' || ++calls !== nth) return call()
    if (when === 'after') await call()
    throw new Error(message)
  }
}

/** The number of rows that D1 reads during `act`. */
export async function rowsReadBy(act: (bindings: Env) => Promise<unknown>): Promise<number> {
  let rowsRead = 0
  const bindings = wrapBindings(
    (_, call) => call(),
    ({ meta }) => {
      rowsRead += meta.rows_read
    },
  )
  await act(bindings)
  return rowsRead
}
