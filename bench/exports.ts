import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import type { Client } from './client.ts'
import { textOf } from './events.ts'
import type { Benchmark, Measurement } from './report.ts'
import { startServer } from './server.ts'
import { median, spreadOf } from './statistics.ts'
import { newTenant } from './tenant.ts'

/** Spans per pipeline run. */
const SPANS_PER_RUN = 10
/** Concurrent clients. */
const STREAMS = 2

const Costs = v.object({ d1RoundTrips: v.number(), rowsWritten: v.number(), r2Calls: v.number() })
const Traces = v.object({ traces: v.array(v.object({ id: v.string() })) })
const Detail = v.object({ spans: v.array(v.object({ output: v.unknown() })) })

/** OTLP exports by number of spans. */
export const exports: Benchmark = async ({ isQuick }) => {
  await using server = await startServer([
    { name: 'countersign', program: 'countersign', database: 'countersign' },
    { name: 'measured', program: 'measured', database: 'countersign' },
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
      // The first round warms up.
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
    {
      title: `Spans per second by export size, relative to exports of ${sizes[0]} spans`,
      notes: [
        `OTLP/JSON, ${SPANS_PER_RUN} spans per trace, with the messages, documents, and usage of a support pipeline: about`,
        `${Math.round(JSON.stringify(exportOf(runs(100, SPANS_PER_RUN))).length / 100_000)} KB per span. ${STREAMS} clients export concurrently.`,
      ],
      measurements,
    },
    {
      title: 'Platform use of an export',
      notes: [
        'A trace costs 5 rows plus one per searchable field. The more spans it has, the smaller the share of each.',
      ],
      measurements: await costs(measured, sizes),
    },
    await readBack(client, large),
  ]
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

/** Exports a trace with thousands of spans as a batch processor does, and reads it back whole. */
async function readBack(client: Client, count: number) {
  const [spans = []] = runs(count, count)
  for (let start = 0; start < count; start += BATCH) {
    await client.call('POST', '/v1/traces', exportOf([spans.slice(start, start + BATCH)]))
  }
  const { body: listed } = await client.call('GET', '/api/traces?projectSlug=bench&limit=1')
  const [trace] = v.parse(Traces, JSON.parse(listed)).traces
  const { body, ms } = await client.call('GET', `/api/traces/${trace?.id}`)
  const detail = v.parse(Detail, JSON.parse(body))
  const isWhole = detail.spans.every(({ output }) => output !== null)
  if (detail.spans.length !== count || !isWhole)
    throw new Error(`${detail.spans.length} of ${count} spans were read back`)
  return {
    title: `A trace with ${count.toLocaleString('en')} spans, exported ${BATCH} at a time`,
    measurements: [
      {
        what: 'spans read back, each with its output',
        value: detail.spans.length,
        more: { 'body, MB': body.length / 1e6, ms },
      },
    ],
  }
}

/** The number of spans that the batch processors of OpenTelemetry's SDKs send at once. */
const BATCH = 512

/** This many spans, in traces of `spansATrace`. */
const runs = (count: number, spansATrace: number) =>
  Array.from({ length: Math.ceil(count / spansATrace) }, () => run(spansATrace))

function run(spanCount: number) {
  const traceId = randomBytes(16).toString('hex')
  const rootId = randomBytes(8).toString('hex')
  const startNs = BigInt(Date.now()) * 1_000_000n
  return Array.from({ length: spanCount }, (_, index) => {
    const [name, attributes] = index === 0 ? ROOT : (STEPS[index % STEPS.length] ?? ROOT)
    return {
      traceId,
      spanId: index === 0 ? rootId : randomBytes(8).toString('hex'),
      ...(index > 0 && { parentSpanId: rootId }),
      name,
      kind: 1,
      startTimeUnixNano: String(startNs + BigInt(index) * 1_000_000n),
      endTimeUnixNano: String(startNs + BigInt(index + 1) * 1_000_000n),
      attributes,
      status: {},
    }
  })
}

const exportOf = (traces: readonly object[][]) => ({
  resourceSpans: [
    {
      resource: { attributes: keyValues({ 'service.name': 'support', 'deployment.environment.name': 'production' }) },
      scopeSpans: [{ scope: { name: 'bench' }, spans: traces.flat() }],
    },
  ],
})

const keyValues = (attributes: Record<string, string | number>) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }))

const messagesOf = (role: string, text: string) => JSON.stringify([{ role, parts: [{ type: 'text', content: text }] }])
const ANSWER = messagesOf('assistant', textOf(300))

/** The name and attributes of a span in a run. */
type Step = readonly [name: string, attributes: ReturnType<typeof keyValues>]

const ROOT: Step = [
  'invoke_agent support',
  keyValues({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'support',
    'gen_ai.conversation.id': 'conversation-42',
    'user.id': 'user-7',
    'gen_ai.input.messages': messagesOf('user', textOf(100)),
    'gen_ai.output.messages': ANSWER,
  }),
]

const STEPS: readonly Step[] = [
  [
    'chat gpt-4.1-mini',
    keyValues({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4.1-mini',
      'gen_ai.usage.input_tokens': 420,
      'gen_ai.usage.output_tokens': 90,
      'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: textOf(600) }]),
      'gen_ai.input.messages': messagesOf('user', textOf(1200)),
      'gen_ai.output.messages': ANSWER,
    }),
  ],
  [
    'retrieval docs',
    keyValues({
      'gen_ai.operation.name': 'retrieval',
      'gen_ai.data_source.id': 'docs',
      'gen_ai.retrieval.query.text': textOf(80),
      'gen_ai.retrieval.documents': JSON.stringify(
        Array.from({ length: 5 }, (_, index) => ({
          id: `doc-${index}`,
          score: 0.9 - index / 10,
          content: textOf(300),
        })),
      ),
      'output.value': textOf(100),
    }),
  ],
  [
    'execute_tool get_order',
    keyValues({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_order',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.tool.call.arguments': '{"order":7}',
      'gen_ai.tool.call.result': '{"status":"shipped"}',
    }),
  ],
]
