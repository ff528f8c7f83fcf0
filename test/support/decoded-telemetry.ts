import type { Json } from '../../src/domain/json.ts'
import { mediaTypeOf } from '../../src/otlp/media-type.ts'
import { type Convention, type Reading, SpanReader } from '../../src/otlp/reading/convention.ts'
import type { TelemetryLog, TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import { decodeLogs, decodeTraces } from './decode.ts'
import { recorded, unpacked } from './recorded.ts'

const START_NS = 1_795_260_983_000_000_000n

/** The fields of a span or a log record that tests give as plain objects. */
interface Given {
  scope?: string
  resource?: Record<string, Json>
  attributes?: Record<string, Json>
}

const sourceOf = ({ scope = 'app', resource = {} }: Given) => ({
  resource: new Map(Object.entries(resource)),
  scope: { name: scope, version: '1.0.0', attributes: new Map<string, Json>() },
})

export interface GivenEvent {
  name: string
  attributes: Record<string, Json>
}

interface GivenSpan extends Given {
  name?: string
  parentSpanId?: string | null
  status?: TelemetrySpan['status']
  events?: readonly GivenEvent[]
}

/** A span that takes one second. It's a root unless it has a parent. */
export const aSpan = (given: GivenSpan = {}): TelemetrySpan => ({
  source: sourceOf(given),
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  parentSpanId: given.parentSpanId ?? null,
  hasRemoteParent: false,
  traceState: '',
  name: given.name ?? 'step',
  spanKind: 'internal',
  startNs: START_NS,
  endNs: START_NS + 1_000_000_000n,
  attributes: new Map(Object.entries(given.attributes ?? {})),
  events: (given.events ?? []).map(({ name, attributes }) => ({
    name,
    timeNs: START_NS,
    attributes: new Map(Object.entries(attributes)),
  })),
  links: [],
  status: given.status ?? 'unset',
  statusMessage: '',
  dropped: { attributes: 0, events: 0, links: 0 },
})

interface GivenLog extends Given, Partial<Pick<TelemetryLog, 'traceId' | 'spanId' | 'timeNs' | 'eventName' | 'body'>> {}

/** A log record for the span that `aSpan` returns. */
export const aLog = (given: GivenLog = {}): TelemetryLog => ({
  source: sourceOf(given),
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  timeNs: START_NS,
  eventName: '',
  body: null,
  ...Object.fromEntries(Object.entries(given).filter(([field]) => LOG_FIELDS.has(field))),
  attributes: new Map(Object.entries(given.attributes ?? {})),
})

const LOG_FIELDS = new Set(['traceId', 'spanId', 'timeNs', 'eventName', 'body'])

/** The fields that a convention reads from a span, and the attributes that it leaves unread. */
export function readAs(
  convention: Convention,
  span: TelemetrySpan,
): { reading: Reading | undefined; unread: string[] } {
  const reader = new SpanReader(span)
  const reading = convention.read(reader)
  return { reading, unread: [...reader.unread().keys()] }
}

/** A recorded client's spans, in export order. */
export async function recordedSpans(directory: string): Promise<TelemetrySpan[]> {
  const requests = recorded().filter(request => request.directory === directory && request.signal === 'traces')
  const decoded = await Promise.all(
    requests.map(async request =>
      decodeTraces(await unpacked(request), mediaTypeOf(request.headers['content-type'] ?? null)),
    ),
  )
  return decoded.flatMap(({ records }) => records)
}

/** A recorded client's log records. */
export async function recordedLogs(directory: string): Promise<TelemetryLog[]> {
  const requests = recorded().filter(request => request.directory === directory && request.signal === 'logs')
  const decoded = await Promise.all(
    requests.map(async request =>
      decodeLogs(await unpacked(request), mediaTypeOf(request.headers['content-type'] ?? null)),
    ),
  )
  return decoded.flatMap(({ records }) => records)
}
