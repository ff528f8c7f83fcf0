import type { JsonObject } from './json.ts'

export type TraceStatus = 'running' | 'completed'

/** What one call to `POST /api/v1/traces` says of a trace that may be there already. */
export interface TraceCall {
  status: TraceStatus
  metadata: JsonObject
  durationMs: number | null
}

/** What the calls so far add up to. */
export interface TraceState {
  status: TraceStatus
  metadata: JsonObject
  durationMs: number | null
  /** Metadata fields that completing calls gave; running calls leave them as they are. */
  completedFields: readonly string[]
}

/** The state of a trace after its first call. */
export const firstState = (call: TraceCall): TraceState => ({
  status: call.status,
  metadata: call.metadata,
  durationMs: call.status === 'completed' ? call.durationMs : null,
  completedFields: call.status === 'completed' ? Object.keys(call.metadata) : [],
})

/**
 * The state after one more call, in whatever order calls arrive: `completed` wins for good; metadata merges at the top
 * level, a completing call's fields over those of running ones, else the later arrival; the first duration given with
 * `completed` stays.
 */
export function mergeCall(state: TraceState, call: TraceCall): TraceState {
  if (call.status === 'completed') {
    return {
      status: 'completed',
      metadata: { ...state.metadata, ...call.metadata },
      durationMs: state.durationMs ?? call.durationMs,
      completedFields: [...new Set([...state.completedFields, ...Object.keys(call.metadata)])],
    }
  }
  const settled = new Set(state.completedFields)
  const fresh = Object.fromEntries(Object.entries(call.metadata).filter(([field]) => !settled.has(field)))
  return { ...state, metadata: { ...state.metadata, ...fresh } }
}
