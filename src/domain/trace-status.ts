import type { Derivation } from './derivation.ts'
import type { JsonObject } from './json.ts'
import { mergeMetadata } from './merge-metadata.ts'

export const TRACE_STATUSES = ['running', 'completed'] as const
export type TraceStatus = (typeof TRACE_STATUSES)[number]

/** What one call to `POST /api/v1/traces` says of a trace that may be there already. */
export interface TraceCall {
  status: TraceStatus
  metadata: JsonObject
  durationMs: number | null
}

/** What the calls and exports so far add up to. */
export interface TraceState extends TraceCall {
  name: string
  timestamp: number
  rootSpanId: string
  /** Metadata fields that completing calls gave; running calls leave them as they are. */
  completedFields: readonly string[]
  isPosted: boolean
  derivation: Derivation | null
  isGeneric: boolean
  closesAt: number | null
}

/** The state that a trace's first call merges into. */
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
 * The state after one more call, in whatever order calls arrive: `completed` wins for good; metadata merges at the top
 * level, a completing call's fields over those of running ones, else the later arrival, and all over what telemetry said;
 * the duration is the first completing call's. `left`: the call's metadata fields that the whole had no room for.
 */
export function mergeCall(state: TraceState, call: TraceCall): { state: TraceState; left: string[] } {
  const { status, durationMs, completedFields, derivation } = state
  const isCompleting = call.status === 'completed'
  const settled = new Set(isCompleting ? [] : completedFields)
  const given = Object.entries(call.metadata).filter(([field]) => !settled.has(field))
  const { metadata, left } = mergeMetadata(state.metadata, given)
  const isLeft = new Set(left)
  const merged = given.flatMap(([field]) => (isLeft.has(field) ? [] : [field]))
  const after = { ...state, metadata, derivation: derivation && withoutRanks(derivation, new Set(merged)) }
  if (!isCompleting) return { state: after, left }
  const completion = {
    status: 'completed' as const,
    durationMs: status === 'completed' ? durationMs : call.durationMs,
    completedFields: [...new Set([...completedFields, ...merged])],
  }
  return { state: { ...after, ...completion }, left }
}

/** What a client gave is no longer what telemetry said. */
function withoutRanks(derivation: Derivation, given: ReadonlySet<string>): Derivation {
  const ranks = Object.entries(derivation.ranks).filter(([field]) => !given.has(field))
  return { ...derivation, ranks: Object.fromEntries(ranks) }
}

/** Whether two states are the same in every field, metadata in the same order. */
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
