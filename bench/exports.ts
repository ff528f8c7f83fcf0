import * as v from 'valibot'
import { Client } from './client.ts'
import { exportOf, type RepeatedExport, recordedExport, runs, syntheticExport } from './export-bodies.ts'
import type { Benchmark, Measurement, Options, Section } from './report.ts'
import { compare } from './rivals.ts'
import { type Database, migrate, type Server, startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'
import { newTenant } from './tenant.ts'

/** Spans per pipeline run. */
const SPANS_PER_RUN = 10
/** Concurrent clients. */
const STREAMS = 2

const Costs = v.object({ d1RoundTrips: v.number(), rowsWritten: v.number(), r2Calls: v.number() })
const Traces = v.object({ traces: v.array(v.object({ id: v.string() })) })
const Detail = v.object({
  spans: v.array(v.object({ output: v.unknown() })),
  nextSpanCursor: v.nullable(v.string()),
})

/** OTLP exports by number of spans. */
export const exports: Benchmark = async options => {
  const { isQuick } = options
  await using server = await startServer([
    { name: 'countersign', program: 'countersign', database: 'countersign' },
    { name: 'measured', program: 'measured', database: 'countersign' },
    { name: 'bare', program: 'bare-exports', database: 'bare' },
  ])
  const client = await newTenant(server, 'countersign')
  const measured = client.at(await server.urlOf('measured'))
  const [rounds, sizes, large] = isQuick ? [1, [20], 200] : [15, [100, 1000], 10_000]
  const rates: number[][] = sizes.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [index, size] of sizes.entries()) {
      const bodies = Array.from({ length: STREAMS }, () => JSON.stringify(exportOf(runs(size, SPANS_PER_RUN))))
      const start = performance.now()
      await Promise.all(bodies.map(body => client.call('POST', '/v1/traces', body)))
      // The first round is a warm-up.
      if (round > 0) rates[index]?.push((STREAMS * size * 1000) / (performance.now() - start))
    }
  }
  const [smallest = []] = rates
  const measurements: Measurement[] = []
  for (const [index, size] of sizes.entries()) {
    const ofSize = rates[index] ?? []
    const ratios = ofSize.map((rate, round) => rate / (smallest[round] ?? Number.NaN))
    measurements.push({
      what: `${size.toLocaleString('en')} spans`,
      value: median(ratios),
      spread: spreadOf(ratios),
      more: { 'spans/s': median(ofSize) },
    })
  }
  return [
    await comparedWithBare(server, client, options),
    {
      title: `Spans per second by export size, relative to exports of ${sizes[0]} spans`,
      notes: [
        `OTLP/JSON, ${SPANS_PER_RUN} spans per trace, with the messages, documents, and usage of a support pipeline: about`,
        `${Math.round(JSON.stringify(exportOf(runs(100, SPANS_PER_RUN))).length / 100_000)} KB per span. ${STREAMS} clients export concurrently.`,
      ],
      measurements,
    },
    {
      title: 'Platform resources used per export',
      notes: [
        "A trace costs 5 rows plus one per searchable field. The more spans it has, the smaller each span's share.",
      ],
      measurements: await costs(measured, sizes),
    },
    await readBack(client, large),
  ]
}

/** The speed of exports, compared with that of a minimal Worker in the same workerd. */
async function comparedWithBare(server: Server, client: Client, options: Options): Promise<Section> {
  const database = await server.databaseOf('countersign')
  await migrate(await server.databaseOf('bare'))
  const bare = new Client(await server.urlOf('bare'), {})
  const spans = options.isQuick ? 20 : 100
  const cases: (RepeatedExport & Pick<Measurement, 'goal'>)[] = [
    { ...syntheticExport(spans, SPANS_PER_RUN), goal: { atLeast: 0.5 } },
    await recordedExport('MLflow', 'mlflow-otlp/001-traces.pb.gz', spans),
    await recordedExport('OpenInference, LangGraph', 'oi-langgraph/001-traces.pb.gz', spans),
    await recordedExport('OpenInference, smolagents', 'oi-smolagents/001-traces.pb.gz', spans),
  ]
  const measurements: Measurement[] = []
  for (const { what, spans, contentType, next, goal } of cases) {
    const exporter = client.adding({ 'content-type': contentType })
    await exporter.call('POST', '/v1/traces', next())
    await bare.call('PUT', '/', await lastExport(database, spans))
    const rivals = {
      countersign: () => exporter.call('POST', '/v1/traces', next()),
      bare: () => bare.call('POST', '/', next()),
    }
    const { more, ...ratio } = await compare(rivals, STREAMS, server.processId, options)
    measurements.push({
      what: `${what}, ${spans} spans`,
      ...ratio,
      ...(goal && { goal }),
      more: {
        'spans/s': more['requests/s'] * spans,
        'bare spans/s': more['bare requests/s'] * spans,
        'CPU µs per span': (more['CPU ms per request'] * 1000) / spans,
        'bare CPU µs': (more['bare CPU ms'] * 1000) / spans,
        'bare CPU/CPU': more['bare CPU/CPU'],
        'KB per span': next().byteLength / spans / 1000,
      },
    })
  }
  return {
    title: 'Exports: spans per second relative to a bare Worker',
    notes: [
      'The bare Worker reads the same bytes and inserts the same rows (traces, trace fields, and spans), with one statement',
      'for each table. It decodes nothing, because it got the rows in advance. Both run in one workerd and alternate in',
      'short blocks. The ratio is the median over pairs of neighboring blocks, with the interquartile range.',
      `${STREAMS} clients export concurrently. The recorded exports are protobuf.`,
    ],
    measurements,
  }
}

