import $protobuf from 'protobufjs/minimal.js'
import type { Json } from '../domain/json.ts'
import { badRequest } from '../http/errors.ts'
import { MAX_ATTRIBUTE_DEPTH } from '../limits.ts'
import type { UncheckedLog, UncheckedSpan } from './check.ts'
import { opentelemetry } from './proto/messages.js'
import { type Attributes, type Source, SPAN_KINDS, type TelemetryEvent, type TelemetryLink } from './telemetry.ts'
import { CUT_VALUE, doubleValue, hex, integerValue, isRemoteParent, objectValue, STATUSES } from './values.ts'

const { AnyValue, InstrumentationScope } = opentelemetry.proto.common.v1
const { Resource } = opentelemetry.proto.resource.v1
const { Span } = opentelemetry.proto.trace.v1
const { LogRecord } = opentelemetry.proto.logs.v1

type Value = opentelemetry.proto.common.v1.AnyValue.$Properties
type KeyValue = opentelemetry.proto.common.v1.KeyValue.$Properties
type SpanMessage = opentelemetry.proto.trace.v1.Span.$Properties
type LogMessage = opentelemetry.proto.logs.v1.LogRecord.$Properties
type Integer64 = SpanMessage['startTimeUnixNano']

/** Reads a message's fields, and replaces what is no UTF-8 in its strings instead of refusing the whole export. */
class LenientReader extends $protobuf.Reader {
  /** How many values the one that is being read lies in. */
  valueDepth = 0

  override stringVerify(): string {
    return this.string()
  }
}

/** What a message's generated `decode` really takes: where it is a field of another message, it is called with all five. */
type DecodeValue = (
  reader: $protobuf.Reader | Uint8Array,
  length?: number,
  endTag?: number,
  messageDepth?: number,
  target?: Value,
) => ReturnType<typeof AnyValue.decode>

const decodeValue: DecodeValue = AnyValue.decode

/** An AnyValue with the text that stands for what was cut: field 1, its length, and it. */
const CUT_MESSAGE = Uint8Array.of(0x0a, CUT_VALUE.length, ...new TextEncoder().encode(CUT_VALUE))

/** Reads a value and what lies in it. What nests too deep is cut there, which the module itself would refuse with all the rest. */
const decodeBoundedValue: DecodeValue = (reader, length, endTag, _, target) => {
  if (!(reader instanceof LenientReader)) return decodeValue(reader, length)
  if (reader.valueDepth === MAX_ATTRIBUTE_DEPTH) {
    reader.skip(length ?? 0)
    return decodeValue(CUT_MESSAGE)
  }
  reader.valueDepth++
  // Its messages are counted from 0 again: the module's own limit is one of messages, of which a level has up to three.
  const value = decodeValue(reader, length, endTag, 0, target)
  reader.valueDepth--
  return value
}
AnyValue.decode = decodeBoundedValue

/** The spans of an ExportTraceServiceRequest, one after another: its whole tree would be held twice. Errors: 400. */
export const spansOfProtobuf = (request: Uint8Array): Generator<UncheckedSpan> =>
  records(request, (bytes, source) => spanOf(Span.decode(new LenientReader(bytes)), source))

/** The log records of an ExportLogsServiceRequest likewise. */
export const logsOfProtobuf = (request: Uint8Array): Generator<UncheckedLog> =>
  records(request, (bytes, source) => logOf(LogRecord.decode(new LenientReader(bytes)), source))

/** The numbers of the fields that lead to a record: they are the same in all three signals. */
const RESOURCES = 1
const RESOURCE = 1
const SCOPES = 2
const SCOPE = 1
const RECORDS = 2

function* records<RecordType>(
  request: Uint8Array,
  recordOf: (bytes: Uint8Array, source: Source) => RecordType,
): Generator<RecordType> {
  try {
    for (const inResource of fields(request, RESOURCES)) {
      const resource = new Map<string, Json>()
      for (const bytes of fields(inResource, RESOURCE)) {
        addAttributes(resource, Resource.decode(new LenientReader(bytes)).attributes)
      }
      for (const inScope of fields(inResource, SCOPES)) {
        const source = { resource, scope: scopeOf(inScope) }
        for (const bytes of fields(inScope, RECORDS)) yield recordOf(bytes, source)
      }
    }
  } catch (error) {
    throw undecodable(error)
  }
}

function scopeOf(inScope: Uint8Array): Source['scope'] {
  const attributes = new Map<string, Json>()
  let name = ''
  let version = ''
  for (const bytes of fields(inScope, SCOPE)) {
    const scope = InstrumentationScope.decode(new LenientReader(bytes))
    name = scope.name || name
    version = scope.version || version
    addAttributes(attributes, scope.attributes)
  }
  return { name, version, attributes }
}

/** The fields of a metric that hold data points, one for each kind: gauge, sum, histogram, exponential histogram, summary. */
const METRIC_DATA = [5, 7, 9, 10, 11]
const DATA_POINTS = 1

