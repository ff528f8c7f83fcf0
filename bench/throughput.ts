import { Client } from './client.ts'
import type { Benchmark, Measurement } from './report.ts'
import { compare, type Rivals } from './rivals.ts'
import { type Database, migrate, startServer } from './server.ts'
import { newTenant } from './tenant.ts'

const TIMESTAMP = '2026-11-20T10:00:00.000Z'
const TRACE = { trace_id: 'trace_bench', name: 'support-answer', timestamp: TIMESTAMP, status: 'running', metadata: {} }
const DATA = { question: 'How long is the warranty?', locale: 'en', customer: { tier: 'gold' } }

const CASES = [
  { type: 'input', connections: 32, goal: { atLeast: 0.85 } },
  { type: 'output', connections: 32, goal: { atLeast: 0.8 } },
  { type: 'input', connections: 1 },
] as const

/** The speed of `POST /observations`, compared with that of a minimal Worker in the same workerd. */
export const throughput: Benchmark = async options => {
  await using server = await startServer([
    { name: 'countersign', program: 'countersign', database: 'countersign' },
    { name: 'bare', program: 'bare', database: 'bare' },
  ])
  const countersign = await newTenant(server, 'countersign')
  const bare = new Client(await server.urlOf('bare'), {})
  await countersign.call('POST', '/api/v1/traces', TRACE)
  await migrate(await server.databaseOf('bare'))
  const trace = await copyRoot(await server.databaseOf('countersign'), await server.databaseOf('bare'))
  await bare.call('PUT', '/', trace)
  const measurements: Measurement[] = []
  for (const { type, connections, ...goal } of CASES) {
    const body = JSON.stringify({ trace_id: TRACE.trace_id, type, data: DATA, timestamp: TIMESTAMP })
    const rivals: Rivals = {
      countersign: () => countersign.call('POST', '/api/v1/observations', body),
      bare: () => bare.call('POST', '/', body),
    }
    const comparison = await compare(rivals, connections, server.processId, options)
    const through = connections === 1 ? 'one after another' : `${connections} at a time`
    measurements.push({ what: `observations of type ${type}, ${through}`, ...comparison, ...goal })
  }
  return [
    {
      title: 'POST /observations: requests per second relative to a bare Worker',
      notes: [
        'The bare Worker parses the JSON and writes the same rows: one, or two for an output. Both run in one workerd and',
        'alternate in short blocks. The ratio is the median over neighboring blocks, with the interquartile range. The client',
        'uses its own core. Its share of the time per request is the same for both Workers, which pulls the ratio toward',
        "1. The CPU time of workerd per request doesn't include that share.",
      ],
      measurements,
    },
  ]
}

/**
 * Copies the trace's root span, which is the row that outputs update. Returns what the bare Worker needs to know about
 * it.
 */
async function copyRoot(from: Database, to: Database) {
  const root = await from.prepare('select * from spans').first<Record<string, unknown>>()
  const columns = Object.keys(root ?? {})
  const insert = `insert into spans (${columns.join()}) values (${columns.map(() => '?').join()})`
  await to
    .prepare(insert)
    .bind(...Object.values(root ?? {}))
    .run()
  return { traceKey: root?.trace_key, rootSpanId: root?.id }
}
