import type { Json } from '../../domain/json.ts'
import { ATTRIBUTES_A_RECORD } from '../../limits.ts'

/*
 * What an OTLP export holds, whichever encoding it came in: ids as lower-case hex, times as nanoseconds since 1970, values as
 * JSON. Source: opentelemetry-proto 1.11, trace.proto, logs.proto and common.proto.
 */

/** What an export may be of; each has a path of its own. */
export const SIGNALS = ['traces', 'logs', 'metrics'] as const
export type Signal = (typeof SIGNALS)[number]

/**
 * Attributes by their keys, the last one winning. Bytes are base64, an empty value is null; integers past 2^53 and the numbers
 * that JSON lacks (NaN, Infinity) are texts.
 */
export type Attributes = ReadonlyMap<string, Json>

/** What made a record: the resource (a process, a service) and the scope (an instrumentation library) in it. */
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

/** A span as it was exported, when it ended. */
export interface TelemetrySpan {
  source: Source
  /** 32 digits. */
  traceId: string
  /** 16 digits. */
  spanId: string
  /** Null for a root. */
  parentSpanId: string | null
  /** Whether the parent is known to be in another process. */
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
  /** What the SDK itself left out. */
  dropped: { attributes: number; events: number; links: number }
}

/** A log record. Without a trace and a span it belongs to none. */
export interface TelemetryLog {
  source: Source
  traceId: string | null
  spanId: string | null
  timeNs: bigint
  /** '' where it has none; older SDKs have it in the attribute `event.name`. */
  eventName: string
  body: Json
  attributes: Attributes
}

/** How much work a record is to read, beside one of few attributes. */
export function weightOf(record: TelemetryLog | TelemetrySpan): number {
  const parts = 'events' in record ? [...record.events, ...record.links] : []
  const attributes = parts.reduce((sum, part) => sum + 1 + part.attributes.size, record.attributes.size)
  return 1 + attributes / ATTRIBUTES_A_RECORD
}

/** The milliseconds since 1970 of a time in nanoseconds, past ones cut off. */
export const millisecondsOf = (ns: bigint): number => Number(ns / 1_000_000n)

/** The same with a fraction of microseconds: steps that begin in one millisecond keep their order. */
export const orderedTimeOf = (ns: bigint): number => millisecondsOf(ns) + Number((ns % 1_000_000n) / 1000n) / 1000

/** What was taken out of an export, and why the rest was not. */
export interface Decoded<RecordType> {
  records: readonly RecordType[]
  /** How many records were refused for each reason. */
  rejected: ReadonlyMap<string, number>
}
