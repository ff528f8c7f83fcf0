import $protobuf from 'protobufjs/minimal.js'
import { hex } from '../domain/hex.ts'
import { isJsonObject, type Json, type JsonObject } from '../domain/json.ts'
import type { Work } from '../domain/turns.ts'
import { checkStructure, parseJson } from '../http/body.ts'
import { ApiError, badRequest, errorWithin } from '../http/errors.ts'
import { LENGTH_PER_TURN, MAX_ATTRIBUTE_DEPTH, MAX_EXPORT_ITEMS } from '../limits.ts'
import { paced, type UncheckedLog, type UncheckedSpan, type Unread } from './check.ts'
import {
  type Attributes,
  type Signal,
  type Source,
  SPAN_KINDS,
  type TelemetryEvent,
  type TelemetryLink,
} from './reading/telemetry.ts'
import { CUT_VALUE, doubleValue, integerValue, isRemoteParent, objectValue, STATUSES } from './reading/values.ts'

/*
 * OTLP/JSON, read leniently: real senders deviate from the specification in ids, integers, enumerations, and empty
 * values. Input is rejected only if its data would otherwise be lost silently: if it has a list of another signal's
 * records or a misspelled list name.
 */

/** The names of the nested lists that lead to a signal's records. */
const LISTS: Readonly<Record<Signal, readonly [string, string, string]>> = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
}

/** Yields the spans of an ExportTraceServiceRequest one by one. Errors: a 400 that names the field. */
export const spansOfJson = (request: JsonObject): Unread<UncheckedSpan> => records(request, 'traces', spanOf)

/** Yields the log records of an ExportLogsServiceRequest one by one. Errors: a 400 that names the field. */
export const logsOfJson = (request: JsonObject): Unread<UncheckedLog> => records(request, 'logs', logOf)

/** Counts the data points of an ExportMetricsServiceRequest. Errors: a 400 that names the field. */
export function* countJsonDataPoints(request: JsonObject): Work<number> {
  let count = 0
  yield* paced(records(request, 'metrics', countInMetric), pointsOf => {
    count += pointsOf()
    return 1
  })
  return count
}

function* records<RecordType>(
  request: JsonObject,
  signal: Signal,
  recordOf: (record: JsonObject, source: Source) => RecordType,
): Generator<(() => RecordType) | undefined> {
  const [resourcesName, scopesName, recordsName] = LISTS[signal]
  for (const [resourceIndex, resourceItem] of list(request, resourcesName).entries()) {
    const resourcePlace = `${resourcesName}.${resourceIndex}`
    const { resource, scopes } = within(resourcePlace, () => {
      const ofResource = object(resourceItem)
      return { resource: part(ofResource, 'resource', attributesOf), scopes: list(ofResource, scopesName) }
    })
    for (const [scopeIndex, scopeItem] of scopes.entries()) {
      const scopePlace = `${resourcePlace}.${scopesName}.${scopeIndex}`
      const { scope, items } = within(scopePlace, () => {
        const ofScope = object(scopeItem)
        return { scope: part(ofScope, 'scope', scopeOf), items: list(ofScope, recordsName) }
      })
      const source = { resource, scope }
      for (const [index, item] of items.entries()) {
        yield () => within(`${scopePlace}.${recordsName}.${index}`, () => recordOf(object(item), source))
      }
      yield undefined
    }
    yield undefined
  }
}

/** Replaces invalid UTF-8, as in protobuf, because one broken string must not cost us a whole export. */
const decoder = new TextDecoder()

/**
 * Parses the body of an export. An empty object is an empty export; an object with only other fields isn't an export.
 * Errors: 400, 413.
 */
export function* parseExport(request: Uint8Array, signal: Signal): Work<JsonObject> {
  const content = decoder.decode(request)
  const isLong = content.length > LENGTH_PER_TURN
  if (isLong) yield
  checkStructure(content, MAX_EXPORT_ITEMS)
  if (isLong) yield
  const body = parseJson(content)
  if (isLong) yield
  if (!isJsonObject(body)) throw badRequest('The body must be a JSON object')
  const [expected] = LISTS[signal]
  const other = Object.values(LISTS)
    .filter(([name]) => name !== expected)
    .flatMap(([name]) => [name, snakeCase(name)])
    .find(name => Object.hasOwn(body, name))
  if (other && !Object.hasOwn(body, expected)) {
    throw badRequest(`doesn't belong here; this path accepts only ${signal}, in \`${expected}\``, other)
  }
  const isNamed = Object.hasOwn(body, expected) || Object.hasOwn(body, snakeCase(expected))
  if (!isNamed && Object.keys(body).length > 0)
    throw badRequest(`is required; this path accepts only ${signal}`, expected)
  return body
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** Runs `read` and prepends the place to the path in its errors. */
function within<Read>(place: string, read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    throw placed(place, error)
  }
}

const placed = (place: string, error: unknown): unknown =>
  error instanceof ApiError ? errorWithin(place, error) : error

const isAbsent = (value: Json | undefined): value is null | undefined => value === undefined || value === null

