import { type Database, migrate, runRepeatable } from './server.ts'

/** Copies per statement. A statement must finish within seconds and keep its journal small. */
const COPIES_PER_STATEMENT = 20

/** The distance between the keys of consecutive copies. It must exceed the range of the original keys. */
const KEY_DISTANCE = 2 ** 32

/**
 * SQL for a column's value in copy `copy`, from the original `value`: three random-looking digits of public ids change,
 * keys and times shift by a fixed distance per copy, and each copy except the first has its own conversations.
 */
const CHANGED: Readonly<Record<string, (value: string) => string>> = {
  key: value => `${value} + copy * ${KEY_DISTANCE}`,
  trace_key: value => `${value} + copy * ${KEY_DISTANCE}`,
  id: idOf,
  root_span_id: idOf,
  span_id: idOf,
  parent_id: idOf,
  trace_id: value => `${value} || '_' || copy`,
  timestamp: value => `${value} - copy * ?2`,
  metadata: conversationOf,
  value: conversationOf,
}

function idOf(value: string): string {
  return `substr(${value}, 1, 5) || printf('%03x', copy) || substr(${value}, 9)`
}

function conversationOf(value: string): string {
  return `iif(copy = 0, ${value}, replace(${value}, 'session-', 'session-' || copy || '-'))`
}

/** The tables that contain traces or rows that belong to traces. */
const TRACE_TABLES = [
  'traces',
  'trace_fields',
  'spans',
  'observations',
  'feedback',
  'reviews',
  'attribution_jobs',
  'attributions',
]

/**
 * Fills an empty database with the tenants of an existing one and this many copies of all its traces. Each copy is
 * `widthMs` older than the previous one. The rows look as if the API had written them, but copying is many times
 * faster.
 */
export async function multiply(source: Database, target: Database, copies: number, widthMs: number): Promise<void> {
  await migrate(target)
  const { results } = await source
    .prepare(`select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'`)
    .all<{ name: string }>()
  for (const { name } of results) {
    const isOfTraces = TRACE_TABLES.includes(name)
    const [columns, ...rows] = await source.prepare(`select * from ${name}`).raw({ columnNames: true })
    const values = columns.map((column, index) => {
      const value = `row.value ->> ${index}`
      const changed = isOfTraces ? CHANGED[column]?.(`(${value})`) : undefined
      return changed ?? value
    })
    // Rows from the migrations stay.
    const insert = target.prepare(
      `insert or ignore into ${name} (${columns.join()}) select ${values.join()}
       from (with recursive copies(copy) as (select ?3 union all select copy + 1 from copies where copy < ?4)
         select copy from copies) cross join json_each(?1) as row order by 1`,
    )
    const last = isOfTraces ? copies : 1
    for (let first = 0; first < last; first += COPIES_PER_STATEMENT) {
      const statement = insert.bind(
        JSON.stringify(rows),
        widthMs,
        first,
        Math.min(first + COPIES_PER_STATEMENT, last) - 1,
      )
      await runRepeatable(statement)
    }
  }
}
