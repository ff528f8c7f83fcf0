import { hexIdOf, traceIdOf } from './ids.ts'
import type { Nanoseconds, Value } from './values.ts'

/** A span from a source, under the source's own ids. */
export interface ImportedSpan {
  traceId: string
  spanId: string
  parentId: string | undefined
  name: string
  start: Nanoseconds
  /** Undefined if the span didn't end. */
  end: Nanoseconds | undefined
  /** In the source's own convention, which the service reads. */
  attributes: Readonly<Record<string, Value | undefined>>
  status?: 'ok' | 'error' | undefined
  statusMessage?: string | undefined
  events?: readonly ImportedEvent[]
}

export interface ImportedEvent {
  name: string
  time: Nanoseconds
  attributes: Readonly<Record<string, Value | undefined>>
}

const STATUS_CODES = { ok: 1, error: 2 } as const

/** A span in OTLP/JSON, which the service reads like any other telemetry. */
export async function encodedSpan(span: ImportedSpan): Promise<object> {
  const [traceHex, spanHex, traceId] = await Promise.all([
    hexIdOf(span.traceId, 32),
    hexIdOf(span.spanId, 16),
    traceIdOf(span.traceId),
  ])
  const end = span.end === undefined || span.end < span.start ? span.start : span.end
  return {
    traceId: traceHex,
    spanId: spanHex,
    ...(span.parentId !== undefined && { parentSpanId: await hexIdOf(span.parentId, 16) }),
    name: span.name,
    kind: 1,
    startTimeUnixNano: String(span.start),
    endTimeUnixNano: String(end),
    attributes: encodedAttributes({
      ...span.attributes,
      ...(traceId !== `trace_${traceHex}` && { 'countersign.trace_id': traceId }),
    }),
    status: {
      ...(span.status && { code: STATUS_CODES[span.status] }),
      ...(span.statusMessage !== undefined && { message: span.statusMessage }),
    },
    events: (span.events ?? []).map(({ name, time, attributes }) => ({
      name,
      timeUnixNano: String(time),
      attributes: encodedAttributes(attributes),
    })),
  }
}

/** A request with spans that one kind of instrumentation recorded. */
export const encodedExport = (scope: string, spans: readonly string[]): string =>
  `{"resourceSpans":[{"scopeSpans":[{"scope":${JSON.stringify({ name: scope })},"spans":[${spans.join()}]}]}]}`

const encodedAttributes = (attributes: Readonly<Record<string, Value | undefined>>): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: encodedValue(value) }],
  )

/** Objects, and lists that contain objects, are sent as JSON. */
function encodedValue(value: Value): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  const isPlainList = Array.isArray(value) && value.every(item => item !== null && typeof item !== 'object')
  return isPlainList ? { arrayValue: { values: value.map(encodedValue) } } : { stringValue: JSON.stringify(value) }
}