/** How many data points an ExportMetricsServiceRequest has. Errors: 400. */
export function countProtobufDataPoints(request: Uint8Array): number {
  try {
    let count = 0
    for (const inResource of fields(request, RESOURCES)) {
      for (const inScope of fields(inResource, SCOPES)) {
        for (const metric of fields(inScope, RECORDS)) count += countInMetric(metric)
      }
    }
    return count
  } catch (error) {
    throw undecodable(error)
  }
}

function countInMetric(metric: Uint8Array): number {
  let count = 0
  for (const kind of METRIC_DATA) {
    for (const data of fields(metric, kind)) {
      for (const _ of fields(data, DATA_POINTS)) count++
    }
  }
  return count
}

const LENGTH_DELIMITED = 2

/** The contents of each field of this number in a message, in their order; none may be skipped, a field may come twice. */
function* fields(message: Uint8Array, number: number): Generator<Uint8Array> {
  const reader = new $protobuf.Reader(message)
  while (reader.pos < reader.len) {
    const tag = reader.tag()
    const field = tag >>> 3
    const wireType = tag & 7
    if (field === number && wireType === LENGTH_DELIMITED) yield reader.bytes()
    else reader.skipType(wireType, 0, field)
  }
}

/** What the module throws is about the bytes; a TypeError would be a mistake of ours. */
const undecodable = (error: unknown): unknown =>
  error instanceof TypeError ? error : badRequest('The body is not an OTLP export in protobuf')

const spanOf = (span: SpanMessage, source: Source): UncheckedSpan => ({
  source,
  traceId: idOf(span.traceId),
  spanId: idOf(span.spanId),
  parentSpanId: idOf(span.parentSpanId),
  hasRemoteParent: isRemoteParent(span.flags ?? 0),
  traceState: span.traceState ?? '',
  name: span.name ?? '',
  spanKind: SPAN_KINDS[span.kind ?? 0] ?? 'unspecified',
  startNs: unsigned(span.startTimeUnixNano),
  endNs: unsigned(span.endTimeUnixNano),
  attributes: attributesOf(span.attributes),
  events: (span.events ?? []).map(eventOf),
  links: (span.links ?? []).map(linkOf),
  status: STATUSES[span.status?.code ?? 0] ?? 'unset',
  statusMessage: span.status?.message ?? '',
  dropped: {
    attributes: span.droppedAttributesCount ?? 0,
    events: span.droppedEventsCount ?? 0,
    links: span.droppedLinksCount ?? 0,
  },
})

const eventOf = (event: opentelemetry.proto.trace.v1.Span.Event.$Properties): TelemetryEvent => ({
  name: event.name ?? '',
  timeNs: unsigned(event.timeUnixNano),
  attributes: attributesOf(event.attributes),
})

const linkOf = (link: opentelemetry.proto.trace.v1.Span.Link.$Properties): TelemetryLink => ({
  traceId: idOf(link.traceId),
  spanId: idOf(link.spanId),
  traceState: link.traceState ?? '',
  attributes: attributesOf(link.attributes),
})

const logOf = (log: LogMessage, source: Source): UncheckedLog => ({
  source,
  traceId: idOf(log.traceId),
  spanId: idOf(log.spanId),
  timeNs: unsigned(log.timeUnixNano) || unsigned(log.observedTimeUnixNano),
  eventName: log.eventName ?? '',
  body: jsonOf(log.body),
  attributes: attributesOf(log.attributes),
})

const idOf = (bytes: Uint8Array | null | undefined): string => (bytes ? hex(bytes) : '')

const attributesOf = (keyValues: readonly KeyValue[] | null | undefined): Attributes =>
  addAttributes(new Map(), keyValues)

function addAttributes(attributes: Map<string, Json>, keyValues: readonly KeyValue[] | null | undefined): Attributes {
  for (const { key, value } of keyValues ?? []) attributes.set(key ?? '', jsonOf(value))
  return attributes
}

function jsonOf(value: Value | null | undefined): Json {
  if (!value) return null
  // One at most is there, the last that was sent. Asked one by one: the module's own `value` looks at all keys each time.
  if (typeof value.stringValue === 'string') return value.stringValue
  if (typeof value.boolValue === 'boolean') return value.boolValue
  if (typeof value.doubleValue === 'number') return doubleValue(value.doubleValue)
  if (value.intValue != null) return integerValue(signed(value.intValue))
  if (value.arrayValue) return (value.arrayValue.values ?? []).map(jsonOf)
  if (value.kvlistValue) return objectValue((value.kvlistValue.values ?? []).map(fieldOf))
  if (value.bytesValue) return $protobuf.util.base64.encode(value.bytesValue, 0, value.bytesValue.length)
  return null
}

const fieldOf = ({ key, value }: KeyValue) => [key ?? '', jsonOf(value)] as const

const unsigned = (integer: Integer64): bigint => BigInt.asUintN(64, signed(integer))

/** A 64-bit integer, which the module gives as two halves. */
function signed(integer: Integer64): bigint {
  if (typeof integer !== 'object' || integer === null) return BigInt(integer ?? 0)
  return (BigInt(integer.high) << 32n) | BigInt(integer.low >>> 0)
}
