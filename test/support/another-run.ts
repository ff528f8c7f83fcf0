import { isJsonObject, type Json } from '../../src/domain/json.ts'
import type { Attributes, TelemetryLog, TelemetrySpan } from '../../src/otlp/reading/telemetry.ts'
import type { Sent } from './shown-runs.ts'

/**
 * The telemetry from another run of the same program. Every random id differs, and every counter in a span's name is
 * higher.
 */
export function anotherRun({ spans, logs }: Sent): Sent {
  return { spans: spans.map(anotherSpan), logs: logs.map(anotherLog) }
}

const anotherSpan = (span: TelemetrySpan): TelemetrySpan => ({
  ...span,
  traceId: otherHex(span.traceId),
  spanId: otherHex(span.spanId),
  parentSpanId: span.parentSpanId && otherHex(span.parentSpanId),
  name: otherText(span.name).replace(/(?<= )\d+$/, counter => String(Number(counter) + 7)),
  attributes: otherAttributes(span.attributes),
  events: span.events.map(event => ({ ...event, attributes: otherAttributes(event.attributes) })),
})

const anotherLog = (log: TelemetryLog): TelemetryLog => ({
  ...log,
  traceId: log.traceId && otherHex(log.traceId),
  spanId: log.spanId && otherHex(log.spanId),
  body: otherValue(log.body),
  attributes: otherAttributes(log.attributes),
})

const otherAttributes = (attributes: Attributes): Attributes =>
  new Map(Array.from(attributes, ([key, value]) => [key, otherValue(value)]))

function otherValue(value: Json): Json {
  if (typeof value === 'string') return otherText(value)
  if (Array.isArray(value)) return value.map(otherValue)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, otherValue(item)]))
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
/** Hex ids have both letters and digits. A long number without letters may be a time. */
const HEX = /\b(?:0x)?(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{12,}\b/gi

const otherText = (text: string): string => text.replaceAll(UUID, otherHex).replaceAll(HEX, otherHex)

/** Replaces each digit of an id. The same id always gives the same result. */
const otherHex = (id: string): string =>
  id.replaceAll(/[0-9a-f]/gi, digit => ((Number.parseInt(digit, 16) + 7) % 16).toString(16))
