import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { call } from '../../../scripts/call.ts'
import type { Tenant } from './tenant.ts'

/** A step of a trace as the read interface gives it, but for ids and times, which `readTrace` checks. */
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
  /** In the order of `stepId`, then of the input. */
  steps: Step[]
}

export interface ReadTrace {
  name: string
  status: string
  metadata: Record<string, unknown>
  feedback: { rating: unknown; content: string }[]
  /** Those without a parent. */
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
 * A trace as its tenant reads it, the only one where none is named: listed once, under the id that a client can compute, and
 * its spans under theirs. Throws where that is not so, or where a span has no duration, or has an approved output, or a
 * parent that is not there.
 */
export async function readTrace(tenant: Tenant, traceId: string | undefined): Promise<ReadTrace> {
  const { url, key, projectId, projectSlug } = tenant
  const list = await call(url, key, 'GET', `/api/traces?projectSlug=${projectSlug}&kind=all&limit=200`)
  const { traces } = v.parse(List, list)
  const listed = traceId === undefined ? traces : traces.filter(trace => trace.traceId === traceId)
  const id = uuidV5(projectId, `trace:${traceId ?? listed[0]?.traceId}`)
  if (listed.length !== 1 || listed[0]?.id !== id) {
    throw new Error(`Not listed once as ${id}, but as: ${JSON.stringify(listed)}`)
  }
  const trace = v.parse(Trace, await call(url, key, 'GET', `/api/traces/${id}`))
  const { name, status, metadata, feedback, spans } = trace
  const children = Map.groupBy(spans, ({ parentSpanId }) => parentSpanId)
  const known = new Set(spans.map(({ id }) => id))
  for (const span of spans) {
    const { trace_id: traceHex, span_id: spanHex } = span.metadata.otel
    if (span.id !== uuidV5(projectId, `span:${traceHex}:${spanHex}`)) throw new Error(`No id of its own: ${span.id}`)
    if (span.parentSpanId && !known.has(span.parentSpanId)) throw new Error(`No parent: ${span.parentSpanId}`)
  }
  const stepsUnder = (parentId: string | null): Step[] =>
    (children.get(parentId) ?? []).map(span => stepOf(span, stepsUnder(span.id))).sort(byPlace)
  return { name, status, metadata, feedback, steps: stepsUnder(null) }
}

const stepOf = (span: v.InferOutput<typeof Span>, steps: Step[]): Step => {
  const { stepId, status, input, output, state, promptVersionId, metadata } = span
  const { kind, model, provider, usage, cost, finish_reasons: finishReasons, error } = metadata
  const told = { model, provider, usage, cost, finishReasons, error }
  const present = Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined))
  return { stepId, kind, status, input, output, state, promptVersionId, ...present, steps }
}

/** Steps of one millisecond come in any order. */
export const byPlace = (left: Step, right: Step): number => (placeOf(left) < placeOf(right) ? -1 : 1)

const placeOf = ({ stepId, input }: Step): string => `${stepId} ${JSON.stringify(input)}`

/** RFC 9562, section 5.5, made here once more: what a client would do to find its own traces and spans. */
function uuidV5(namespace: string, name: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest()
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6)
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8)
  return digest.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
