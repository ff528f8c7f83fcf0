import type { Json, JsonObject } from '../domain/json.ts'
import { present, textOf } from './reading/attribute-values.ts'
import type { SpanReader } from './reading/convention.ts'
import type { Attributes, TelemetryEvent, TelemetryLink, TelemetrySpan } from './reading/telemetry.ts'
import { objectValue } from './reading/values.ts'

/**
 * The part of a span's metadata that doesn't depend on its kind: names, times, ids, what its SDK dropped, and the
 * events and attributes that no convention has read.
 */
export const recordOf = (reader: SpanReader): JsonObject => {
  const { span } = reader
  const attributes = reader.unread()
  for (const key of attributes.keys()) if (isDropped(key)) attributes.delete(key)
  const events = reader.unreadEvents()
  return objectFrom({
    span_name: span.name,
    span_kind: span.spanKind,
    // Milliseconds with microsecond precision.
    duration_ms: Number((span.endNs - span.startNs) / 1000n) / 1000,
    end_time: timestamp(span.endNs),
    scope: scopeOf(span),
    otel: objectFrom({
      trace_id: span.traceId,
      span_id: span.spanId,
      parent_span_id: span.parentSpanId ?? undefined,
      start_time_unix_nano: String(span.startNs),
      end_time_unix_nano: String(span.endNs),
      trace_state: span.traceState || undefined,
    }),
    links: listFrom(span.links.map(linkOf)),
    events: listFrom(events.filter(({ name }) => !isChunk(name)).map(eventOf)),
    dropped: droppedOf(span),
    attributes: attributesOf(attributes),
    resource: resourceOf(span),
  })
}

/** The resource, kept only on the first span of its process. Leaves out attributes that its trace has as fields. */
function resourceOf({ parentSpanId, hasRemoteParent, source }: TelemetrySpan): Json | undefined {
  if (parentSpanId !== null && !hasRemoteParent) return undefined
  const attributes = new Map(source.resource)
  for (const key of TRACE_ATTRIBUTES) attributes.delete(key)
  return attributesOf(attributes)
}

const TRACE_ATTRIBUTES = ['service.name', 'service.version', 'deployment.environment.name', 'deployment.environment']

/**
 * Attributes that say nothing about a step or must not be stored: headers (keys, cookies), vectors, and source code
 * locations.
 */
const isDropped = (key: string): boolean =>
  /^(?:code\.|thread\.|ai\.request\.headers\.|http\.(?:request|response)\.header\.)/.test(key) ||
  /^(?:llm\.headers|logfire\.json_schema|ai\.embeddings?)$/.test(key) ||
  key.endsWith('embedding.vector')

/** Events that mark the parts of a streamed answer. The output has the whole answer. */
const isChunk = (name: string): boolean =>
  /^(?:mlflow\.chunk\.item\.\d+|(?:gen_ai|llm)\.content\.completion\.chunk)$/.test(name)

const objectFrom = (fields: Record<string, Json | undefined>): JsonObject => present<JsonObject>(fields) ?? {}

const listFrom = (items: Json[]): Json | undefined => (items.length > 0 ? items : undefined)

/** Undefined for times after the year 275760, which a Date can't hold. */
function timestamp(ns: bigint): string | undefined {
  const date = new Date(Number(ns / 1_000_000n))
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

const attributesOf = (attributes: Attributes): Json | undefined =>
  attributes.size > 0 ? objectValue(attributes) : undefined

function scopeOf({ source }: TelemetrySpan): Json | undefined {
  const { name, version, attributes } = source.scope
  return present<JsonObject>({
    name: textOf(name),
    version: textOf(version),
    attributes: attributesOf(attributes),
  })
}

const linkOf = ({ traceId, spanId, traceState, attributes }: TelemetryLink): Json =>
  objectFrom({
    trace_id: traceId,
    span_id: spanId,
    trace_state: textOf(traceState),
    attributes: attributesOf(attributes),
  })

const eventOf = ({ name, timeNs, attributes }: TelemetryEvent): Json =>
  objectFrom({ name, time_unix_nano: String(timeNs), attributes: attributesOf(attributes) })

const droppedOf = ({ dropped: { attributes, events, links } }: TelemetrySpan): Json | undefined =>
  present<JsonObject>({
    attributes: attributes || undefined,
    events: events || undefined,
    links: links || undefined,
  })
