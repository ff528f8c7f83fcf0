import $protobuf from 'protobufjs/minimal.js'
import { hex } from '../domain/hex.ts'
import type { Json } from '../domain/json.ts'
import type { Work } from '../domain/turns.ts'
import { badRequest, tooLarge } from '../http/errors.ts'
import { MAX_ATTRIBUTE_DEPTH, MAX_EXPORT_ITEMS } from '../limits.ts'
import { paced, type UncheckedLog, type UncheckedSpan, type Unread } from './check.ts'
import { opentelemetry } from './proto/messages.js'
import {
  type Attributes,
  type Source,
  SPAN_KINDS,
  type TelemetryEvent,
  type TelemetryLink,
} from './reading/telemetry.ts'
import { CUT_VALUE, doubleValue, integerValue, isRemoteParent, objectValue, STATUSES } from './reading/values.ts'

const { AnyValue, InstrumentationScope } = opentelemetry.proto.common.v1
const { Resource } = opentelemetry.proto.resource.v1
const { Span } = opentelemetry.proto.trace.v1
const { LogRecord } = opentelemetry.proto.logs.v1

type Value = opentelemetry.proto.common.v1.AnyValue.$Shape
type KeyValue = opentelemetry.proto.common.v1.KeyValue.$Shape
type SpanMessage = opentelemetry.proto.trace.v1.Span.$Shape
type ScopeMessage = opentelemetry.proto.common.v1.InstrumentationScope.$Shape
type LogMessage = opentelemetry.proto.logs.v1.LogRecord.$Shape
type Integer64 = SpanMessage['startTimeUnixNano']

const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true })

/** How many more items an export may contain. */
interface Allowance {
  items: number
}

/** Reads the fields of a message. Limits their number, and replaces invalid UTF-8 instead of rejecting the export. */
class ExportReader extends $protobuf.Reader {
  readonly #allowance: Allowance
  /** The number of values around the current value. */
  valueDepth = 0

  constructor(bytes: Uint8Array, allowance: Allowance) {
    super(bytes)
    this.#allowance = allowance
  }

