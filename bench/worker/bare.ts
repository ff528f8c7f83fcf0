/**
 * The minimal Worker that can ingest an observation: it parses JSON, inserts one row, and responds. Countersign's speed
 * is compared with it. It has no imports, so it runs as is once its types are stripped.
 */

interface BareEnv {
  DB: D1Database
}

/** The stored fields, not validated. */
interface BareObservation {
  trace_id: string
  type: string
  data: unknown
  timestamp: string
}

const TABLE = `create table if not exists bare_observations (
  id text primary key, trace_id text, type text, data text, timestamp text) without rowid`
const INSERT = 'insert into bare_observations (id, trace_id, type, data, timestamp) values (?, ?, ?, ?, ?)'

export default {
  async fetch(request, { DB }) {
    if (request.method === 'PUT') {
      await DB.prepare(TABLE).run()
      return new Response(null, { status: 204 })
    }
    const { trace_id, type, data, timestamp } = await request.json<BareObservation>()
    const id = crypto.randomUUID()
    await DB.prepare(INSERT).bind(id, trace_id, type, JSON.stringify(data), timestamp).run()
    return Response.json({ status: 'created', observation_id: id }, { status: 201 })
  },
} satisfies ExportedHandler<BareEnv>