/** The rows that the last export added, by table. Columns that are null in every row are left out. */
async function lastExport(database: Database, spans: number) {
  const ofTraces = `trace_key in (select trace_key from spans order by trace_key desc limit ${spans})`
  const conditions = { traces: ofTraces.replace('trace_key', 'key'), trace_fields: ofTraces, spans: ofTraces }
  const tables = Object.entries(conditions).map(async ([name, condition]) => {
    const { results } = await database
      .prepare(`select * from ${name} where ${condition}`)
      .all<Record<string, unknown>>()
    const columns = Object.keys(results[0] ?? {}).filter(column => results.some(row => row[column] !== null))
    return { name, columns, rows: results.map(row => columns.map(column => row[column])) }
  })
  return Promise.all(tables)
}

async function costs(measured: Client, sizes: readonly number[]): Promise<Measurement[]> {
  const measurements: Measurement[] = []
  for (const size of sizes) {
    for (const spansATrace of [SPANS_PER_RUN, size]) {
      const { headers } = await measured.call('POST', '/v1/traces', exportOf(runs(size, spansATrace)))
      const { rowsWritten, d1RoundTrips, r2Calls } = v.parse(Costs, JSON.parse(String(headers['x-measured'])))
      measurements.push({
        what: `${size.toLocaleString('en')} spans, ${spansATrace.toLocaleString('en')} per trace: rows written per span`,
        value: rowsWritten / size,
        goal: { atMost: 2 },
        more: { 'rows written': rowsWritten, 'D1 round trips': d1RoundTrips, 'R2 calls': r2Calls },
      })
    }
  }
  return measurements
}

/** Exports a trace with thousands of spans as a batch processor does, and reads the whole trace back. */
async function readBack(client: Client, count: number) {
  const [spans = []] = runs(count, count)
  for (let start = 0; start < count; start += BATCH) {
    await client.call('POST', '/v1/traces', exportOf([spans.slice(start, start + BATCH)]))
  }
  const { body: listed } = await client.call('GET', '/api/traces?projectSlug=bench&limit=1')
  const [trace] = v.parse(Traces, JSON.parse(listed)).traces
  const outputs: unknown[] = []
  const pages: { bytes: number; ms: number }[] = []
  for (let query = ''; ; ) {
    const { body, ms } = await client.call('GET', `/api/traces/${trace?.id}${query}`)
    const { spans, nextSpanCursor } = v.parse(Detail, JSON.parse(body))
    outputs.push(...spans.map(({ output }) => output))
    pages.push({ bytes: body.length, ms })
    if (nextSpanCursor === null) break
    query = `?spanCursor=${encodeURIComponent(nextSpanCursor)}`
  }
  if (outputs.length !== count || outputs.includes(null))
    throw new Error(`${outputs.length} of ${count} spans were read back`)
  return {
    title: `A trace with ${count.toLocaleString('en')} spans, exported ${BATCH} at a time`,
    measurements: [
      {
        what: 'spans read back, each with its output',
        value: outputs.length,
        more: {
          pages: pages.length,
          MB: pages.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6,
          ms: pages.reduce((sum, { ms }) => sum + ms, 0),
        },
      },
    ],
  }
}

/** The number of spans that the batch processors of OpenTelemetry's SDKs send at once. */
const BATCH = 512