  /** A reader for a message inside this one. */
  over(message: Uint8Array): ExportReader {
    return new ExportReader(message, this.#allowance)
  }

  /** Called at the start of each message and string. */
  override size(): number {
    if (--this.#allowance.items < 0) throw tooLarge(`The body has more than ${MAX_EXPORT_ITEMS} messages and strings`)
    return super.size()
  }

  override stringVerify(): string {
    // In workerd, this is three times as fast as protobufjs's own decoding of short strings.
    return decoder.decode(this.bytes())
  }
}

/** The full signature of a generated `decode`. For a nested message, it's called with all five arguments. */
type DecodeValue = (
  reader: $protobuf.Reader | Uint8Array,
  length?: number,
  endTag?: number,
  messageDepth?: number,
  target?: object,
) => ReturnType<typeof AnyValue.decode>

const decodeValue: DecodeValue = AnyValue.decode

/** An AnyValue that holds CUT_VALUE: field 1, the length, the text. */
const CUT_MESSAGE = Uint8Array.of(0x0a, CUT_VALUE.length, ...new TextEncoder().encode(CUT_VALUE))

/**
 * Reads a value and everything in it. Truncates values that are nested too deeply, because protobufjs would reject the
 * whole export.
 */
const decodeBoundedValue: DecodeValue = (reader, length, endTag, _, target) => {
  if (!(reader instanceof ExportReader)) return decodeValue(reader, length)
  if (reader.valueDepth === MAX_ATTRIBUTE_DEPTH) {
    reader.skip(length ?? 0)
    return decodeValue(CUT_MESSAGE)
  }
  reader.valueDepth++
  // Restart protobufjs's own depth at 0, because it counts messages, and each level of values has up to three.
  const value = decodeValue(reader, length, endTag, 0, target)
  reader.valueDepth--
  return value
}
AnyValue.decode = decodeBoundedValue

/**
 * Yields the spans of an ExportTraceServiceRequest one by one, without keeping all of them in memory. Errors: 400, 413.
 */
export const spansOfProtobuf = (request: Uint8Array): Unread<UncheckedSpan> =>
  records(request, (reader, source) => spanOf(Span.decode(reader), source))

/** Yields the log records of an ExportLogsServiceRequest one by one. Errors: 400, 413. */
export const logsOfProtobuf = (request: Uint8Array): Unread<UncheckedLog> =>
  records(request, (reader, source) => logOf(LogRecord.decode(reader), source))

/** Counts the data points of an ExportMetricsServiceRequest. Errors: 400, 413. */
export function* countProtobufDataPoints(request: Uint8Array): Work<number> {
  let count = 0
  yield* paced(records(request, countInMetric), pointsOf => {
    count += pointsOf()
    return 1
  })
  return count
}

/** The field numbers on the path to a record, the same in all three signals. */
const RESOURCES = 1
const RESOURCE = 1
const SCOPES = 2
const SCOPE = 1
const RECORDS = 2

/**
 * Yields records one by one. Decoding the whole export at once would keep its tree in memory along with the results.
 */
function* records<RecordType>(
  request: Uint8Array,
  recordOf: (reader: ExportReader, source: Source) => RecordType,
): Generator<(() => RecordType) | undefined> {
  const reader = new ExportReader(request, { items: MAX_EXPORT_ITEMS })
  let isExport = request.byteLength === 0
  for (const ofResource of fields(reader, RESOURCES)) {
    isExport = true
    const resource = new Map<string, Json>()
    for (const message of fields(reader.over(ofResource), RESOURCE)) {
      addAttributes(resource, Resource.decode(reader.over(message)).attributes)
    }
    for (const ofScope of fields(reader.over(ofResource), SCOPES)) {
      const scope = { name: '', version: '', attributes: new Map<string, Json>() }
      for (const message of fields(reader.over(ofScope), SCOPE)) {
        addScope(scope, InstrumentationScope.decode(reader.over(message)))
      }
      const source = { resource, scope }
      for (const message of fields(reader.over(ofScope), RECORDS)) yield () => recordOf(reader.over(message), source)
      yield undefined
    }
    yield undefined
  }
  if (!isExport) throw badRequest("The body isn't an OTLP export")
}

const LENGTH_DELIMITED = 2

/**
 * Yields the content of the given fields, in order. A singular field that occurs more than once is merged, as protobuf
 * requires.
 */
function* fields(reader: ExportReader, ...numbers: number[]): Generator<Uint8Array> {
  while (reader.pos < reader.len) {
    const tag = reader.tag()
    const field = tag >>> 3
    const wireType = tag & 7
    if (wireType === LENGTH_DELIMITED && numbers.includes(field)) yield reader.bytes()
    else reader.skipType(wireType, 0, field)
  }
}

function addScope(scope: Source['scope'] & { attributes: Map<string, Json> }, message: ScopeMessage): void {
  scope.name = message.name || scope.name
  scope.version = message.version || scope.version
  addAttributes(scope.attributes, message.attributes)
}

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

const eventOf = (event: opentelemetry.proto.trace.v1.Span.Event.$Shape): TelemetryEvent => ({
  name: event.name ?? '',
  timeNs: unsigned(event.timeUnixNano),
  attributes: attributesOf(event.attributes),
})

const linkOf = (link: opentelemetry.proto.trace.v1.Span.Link.$Shape): TelemetryLink => ({
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

/** The fields of a metric that hold data points: gauge, sum, histogram, exponential histogram, summary. */
const METRIC_DATA = [5, 7, 9, 10, 11]
const DATA_POINTS = 1

function countInMetric(metric: ExportReader): number {
  let count = 0
  for (const data of fields(metric, ...METRIC_DATA)) {
    for (const _ of fields(metric.over(data), DATA_POINTS)) count++
  }
  return count
}

const idOf = (bytes: Uint8Array | null | undefined): string => (bytes ? hex(bytes) : '')

const attributesOf = (keyValues: readonly KeyValue[] | null | undefined): Attributes =>
  addAttributes(new Map(), keyValues)

function addAttributes(attributes: Map<string, Json>, keyValues: readonly KeyValue[] | null | undefined): Attributes {
  for (const { key, value } of keyValues ?? []) attributes.set(key ?? '', jsonOf(value))
  return attributes
}

function jsonOf(value: Value | null | undefined): Json {
  if (!value) return null
  switch (value.value) {
    case 'stringValue':
      return value.stringValue
    case 'boolValue':
      return value.boolValue
    case 'intValue':
      return integerValue(signed(value.intValue))
    case 'doubleValue':
      return doubleValue(value.doubleValue)
    case 'arrayValue':
      return (value.arrayValue.values ?? []).map(jsonOf)
    case 'kvlistValue':
      return objectValue((value.kvlistValue.values ?? []).map(fieldOf))
    case 'bytesValue':
      return $protobuf.util.base64.encode(value.bytesValue, 0, value.bytesValue.length)
    default:
      return null
  }
}

const fieldOf = ({ key, value }: KeyValue) => [key ?? '', jsonOf(value)] as const

const unsigned = (integer: Integer64): bigint => BigInt.asUintN(64, signed(integer))

/** A 64-bit integer, which protobufjs returns as two halves. */
function signed(integer: Integer64): bigint {
  if (typeof integer !== 'object' || integer === null) return BigInt(integer ?? 0)
  return (BigInt(integer.high) << 32n) | BigInt(integer.low >>> 0)
}
