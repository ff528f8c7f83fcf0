import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { TRACE_ID, TRACE_UUID } from '../api/story.ts'
import { rootSpanUuid, traceUuid } from '../domain/ids.ts'
import type { TraceCall } from '../domain/trace-status.ts'
import { described, Timestamp, Uuid, wholeNumber } from '../http/atoms.ts'
import { ENVELOPE_BYTES, escaped, MAX_METADATA_BYTES } from '../limits.ts'
import type { Project } from '../store/accounts/projects.ts'
import { storeInProject } from '../store/traces/placed.ts'
import type { TraceDraft } from '../store/traces/trace-rows.ts'
import { trace } from './examples.ts'
import { ingestProject } from './project.ts'
import { type Recorded, recordCalls } from './record-calls.ts'
import { Metadata, Status, TraceId, TraceName } from './wire.ts'

export const Trace = v.object({
  trace_id: TraceId,
  name: TraceName,
  timestamp: Timestamp,
  status: Status,
  metadata: v.nullish(Metadata, {}),
  duration_ms: v.nullish(v.pipe(wholeNumber(0), v.metadata({ description: 'Sent when completing the trace' }))),
})

const WARNINGS = `Warnings about metadata fields that were left out to stay within ${MAX_METADATA_BYTES} bytes, and about values that aren't searchable`

export const postTrace = endpoint({
  family: 'ingest',
  method: 'POST',
  path: '/api/v1/traces',
  summary: 'Create or complete a trace',
  description: 'This is an upsert: you can safely send the calls for a trace in any order, any number of times.',
  scope: 'ingest',
  body: Trace,
  maxBytes: escaped(MAX_METADATA_BYTES) + ENVELOPE_BYTES,
  responses: {
    202: v.object({
      status: v.literal('accepted'),
      trace_id: TraceId,
      id: Uuid,
      warnings: v.optional(described(v.array(v.string()), WARNINGS)),
    }),
  },
  example: {
    body: trace,
    answers: { 202: { status: 'accepted', trace_id: TRACE_ID, id: TRACE_UUID } },
  },
}).handle(async ({ body, caller, store, headers, now }) => {
  const project = await ingestProject({ caller, store, headers })
  const draft = await traceDraft(project, body, now)
  const call = traceCall(body)
  const shard = await storeInProject(store, project, draft.id)
  return traceReply(draft, call, (await recordCalls(shard, project, [{ draft, calls: [call] }])).get(draft.id))
})

type TraceBody = v.InferOutput<typeof Trace>

/** The fields that a trace's first call sets permanently. */
export async function traceDraft(project: Project, body: TraceBody, now: number): Promise<TraceDraft> {
  const { trace_id: traceId, name, timestamp } = body
  const [id, rootSpanId] = await Promise.all([traceUuid(project.id, traceId), rootSpanUuid(project.id, traceId)])
  return { id, rootSpanId, traceId, name, timestamp, receivedAt: now }
}

/** A call's fields that merge into a trace. */
export const traceCall = ({ status, metadata, duration_ms }: TraceBody): TraceCall => ({
  status,
  metadata,
  durationMs: duration_ms ?? null,
})

/** The response to one call. */
export function traceReply({ id, traceId }: TraceDraft, call: TraceCall, recorded: Recorded | undefined) {
  const warnings = recorded?.warnings.get(call) ?? []
  const body = { status: 'accepted' as const, trace_id: traceId, id, ...(warnings.length > 0 && { warnings }) }
  return { status: 202 as const, body }
}
