/**
 * The minimal Worker that can store an export: it reads the body's bytes and inserts the same rows as Countersign, with
 * a single `json_each` for each table, into tables with the same columns and indexes. It doesn't decode the bytes,
 * reads no tables, and checks no key. The rows are those that Countersign stored for the same export; a PUT sends them
 * in advance, as JSON. Countersign's speed is compared with this Worker's. The file has no imports, so it runs as is
 * once its types are stripped.
 */

interface BareEnv {
  DB: D1Database
}

interface BareTable {
  name: string
  columns: string[]
  rows: unknown[][]
}

let prepared: { insert: string; rows: string }[] | undefined

/**
 * New ids are as long and as scattered as Countersign's. If they resembled one another, their rows would share pages,
 * and writing them would cost half as much. Traces' keys grow with each call, so their `offset` is the second parameter.
 */
const NEW_VALUES: Readonly<Record<string, (value: string) => string>> = {
  id: () => 'lower(hex(randomblob(18)))',
  key: value => `${value} + ?2`,
  trace_key: value => `${value} + ?2`,
}

const insertInto = ({ name, columns }: BareTable): string => `
  insert into ${name} (${columns.join()})
  with rows as materialized (select value from json_each(?1))
  select ${columns.map((column, index) => NEW_VALUES[column]?.(`value ->> ${index}`) ?? `value ->> ${index}`).join()} from rows`

/** More than the difference between any two keys in an export. */
const KEYS_PER_CALL = 2 ** 16

let calls = 0

export default {
  async fetch(request, { DB }) {
    if (request.method === 'PUT') {
      const tables = await request.json<BareTable[]>()
      prepared = tables.map(table => ({ insert: insertInto(table), rows: JSON.stringify(table.rows) }))
      return new Response(null, { status: 204 })
    }
    await request.arrayBuffer()
    if (!prepared) return new Response('There are no rows', { status: 409 })
    const offset = ++calls * KEYS_PER_CALL
    await DB.batch(prepared.map(({ insert, rows }) => DB.prepare(insert).bind(rows, offset)))
    return Response.json({ partialSuccess: {} })
  },
} satisfies ExportedHandler<BareEnv>
