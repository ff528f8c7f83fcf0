import { env } from 'cloudflare:workers'
import { traceUuid } from '../../src/domain/ids.ts'
import { shardOf } from '../../src/domain/shards.ts'
import { inShard } from '../../src/env.ts'
import { followShards } from '../../src/jobs/follow-shards.ts'
import { boundShards, databaseOf } from '../../src/store/core/store.ts'
import { HOMES } from '../../src/store/schema/homes.ts'
import { aTrace, aTraceId } from './builders.ts'

/*
 * The tests' own view of what's stored. If there are shards, a statement runs in each database that has its tables, and
 * the result has the rows from all of them. The Worker never uses this. In the Worker, a statement that's sent to the
 * wrong database must fail.
 */

const shards = boundShards(env).map(shard => databaseOf(env, shard))

/** All databases, starting with the control database. */
export const databases: readonly D1Database[] = [env.DB, ...shards]

/** Whether the suites run with several databases. */
export const isSharded = shards.length > 0

/** The database that has the trace with this read id, if the trace's project is new. */
export const databaseOfTrace = (id: string): D1Database =>
  databaseOf(env, isSharded ? shardOf(id, { from: 0, shards: boundShards(env) }) : 0)

/** A valid `POST /api/v1/traces` body for a new trace that's in the same database as the trace with this read id. */
export async function aTraceBeside(id: string, { id: projectId }: { id: string }, fields: object = {}) {
  for (;;) {
    const trace = aTrace(fields)
    if (databaseOfTrace(await traceUuid(projectId, trace.trace_id)) === databaseOfTrace(id)) return trace
  }
}

/** Valid bodies for new traces that are all in one database. */
export const tracesTogether = async (project: { id: string }, count: number, fields: object = {}) => {
  const beside = await traceUuid(project.id, aTraceId())
  return Promise.all(Array.from({ length: count }, () => aTraceBeside(beside, project, fields)))
}

/** The database that has a trace, and the database's number. */
export async function placeOf(traceKey: unknown): Promise<{ shard: number; database: D1Database }> {
  for (const [index, database] of shards.entries()) {
    const found = await database.prepare('select 1 from traces where key = ?').bind(traceKey).first()
    if (found) return { shard: index + 1, database }
  }
  return { shard: 0, database: env.DB }
}

/** The field of a job that says which database has a trace. */
export const jobPlace = async (traceKey: unknown) => inShard((await placeOf(traceKey)).shard)

/** Copies the changes that tests made directly in the control database to the other databases. */
export async function copyNow(): Promise<void> {
  if (isSharded) await followShards(env, Date.now())
}

function databasesFor(sql: string): D1Database[] {
  // Every database has the same error types.
  if (usesTable(sql, 'error_types')) return [env.DB]
  const homes = new Set(Object.entries(HOMES).flatMap(([table, home]) => (usesTable(sql, table) ? [home] : [])))
  if (homes.has('trace')) return shards
  return homes.has('every') && !homes.has('control') ? [env.DB, ...shards] : [env.DB]
}

const usesTable = (sql: string, table: string): boolean =>
  new RegExp(`\\b(?:from|join|into|update|table)\\s+\\(*"?${table}\\b`, 'i').test(sql)

const COUNTS = /^\s*select\s+(?:coalesce\()?(?:count|total|sum)\(/i

/** A statement that runs in each database that has its tables. */
class StatementOfAll {
  readonly #sql: string
  readonly #values: readonly unknown[]

  constructor(sql: string, values: readonly unknown[] = []) {
    this.#sql = sql
    this.#values = values
  }

  bind(...values: unknown[]): StatementOfAll {
    return new StatementOfAll(this.#sql, values)
  }

  async all<Row extends object>(): Promise<{ results: Row[] }> {
    const found = await Promise.all(
      databasesFor(this.#sql).map(each =>
        each
          .prepare(this.#sql)
          .bind(...this.#values)
          .all<Row>(),
      ),
    )
    const results = found.flatMap(each => each.results)
    return { results: COUNTS.test(this.#sql) && !/group by/i.test(this.#sql) ? [added(results)] : results }
  }

  async run(): Promise<void> {
    await this.all()
  }

  async first<Row extends object>(): Promise<Row | null>
  async first<Value>(column: string): Promise<Value | null>
  async first(column?: string): Promise<unknown> {
    const [row] = (await this.all<Record<string, unknown>>()).results
    if (!row) return null
    return column === undefined ? row : row[column]
  }
}

/** Adds up rows of counts, column by column. */
const added = <Row extends object>(rows: readonly Row[]): Row =>
  rows.reduce(
    (sum, row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, value + new Map(Object.entries(sum)).get(name)]),
      ) as Row,
  )

const all = {
  prepare: (sql: string) => new StatementOfAll(sql),
  batch: async (statements: readonly StatementOfAll[]) => {
    const results = []
    for (const statement of statements) results.push(await statement.all())
    return results
  },
}

/** Reads and changes stored rows, no matter which databases have them. */
export const stored: Pick<D1Database, 'prepare' | 'batch'> = isSharded
  ? (all as unknown as Pick<D1Database, 'prepare' | 'batch'>)
  : env.DB
