import * as v from 'valibot'
import { rootSpanUuid, traceUuid } from '../domain/ids.ts'
import { searchableFields } from '../domain/metadata.ts'
import { firstState, mergeCall, type TraceCall, type TraceState } from '../domain/trace-status.ts'
import { Timestamp, Uuid, wholeNumber } from '../http/atoms.ts'
import { endpoint } from '../http/endpoint.ts'
import { badRequest } from '../http/errors.ts'
import type { Project } from '../store/projects.ts'
import type { Store } from '../store/store.ts'
import { addTrace, findTrace, type TraceDraft, updateTrace } from '../store/traces.ts'
import { ingestProject } from './project.ts'
import { fitsMetadata, METADATA_TOO_LARGE, Metadata, Status, TraceId, TraceName } from './wire.ts'

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

/**
 * Merges a call into its trace, which it creates if need be. One round trip for a new trace and for a completion that
 * repeats the metadata; else read, merge, write if nobody wrote in between, and again until so.
 * Returns what the caller should know about metadata that is not searchable.
 */
async function recordCall(store: Store, project: Project, draft: TraceDraft, call: TraceCall): Promise<string[]> {
  const first = await searchableFields(call.metadata)
  for (;;) {
    let trace = await addTrace(store, project, draft, firstState(call), first.fields)
    while (trace) {
      const state = mergeCall(trace, call)
      if (isSame(trace, state)) return first.warnings
      if (!fitsMetadata(state.metadata)) throw badRequest(METADATA_TOO_LARGE, 'metadata')
      const [before, after] = await Promise.all([searchableFields(trace.metadata), searchableFields(state.metadata)])
      const added = without(after.fields, before.fields)
      const removed = without(before.fields, after.fields)
      if (await updateTrace(store, trace, state, { added, removed, now: draft.receivedAt })) return after.warnings
      trace = await findTrace(store, draft.id)
    }
    // Deleted since it was read: this call is the first of a new trace.
  }
}

const isSame = (left: TraceState, right: TraceState): boolean => text(left) === text(right)

const text = ({ status, durationMs, metadata, completedFields }: TraceState): string =>
  JSON.stringify([status, durationMs, metadata, completedFields])

function without<Field extends { path: string; value: string }>(
  from: readonly Field[],
  those: readonly Field[],
): Field[] {
  const keyOf = ({ path, value }: Field) => JSON.stringify([path, value])
  const excluded = new Set(those.map(keyOf))
  return from.filter(field => !excluded.has(keyOf(field)))
}
