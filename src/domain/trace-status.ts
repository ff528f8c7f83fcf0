import type { Derivation } from './derivation.ts'
import type { JsonObject } from './json.ts'
import { mergeMetadata } from './merge-metadata.ts'

export const TRACE_STATUSES = ['running', 'completed'] as const
export type TraceStatus = (typeof TRACE_STATUSES)[number]

/** One call to `POST /api/v1/traces`, for a trace that may exist already. */
export interface TraceCall {
  status: TraceStatus
  metadata: JsonObject
  durationMs: number | null
}

/** The merged result of all calls and exports so far. */
export interface TraceState extends TraceCall {
  name: string
  timestamp: number
  rootSpanId: string
  /** Metadata fields from completing calls. Running calls don't overwrite them. */
  completedFields: readonly string[]
  isPosted: boolean
  derivation: Derivation | null
  isGeneric: boolean
  closesAt: number | null
}

/** The state that a trace's first call is merged into. */
export const newState = (draft: Pick<TraceState, 'name' | 'timestamp' | 'rootSpanId'>): TraceState => ({
  name: draft.name,
  timestamp: draft.timestamp,
  rootSpanId: draft.rootSpanId,
  status: 'running',
  metadata: {},
  durationMs: null,
  completedFields: [],
  isPosted: true,
  derivation: null,
  isGeneric: false,
  closesAt: null,
})

/**
 * Merges one more call into a trace's state. Calls may arrive in any order. `completed` is final. Metadata is merged at
 * the top level: a completing call's fields win over a running call's. Otherwise, the later call wins. Clients always
 * win over telemetry. The duration comes from the first completing call. `leftOut` lists the call's metadata fields
 * that didn't fit.
 */
export function mergeCall(state: TraceState, call: TraceCall): { state: TraceState; leftOut: string[] } {
  const { status, durationMs, completedFields, derivation } = state
  const isCompleting = call.status === 'completed'
  const settled = new Set(isCompleting ? [] : completedFields)
  const given = Object.entries(call.metadata).filter(([field]) => !settled.has(field))
  const { metadata, leftOut } = mergeMetadata(state.metadata, given)
  const leftFields = new Set(leftOut)
  const merged = given.flatMap(([field]) => (leftFields.has(field) ? [] : [field]))
  const after = { ...state, metadata, derivation: derivation && withoutRanks(derivation, new Set(merged)) }
  if (!isCompleting) return { state: after, leftOut }
  const completion = {
    status: 'completed' as const,
    durationMs: status === 'completed' ? durationMs : call.durationMs,
    completedFields: [...new Set([...completedFields, ...merged])],
  }
  return { state: { ...after, ...completion }, leftOut }
}

/** Removes the ranks of fields that a client has now set. Only fields from telemetry have ranks. */
function withoutRanks(derivation: Derivation, given: ReadonlySet<string>): Derivation {
  const ranks = Object.entries(derivation.ranks).filter(([field]) => !given.has(field))
  return { ...derivation, ranks: Object.fromEntries(ranks) }
}

/** Whether two states are equal in every field, including the order of metadata. */
export const isSameState = (left: TraceState, right: TraceState): boolean => textOf(left) === textOf(right)

const textOf = (state: TraceState): string =>
  JSON.stringify([
    state.name,
    state.timestamp,
    state.rootSpanId,
    state.status,
    state.durationMs,
    state.metadata,
    state.completedFields,
    state.isPosted,
    state.derivation,
    state.isGeneric,
    state.closesAt,
  ])
