import { exportedSpanUuid, traceUuid } from '../../src/domain/ids.ts'
import { TIME } from './builders.ts'
import { newOrg, type Org } from './org.ts'

/** A random 16-byte trace id or 8-byte span id, as hex. */
export const aHexTraceId = (): string => crypto.randomUUID().replaceAll('-', '')
export const aHexSpanId = (): string => aHexTraceId().slice(16)

/** The time that is this many milliseconds after TIME, in nanoseconds, as in OTLP/JSON. */
export const nanosecondsAfter = (milliseconds: number): string =>
  String(BigInt(Date.parse(TIME) + milliseconds) * 1_000_000n)

/** An attribute value in OTLP/JSON. */
export function anyValue(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  if (typeof value === 'object' && value !== null) return { kvlistValue: { values: keyValues(value) } }
  return {}
}

const keyValues = (attributes: object) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: anyValue(value) }))

/** The fields of a span that a test sets. The others have defaults. */
export interface SpanFields {
  traceId?: string
  spanId?: string
  parentSpanId?: string
  name?: string
  /** Milliseconds after TIME. */
  start?: number
  end?: number
  attributes?: object
  [field: string]: unknown
}

/** An OTLP/JSON span. By default, it's a model call. */
export function anExportedSpan({ start = 0, end = start + 100, attributes, ...fields }: SpanFields = {}) {
  const llm = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4.1-mini' }
  return {
    traceId: aHexTraceId(),
    spanId: aHexSpanId(),
    name: 'chat gpt-4.1-mini',
    startTimeUnixNano: nanosecondsAfter(start),
    endTimeUnixNano: nanosecondsAfter(end),
    attributes: keyValues(attributes ?? llm),
    ...fields,
  }
}

/** An export of spans in OTLP/JSON. */
export const anExport = (spans: readonly object[], resource: object = { 'service.name': 'demo' }) => ({
  resourceSpans: [
    { resource: { attributes: keyValues(resource) }, scopeSpans: [{ scope: { name: 'test', version: '1' }, spans }] },
  ],
})

/** Sends spans and expects success. */
export async function exportSpans(org: Org, spans: readonly object[], path = '/v1/traces') {
  const response = await org.ingest.post(path, anExport(spans))
  if (response.status !== 200)
    throw new Error(`the export returned ${response.status}: ${JSON.stringify(response.body)}`)
  return response
}

/** An export of log records in OTLP/JSON. */
export const aLogExport = (logRecords: readonly object[]) => ({
  resourceLogs: [{ resource: { attributes: [] }, scopeLogs: [{ scope: { name: 'test' }, logRecords }] }],
})

/** A user's message as a log record. */
export const aMessage = (fields: object = {}) => ({
  traceId: aHexTraceId(),
  spanId: aHexSpanId(),
  timeUnixNano: nanosecondsAfter(10),
  eventName: 'gen_ai.user.message',
  body: anyValue({ content: 'What is the refund policy?' }),
  ...fields,
})

/** An export of the signal that a path accepts. */
export function anExportTo(path: string): object {
  if (path.endsWith('/logs')) return aLogExport([aMessage()])
  if (path.endsWith('/metrics')) return { resourceMetrics: [] }
  return anExport([anExportedSpan()])
}

/** Creates a tenant, and returns functions that send and read one OpenTelemetry trace. */
export async function newRun() {
  const org = await newOrg()
  const traceId = aHexTraceId()
  const trace_id = `trace_${traceId}`
  const id = await traceUuid(org.project.id, trace_id)
  const span = (fields: SpanFields) => anExportedSpan({ traceId, ...fields })
  const uuidOf = (spanId: string) => exportedSpanUuid(org.project.id, traceId, spanId)
  const read = async () => (await org.read.get(`/api/traces/${id}`)).body
  return { org, traceId, trace_id, id, span, uuidOf, read }
}