function list(of: JsonObject, name: string, items = 'a list'): readonly Json[] {
  const found = of[name]
  if (Array.isArray(found)) return found
  if (!isAbsent(found)) throw badRequest(`must be ${items}`, name)
  const misspelled = snakeCase(name)
  if (misspelled !== name && Object.hasOwn(of, misspelled)) {
    throw badRequest(`must be spelled \`${name}\`: OTLP/JSON uses camel case`, misspelled)
  }
  return []
}

/** The value as a message; an absent value is an empty message. */
function object(value: Json | undefined): JsonObject {
  if (isAbsent(value)) return {}
  if (!isJsonObject(value)) throw badRequest('must be an object')
  return value
}

/** Reads a nested message. */
const part = <Read>(of: JsonObject, name: string, read: (message: JsonObject) => Read): Read =>
  within(name, () => read(object(of[name])))

/** Reads a list of nested messages. */
const parts = <Read>(of: JsonObject, name: string, read: (message: JsonObject) => Read): Read[] =>
  list(of, name).map((item, index) => within(`${name}.${index}`, () => read(object(item))))

const scopeOf = (scope: JsonObject): Source['scope'] => ({
  name: text(scope, 'name'),
  version: text(scope, 'version'),
  attributes: attributesOf(scope),
})

const spanOf = (span: JsonObject, source: Source): UncheckedSpan => ({
  source,
  traceId: idOf(span.traceId),
  spanId: idOf(span.spanId),
  parentSpanId: idOf(span.parentSpanId),
  hasRemoteParent: isRemoteParent(countOf(span.flags)),
  traceState: text(span, 'traceState'),
  name: text(span, 'name'),
  spanKind: enumeration(span.kind, SPAN_KINDS, 'SPAN_KIND_'),
  startNs: time(span, 'startTimeUnixNano'),
  endNs: time(span, 'endTimeUnixNano'),
  attributes: attributesOf(span),
  events: parts(span, 'events', eventOf),
  links: parts(span, 'links', linkOf),
  ...part(span, 'status', statusOf),
  dropped: {
    attributes: countOf(span.droppedAttributesCount),
    events: countOf(span.droppedEventsCount),
    links: countOf(span.droppedLinksCount),
  },
})

const statusOf = (status: JsonObject): Pick<UncheckedSpan, 'status' | 'statusMessage'> => ({
  status: enumeration(status.code, STATUSES, 'STATUS_CODE_'),
  statusMessage: text(status, 'message'),
})

const eventOf = (event: JsonObject): TelemetryEvent => ({
  name: text(event, 'name'),
  timeNs: time(event, 'timeUnixNano'),
  attributes: attributesOf(event),
})

const linkOf = (link: JsonObject): TelemetryLink => ({
  traceId: idOf(link.traceId),
  spanId: idOf(link.spanId),
  traceState: text(link, 'traceState'),
  attributes: attributesOf(link),
})

const logOf = (log: JsonObject, source: Source): UncheckedLog => ({
  source,
  traceId: idOf(log.traceId),
  spanId: idOf(log.spanId),
  timeNs: time(log, 'timeUnixNano') || time(log, 'observedTimeUnixNano'),
  eventName: text(log, 'eventName'),
  body: within('body', () => jsonOf(log.body, 1)),
  attributes: attributesOf(log),
})

const METRIC_DATA = ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'summary']

const countInMetric = (metric: JsonObject): number =>
  METRIC_DATA.map(kind => part(metric, kind, data => list(data, 'dataPoints').length)).reduce(
    (sum, count) => sum + count,
  )

const attributesOf = (of: JsonObject): Attributes => new Map(keyValues(of, 'attributes', 1))

function* keyValues(of: JsonObject, name: string, depth: number): Generator<[string, Json]> {
  for (const [index, item] of list(of, name, 'a list of {key, value}').entries()) {
    try {
      const keyValue = object(item)
      yield [text(keyValue, 'key'), within('value', () => jsonOf(keyValue.value, depth))]
    } catch (error) {
      throw placed(`${name}.${index}`, error)
    }
  }
}

/** Reads an AnyValue. `depth` is 1 at the top. */
function jsonOf(value: Json | undefined, depth: number): Json {
  if (isAbsent(value)) return null
  if (depth > MAX_ATTRIBUTE_DEPTH) return CUT_VALUE
  if (!isJsonObject(value)) throw badRequest('must be an object such as {"stringValue": "text"}')
  if (!isAbsent(value.stringValue)) return text(value, 'stringValue')
  if (!isAbsent(value.boolValue)) return boolean(value, 'boolValue')
  if (!isAbsent(value.intValue)) return integer(value, 'intValue')
  if (!isAbsent(value.doubleValue)) return double(value, 'doubleValue')
  if (!isAbsent(value.bytesValue)) return bytesText(value, 'bytesValue')
  if (!isAbsent(value.arrayValue)) return part(value, 'arrayValue', array => valuesOf(array, depth + 1))
  if (!isAbsent(value.kvlistValue)) {
    return part(value, 'kvlistValue', fields => objectValue(keyValues(fields, 'values', depth + 1)))
  }
  return null
}

