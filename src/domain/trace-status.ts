import type { JsonObject } from './json.ts'

export const TRACE_STATUSES = ['running', 'completed'] as const
export type TraceStatus = (typeof TRACE_STATUSES)[number]

/** What one call to `POST /api/v1/traces` says of a trace that may be there already. */
export interface TraceCall {
  status: TraceStatus
  metadata: JsonObject
  durationMs: number | null
}

/** What the calls so far add up to. */
export interface TraceState extends TraceCall {
  /** Metadata fields that completing calls gave; running calls leave them as they are. */
  completedFields: readonly string[]
}

/** The state that a trace's first call merges into. */
export const NO_STATE: TraceState = { status: 'running', metadata: {}, durationMs: null, completedFields: [] }

/**
 * The state after one more call, in whatever order calls arrive: `completed` wins for good; metadata merges at the top
 * level, a completing call's fields over those of running ones, else the later arrival; the duration is the first completing
 * call's.
 */
export function mergeCall({ status, metadata, durationMs, completedFields }: TraceState, call: TraceCall): TraceState {
  if (call.status === 'completed') {
    return {
      status: 'completed',
      metadata: { ...metadata, ...call.metadata },
      durationMs: status === 'completed' ? durationMs : call.durationMs,
      completedFields: [...new Set([...completedFields, ...Object.keys(call.metadata)])],
    }
  }
  const settled = new Set(completedFields)
  const fresh = Object.fromEntries(Object.entries(call.metadata).filter(([field]) => !settled.has(field)))
  return { status, metadata: { ...metadata, ...fresh }, durationMs, completedFields }
}

/** Whether two states are the same in every field, metadata in the same order. */
export const isSameState = (left: TraceState, right: TraceState): boolean => textOf(left) === textOf(right)

const textOf = ({ status, metadata, durationMs, completedFields }: TraceState): string =>
  JSON.stringify([status, metadata, durationMs, completedFields])
