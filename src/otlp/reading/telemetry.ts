import type { Json } from '../../domain/json.ts'
import { ATTRIBUTES_PER_RECORD } from '../../limits.ts'

/*
 * An OTLP export, independent of its encoding: ids are lowercase hex, times are nanoseconds since 1970, and values are
 * JSON. Source: opentelemetry-proto 1.11, trace.proto, logs.proto and common.proto.
 */

/** The kinds of exports. Each has its own path. */
export type Signal = 'traces' | 'logs' | 'metrics'

/**
 * Attributes by key; the last duplicate wins. Bytes are base64, and an empty value is null. Integers above 2^53 and
 * numbers that JSON lacks (NaN, Infinity) are strings.
 */
export type Attributes = ReadonlyMap<string, Json>

/** The origin of a record: the resource (a process or service) and the scope in it (an instrumentation library). */
export interface Source {
  resource: Attributes
  scope: { name: string; version: string; attributes: Attributes }
}

export interface TelemetryEvent {
  name: string
  timeNs: bigint
  attributes: Attributes
}

export interface TelemetryLink {
  traceId: string
  spanId: string
  traceState: string
  attributes: Attributes
}

export const SPAN_KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const

/** A span, exported when it ended. */
export interface TelemetrySpan {
  source: Source
  /** 32 hex digits. */
  traceId: string
  /** 16 hex digits. */
  spanId: string
  /** Null if the span has no parent. */
  parentSpanId: string | null
  /** Whether the parent is known to run in another process. */
  hasRemoteParent: boolean
  traceState: string
  name: string
  spanKind: (typeof SPAN_KINDS)[number]
  startNs: bigint
  /** Never before `startNs`. */
  endNs: bigint
  attributes: Attributes
  events: readonly TelemetryEvent[]
  links: readonly TelemetryLink[]
  status: 'unset' | 'ok' | 'error'
  statusMessage: string
  /** How many attributes, events, and links the SDK itself dropped. */
  dropped: { attributes: number; events: number; links: number }
}

/** A log record. Its trace and span ids are null if it belongs to no span. */
export interface TelemetryLog {
  source: Source
  traceId: string | null
  spanId: string | null
  timeNs: bigint
  /** Empty if the record has none. Older SDKs send the name in the attribute `event.name`. */
  eventName: string
  body: Json
  attributes: Attributes
}

/** The work of reading a record, relative to a record with few attributes. */
export function weightOf(record: TelemetryLog | TelemetrySpan): number {
  let attributes = record.attributes.size
  if ('events' in record) {
    for (const event of record.events) attributes += 1 + event.attributes.size
    for (const link of record.links) attributes += 1 + link.attributes.size
  }
  return 1 + attributes / ATTRIBUTES_PER_RECORD
}

/** Converts nanoseconds to whole milliseconds since 1970, rounding down. */
export const millisecondsOf = (ns: bigint): number => Number(ns / 1_000_000n)

/** Milliseconds with microsecond fractions, so steps within one millisecond keep their order. */
export const orderedTimeOf = (ns: bigint): number => millisecondsOf(ns) + Number((ns % 1_000_000n) / 1000n) / 1000

/** The valid records of an export, and why the others were rejected. */
export interface Decoded<RecordType> {
  records: readonly RecordType[]
  /** How many records were rejected, by reason. */
  rejected: ReadonlyMap<string, number>
}
