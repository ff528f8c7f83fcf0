/**
 * The minimal Worker that can ingest an observation: it parses JSON, writes the same rows as Countersign into the same
 * tables, and responds. It's the baseline for Countersign's speed. It reads nothing, validates nothing, and checks no
 * key: a PUT sends the trace's key and root span in advance. The file has no imports, so it runs as is once its types
 * are stripped.
 */

interface BareEnv {
  DB: D1Database
}

interface BareTrace {
  traceKey: number
  rootSpanId: string
}

/** The stored fields, not validated. */
interface BareObservation {
  type: string
  data: unknown
  timestamp: string
}

const INSERT =
  'insert into observations (trace_key, id, type, data, timestamp, received_at, text_hash) values (?, ?, ?, ?, ?, ?, ?)'
const UPDATE = 'update spans set has_output = 1, text_hash = ?, text_id = ? where id = ? and trace_key = ?'

/** A number with as many digits as the hash of an output's text. */
const HASH = 2 ** 53 - 1

let trace: BareTrace | undefined

export default {
  async fetch(request, { DB }) {
    if (request.method === 'PUT') trace = await request.json<BareTrace>()
    if (request.method !== 'POST') return new Response(null, { status: 204 })
    if (!trace) return new Response('There is no trace', { status: 409 })
    const { traceKey, rootSpanId } = trace
    const { type, data, timestamp } = await request.json<BareObservation>()
    const id = crypto.randomUUID()
    const hash = type === 'output' ? HASH : null
    const values = [traceKey, id, type, JSON.stringify(data), Date.parse(timestamp), Date.now(), hash]
    const insert = DB.prepare(INSERT).bind(...values)
    if (type === 'output') await DB.batch([insert, DB.prepare(UPDATE).bind(hash, id, rootSpanId, traceKey)])
    else await insert.run()
    return Response.json({ status: 'created', observation_id: id }, { status: 201 })
  },
} satisfies ExportedHandler<BareEnv>
