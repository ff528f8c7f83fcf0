/**
 * The minimal Worker that can store an export: it reads the body's bytes and inserts one row for each span, with a
 * single `json_each`, into a table with the same columns and indexes as Countersign's. It doesn't decode the bytes. The
 * rows are those that Countersign stored for the same export; a PUT sends them in advance, as JSON. It writes no traces
 * and checks no key. Countersign's speed is compared with it. It has no imports, so it runs as is once its types are
 * stripped.
 */

interface BareEnv {
  DB: D1Database
}

interface Prepared {
  insert: string
  rows: string
}

let prepared: Prepared | undefined

/** Every call gets new ids: the beginning of each is replaced with the statement's second parameter. */
const insertInto = (columns: readonly string[]): string => `
  insert into spans (${columns.join()})
  with rows as materialized (select value from json_each(?1))
  select ${columns.map((column, index) => (column === 'id' ? `?2 || substr(value ->> ${index}, 9)` : `value ->> ${index}`)).join()} from rows`

export default {
  async fetch(request, { DB }) {
    if (request.method === 'PUT') {
      const { columns, rows } = await request.json<{ columns: string[]; rows: unknown[][] }>()
      prepared = { insert: insertInto(columns), rows: JSON.stringify(rows) }
      return new Response(null, { status: 204 })
    }
    await request.arrayBuffer()
    if (!prepared) return new Response('There are no rows', { status: 409 })
    await DB.prepare(prepared.insert).bind(prepared.rows, crypto.randomUUID().slice(0, 8)).run()
    return Response.json({ partialSuccess: {} })
  },
} satisfies ExportedHandler<BareEnv>
