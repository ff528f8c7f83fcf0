import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { call } from '../../../scripts/call.ts'
import type { Tenant } from './tenant.ts'

/** A trace's step as the read API returns it, without ids and times, which `readTrace` checks. */
export interface Step {
  stepId: string
  kind: unknown
  status: unknown
  input: unknown
  output: unknown
  state: Record<string, unknown>
  model?: unknown
  provider?: unknown
  usage?: unknown
  cost?: unknown
  finishReasons?: unknown
  error?: unknown
  promptVersionId: string | null | undefined
  /** Sorted by `stepId`, then by input. */
  steps: Step[]
}

export interface ReadTrace {
  name: string
  status: string
  metadata: Record<string, unknown>
  feedback: { rating: unknown; content: string }[]
  /** The steps without a parent. */
  steps: Step[]
}

const Span = v.object({
  id: v.string(),
  parentSpanId: v.nullable(v.string()),
  stepId: v.string(),
  status: v.nullable(v.string()),
  durationMs: v.pipe(v.number(), v.minValue(0)),
  input: v.unknown(),
  output: v.unknown(),
  approvedOutput: v.null(),
  state: v.record(v.string(), v.unknown()),
  promptVersionId: v.nullable(v.string()),
  metadata: v.looseObject({ otel: v.object({ trace_id: v.string(), span_id: v.string() }) }),
  createdAt: v.pipe(v.string(), v.isoTimestamp()),
})

const Trace = v.object({
  id: v.string(),
  traceId: v.string(),
  name: v.string(),
  status: v.string(),
  metadata: v.record(v.string(), v.unknown()),
  durationMs: v.pipe(v.number(), v.minValue(0)),
  spans: v.array(Span),
  feedback: v.array(v.object({ rating: v.unknown(), content: v.string() })),
})

const List = v.object({ traces: v.array(v.object({ id: v.string(), traceId: v.string() })) })

/**
 * Reads a trace, or the tenant's only trace if `traceId` is undefined. Throws unless the list has the trace exactly
 * once and the trace and its spans have the ids that clients can compute. Also throws if a span has no duration, an
 * approved output, or a missing parent.
 */
export async function readTrace(tenant: Tenant, traceId: string | undefined): Promise<ReadTrace> {
  const { url, key, projectId, projectSlug } = tenant
  const list = await call(url, key, 'GET', `/api/traces?projectSlug=${projectSlug}&kind=all&limit=200`)
  const { traces } = v.parse(List, list)
  const listed = traceId === undefined ? traces : traces.filter(trace => trace.traceId === traceId)
  const id = uuidV5(projectId, `trace:${traceId ?? listed[0]?.traceId}`)
  if (listed.length !== 1 || listed[0]?.id !== id) {
    throw new Error(`Expected ${id} to be listed once, but got: ${JSON.stringify(listed)}`)
  }
  const trace = v.parse(Trace, await call(url, key, 'GET', `/api/traces/${id}`))
  const { name, status, metadata, feedback, spans } = trace
  const children = Map.groupBy(spans, ({ parentSpanId }) => parentSpanId)
  const known = new Set(spans.map(({ id }) => id))
  for (const span of spans) {
    const { trace_id: traceHex, span_id: spanHex } = span.metadata.otel
    if (span.id !== uuidV5(projectId, `span:${traceHex}:${spanHex}`)) throw new Error(`Unexpected span id: ${span.id}`)
    if (span.parentSpanId && !known.has(span.parentSpanId)) throw new Error(`Missing parent: ${span.parentSpanId}`)
  }
  const stepsUnder = (parentId: string | null): Step[] =>
    (children.get(parentId) ?? []).map(span => stepOf(span, stepsUnder(span.id))).sort(byPlace)
  return { name, status, metadata, feedback, steps: stepsUnder(null) }
}

const stepOf = (span: v.InferOutput<typeof Span>, steps: Step[]): Step => {
  const { stepId, status, input, output, state, promptVersionId, metadata } = span
  const { kind, model, provider, usage, cost, finish_reasons: finishReasons, error } = metadata
  const optional = { model, provider, usage, cost, finishReasons, error }
  const present = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  return { stepId, kind, status, input, output, state, promptVersionId, ...present, steps }
}

/** Compares steps by content, because the order of steps within a millisecond isn't defined. */
export const byPlace = (left: Step, right: Step): number => (placeOf(left) < placeOf(right) ? -1 : 1)

const placeOf = ({ stepId, input }: Step): string => `${stepId} ${JSON.stringify(input)}`

/** RFC 9562, section 5.5, implemented independently, as a client would do to find its own traces and spans. */
function uuidV5(namespace: string, name: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest()
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6)
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8)
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