const valuesOf = (array: JsonObject, depth: number): Json[] =>
  list(array, 'values').map((value, index) => within(`values.${index}`, () => jsonOf(value, depth)))

/** A string. Numbers and booleans are converted. */
function text(of: JsonObject, name: string): string {
  const found = of[name]
  if (isAbsent(found)) return ''
  if (typeof found === 'object') throw badRequest('must be a string', name)
  // Storage is UTF-8, which can't hold lone surrogates.
  return String(found).toWellFormed()
}

/** A boolean; any other value is kept as a string. */
function boolean(of: JsonObject, name: string): boolean | string {
  const found = of[name]
  if (typeof found === 'boolean') return found
  const word = text(of, name)
  return word === 'true' || (word === 'false' ? false : word)
}

/**
 * An integer: a decimal string in the specification, a number from the JavaScript SDKs. Other values are kept as
 * strings.
 */
function integer(of: JsonObject, name: string): number | string {
  const exact = bigintOf(of[name])
  return exact === undefined ? double(of, name) : integerValue(exact)
}

/** A double, as a string if it isn't finite. Other values are kept as strings. */
function double(of: JsonObject, name: string): number | string {
  const found = of[name]
  if (typeof found === 'number') return doubleValue(found)
  const digits = text(of, name)
  return /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(digits) ? doubleValue(Number(digits)) : digits
}

const MAX_TIME_NS = 2n ** 64n - 1n

/** Nanoseconds as a decimal string, or as a number, which has lost precision. 0 if absent. */
function time(of: JsonObject, name: string): bigint {
  const found = of[name]
  if (isAbsent(found) || found === '') return 0n
  const nanoseconds = bigintOf(found)
  if (nanoseconds === undefined || nanoseconds < 0n || nanoseconds > MAX_TIME_NS) {
    throw badRequest('must be nanoseconds since 1970, in decimal digits', name)
  }
  return nanoseconds
}

/** A 64-bit integer, sent as a number or a string. */
function bigintOf(value: Json | undefined): bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined
  return typeof value === 'string' && /^-?\d{1,20}$/.test(value) ? BigInt(value) : undefined
}

/** A number that isn't essential, so anything invalid becomes 0. */
function countOf(value: Json | undefined): number {
  const count = Number(typeof value === 'object' ? 0 : value)
  return Number.isSafeInteger(count) && count >= 0 ? count : 0
}

/**
 * An enumeration value, given by number or by name. The specification forbids names, but some senders use them. Unknown
 * values become the first name.
 */
function enumeration<const Names extends readonly [string, ...string[]]>(
  value: Json | undefined,
  names: Names,
  prefix: string,
): Names[number] {
  if (typeof value !== 'string') return names[countOf(value)] ?? names[0]
  const name = value.replace(prefix, '').toLowerCase()
  return names.find(known => known === name) ?? names[countOf(value)] ?? names[0]
}

const MAX_ID_BYTES = 16

/** Replaces an unreadable id, so the record is rejected instead of being mistaken for one without an id. */
const UNREADABLE_ID = 'unreadable'

/**
 * An id as lowercase hex. The specification requires hex, but some senders use base64 (shorter for the same number of
 * bytes), lists of bytes, or Node's buffers.
 */
function idOf(value: Json | undefined): string {
  if (isAbsent(value)) return ''
  if (typeof value !== 'string') {
    const bytes = bytesOf(value)
    return bytes && bytes.length <= MAX_ID_BYTES ? hex(bytes) : UNREADABLE_ID
  }
  const isHex = /^(?:0*|[0-9a-f]{16}|[0-9a-f]{32})$/i.test(value)
  return isHex ? value.toLowerCase() : (hexOfBase64(value) ?? UNREADABLE_ID)
}

/** Converts a base64 id of 16 or 8 bytes to hex. */
function hexOfBase64(value: string): string | undefined {
  if (!/^[\w+/-]{11}=?$|^[\w+/-]{22}(?:==)?$/.test(value)) return undefined
  const binary = atob(value.replaceAll('-', '+').replaceAll('_', '/'))
  return hex(Uint8Array.from(binary, character => character.charCodeAt(0)))
}

/** Reads bytes from a list or from Node's `{type: "Buffer", data: […]}`. */
function bytesOf(value: Json): Uint8Array | undefined {
  const list = isJsonObject(value) ? value.data : value
  if (!Array.isArray(list)) return undefined
  const bytes = list.filter(byte => typeof byte === 'number' && Number.isInteger(byte) && byte >= 0 && byte < 256)
  return bytes.length === list.length ? Uint8Array.from(bytes.map(Number)) : undefined
}

/** Bytes as base64. The specification requires senders to encode them. If a sender sent a list instead, encodes it. */
function bytesText(of: JsonObject, name: string): string {
  const bytes = bytesOf(of[name] ?? null)
  return bytes ? $protobuf.util.base64.encode(bytes, 0, bytes.length) : text(of, name)
}
