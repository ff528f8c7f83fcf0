import * as v from 'valibot'
import { rootSpanUuid, traceUuid } from '../domain/ids.ts'
import { Timestamp, Uuid, wholeNumber } from '../http/atoms.ts'
import { endpoint } from '../http/endpoint.ts'
import { ingestProject } from './project.ts'
import { recordCall } from './record-call.ts'
import { Metadata, Status, TraceId, TraceName } from './wire.ts'

const Trace = v.object({
  trace_id: TraceId,
  name: TraceName,
  timestamp: Timestamp,
  status: Status,
  metadata: v.optional(Metadata, {}),
  duration_ms: v.optional(v.pipe(wholeNumber(0), v.metadata({ description: 'Sent when completing' }))),
})

export const postTrace = endpoint({
  method: 'POST',
  path: '/api/v1/traces',
  summary: 'Create a trace, or complete it: an upsert that is safe in any order and any number of times',
  scope: 'ingest',
  body: Trace,
  responses: {
    202: v.object({
      status: v.literal('accepted'),
      trace_id: TraceId,
      id: Uuid,
      warnings: v.optional(v.array(v.string())),
    }),
  },
}).handle(async ({ body, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const { trace_id, name, timestamp, status, metadata, duration_ms } = body
  const [id, rootSpanId] = await Promise.all([traceUuid(project.id, trace_id), rootSpanUuid(project.id, trace_id)])
  const draft = { id, rootSpanId, traceId: trace_id, name, timestamp, receivedAt: now }
  const warnings = await recordCall(store, project, draft, { status, metadata, durationMs: duration_ms ?? null })
  return { status: 202, body: { status: 'accepted', trace_id, id, ...(warnings.length > 0 && { warnings }) } }
})
