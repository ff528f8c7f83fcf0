import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { textOf } from './events.ts'
import { PROJECT } from './server.ts'

/** An export to send many times, with new traces each time. */
export interface RepeatedExport {
  what: string
  spans: number
  contentType: string
  /** The body, with new trace ids. Span ids stay the same, because they only need to be unique within a trace. */
  next: () => Buffer
}

/** An export of the synthetic support pipeline. */
export function syntheticExport(spans: number, spansATrace: number): RepeatedExport {
  const traces = runs(spans, spansATrace)
  const body = Buffer.from(JSON.stringify(exportOf(traces)))
  const groups = traces.map(([span]) => placesOf(body, Buffer.from(span?.traceId ?? '')))
  const newId = () => Buffer.from(randomBytes(TRACE_ID_BYTES).toString('hex'))
  return {
    what: 'OTLP/JSON of a support pipeline',
    spans,
    contentType: 'application/json',
    next: () => withNewIds(body, groups, newId),
  }
}

/**
 * A client's recorded export, repeated until it has about this many spans. Concatenated protobuf messages merge into
 * one.
 */
export async function recordedExport(what: string, file: string, spans: number): Promise<RepeatedExport> {
  const one = await promisify(gunzip)(await readFile(resolve(RECORDED, file)))
  const decoded = String(await promisify(gunzip)(await readFile(DECODES)))
  const json = JSON.stringify(JSON.parse(decoded)[file])
  const spansOfOne = json.match(/"spanId"/g)?.length ?? 0
  const copies = Math.max(1, Math.round(spans / spansOfOne))
  const ids = new Set(Array.from(json.matchAll(/"traceId":"([0-9a-f]+)"/g), ([, id]) => id ?? ''))
  const groups = Array.from({ length: copies }, (_, copy) =>
    [...ids].map(id => placesOf(one, Buffer.from(id, 'hex')).map(place => place + copy * one.byteLength)),
  ).flat()
  const body = Buffer.concat(Array.from({ length: copies }, () => one))
  return {
    what,
    spans: copies * spansOfOne,
    contentType: 'application/x-protobuf',
    next: () => withNewIds(body, groups, () => randomBytes(TRACE_ID_BYTES)),
  }
}

const RECORDED = resolve(PROJECT, 'test/otlp/recorded')
/** The recorded bodies in OTLP/JSON, by file. */
const DECODES = resolve(PROJECT, 'test/otlp/recorded-decodes.json.gz')
const TRACE_ID_BYTES = 16

/** A copy of the body with a new id at each group of places. All places in a group get the same id. */
function withNewIds(body: Buffer, groups: readonly number[][], newId: () => Buffer): Buffer {
  const copy = Buffer.from(body)
  for (const places of groups) {
    const id = newId()
    for (const place of places) id.copy(copy, place)
  }
  return copy
}

function placesOf(body: Buffer, id: Buffer): number[] {
  const places: number[] = []
  for (let place = body.indexOf(id); place >= 0; place = body.indexOf(id, place + 1)) places.push(place)
  return places
}

/** This many spans, in traces of `spansATrace` spans. */
export const runs = (count: number, spansATrace: number) =>
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

export const exportOf = (traces: readonly object[][]) => ({
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
