import { REMOTE_ROOT_WAIT_MS, ROOT_WAIT_MS } from '../limits.ts'
import type { Derivation, Ranked } from './derivation.ts'
import type { Json, JsonObject } from './json.ts'
import { mergeMetadata } from './merge-metadata.ts'
import { isSameState, type TraceState } from './trace-status.ts'

/*
 * A trace built from telemetry: its spans can arrive in any order, in any number of exports, and more than once. Each
 * fact about the trace has a rank (a string), and the lowest rank wins, so the order of arrival doesn't matter.
 */

/** Facts about a trace from the spans of one export. */
export interface TraceFacts {
  name: Ranked<string>
  /** Metadata, by field. */
  fields: ReadonlyMap<string, Ranked<Json>>
  startMs: number
  endMs: number
  /** The earliest span without a parent: its id in the read interface. */
  root: Ranked<string> | null
  /** Whether a span's parent is in another process, which may never send anything. */
  hasRemoteParent: boolean
  /** Whether no span is a step of an AI pipeline. */
  isGeneric: boolean
}

/** The metadata field set on a trace whose root never arrived. */
const INCOMPLETE_FIELD = 'otel_incomplete'

/**
 * Merges one more export into a trace's state. The result doesn't depend on the order or number of exports, except for
 * fields that no longer fit into the metadata; these are `leftOut`. Returns `before` itself if nothing changes. What a
 * client posted is kept as it is. `rootSpanId` is the root's id until a span without a parent arrives.
 */
export function mergeExport(
  before: TraceState | undefined,
  facts: TraceFacts,
  { rootSpanId, now }: { rootSpanId: string; now: number },
): { state: TraceState; leftOut: string[] } {
  const derivation = mergeDerivation(before?.derivation ?? null, facts)
  const { metadata, ranks, leftOut } = mergeFields(
    before?.metadata ?? {},
    before?.derivation?.ranks ?? {},
    facts.fields,
  )
  if (before?.isPosted) {
    return { state: keepIfSame(before, { ...before, metadata, derivation: { ...derivation, ranks } }), leftOut }
  }
  const isCompleted = derivation.root !== null || derivation.isClosed
  const knownRank = before?.derivation?.nameRank
  const state: TraceState = {
    isPosted: false,
    name: before && knownRank !== undefined && knownRank <= facts.name.rank ? before.name : facts.name.value,
    timestamp: derivation.startMs,
    rootSpanId: derivation.root?.value ?? rootSpanId,
    status: isCompleted ? 'completed' : 'running',
    durationMs: derivation.endMs - derivation.startMs,
    metadata: derivation.root ? withoutField(metadata, ranks, INCOMPLETE_FIELD) : metadata,
    completedFields: before?.completedFields ?? [],
    isGeneric: (before?.isGeneric ?? true) && facts.isGeneric,
    closesAt: isCompleted ? null : now + (derivation.hasRemoteParent ? REMOTE_ROOT_WAIT_MS : ROOT_WAIT_MS),
    derivation: { ...derivation, ranks: derivation.root ? without(ranks, INCOMPLETE_FIELD) : ranks },
  }
  return { state: keepIfSame(before, state), leftOut }
}

/**
 * Returns `before` if the new state is the same: resent data adds nothing, and doesn't extend the wait for the root.
 */
const keepIfSame = (before: TraceState | undefined, state: TraceState): TraceState =>
  before && isSameState({ ...state, closesAt: before.closesAt }, before) ? before : state

/** The state of a trace whose root didn't arrive in time. A root that arrives later still updates the trace. */
export function closed(state: TraceState): TraceState {
  const { derivation, metadata } = state
  if (!derivation) return { ...state, closesAt: null }
  const isNamed = Object.hasOwn(metadata, INCOMPLETE_FIELD)
  return {
    ...state,
    status: 'completed',
    closesAt: null,
    metadata: isNamed ? metadata : { ...metadata, [INCOMPLETE_FIELD]: true },
    derivation: {
      ...derivation,
      isClosed: true,
      ranks: isNamed ? derivation.ranks : { ...derivation.ranks, [INCOMPLETE_FIELD]: LAST_RANK },
    },
  }
}

/**
 * Prepares a state known only from telemetry for a client's first call on the trace. From now on, the client's values
 * win.
 */
export function posted(
  state: TraceState,
  { name, timestamp, rootSpanId }: Pick<TraceState, 'name' | 'timestamp' | 'rootSpanId'>,
): TraceState {
  const { derivation, metadata } = state
  return {
    ...state,
    isPosted: true,
    name,
    timestamp,
    rootSpanId,
    status: 'running',
    durationMs: null,
    metadata: derivation ? withoutField(metadata, derivation.ranks, INCOMPLETE_FIELD) : metadata,
    isGeneric: false,
    closesAt: null,
    derivation: derivation && { ...derivation, ranks: without(derivation.ranks, INCOMPLETE_FIELD) },
  }
}

/** Sorts after every rank. */
const LAST_RANK = '~'

function mergeDerivation(before: Derivation | null, facts: TraceFacts): Derivation {
  const { name, startMs, endMs, root, hasRemoteParent } = facts
  if (!before) return { nameRank: name.rank, ranks: {}, startMs, endMs, root, hasRemoteParent, isClosed: false }
  return {
    ...before,
    nameRank: [before.nameRank, name.rank].sort()[0] ?? '',
    startMs: Math.min(before.startMs, startMs),
    endMs: Math.max(before.endMs, endMs),
    root: root && (!before.root || root.rank < before.root.rank) ? root : before.root,
    hasRemoteParent: before.hasRemoteParent || hasRemoteParent,
  }
}

/** Merges fields into the metadata if they rank before the existing ones. */
function mergeFields(before: JsonObject, known: Record<string, string>, fields: TraceFacts['fields']) {
  const isKept = (field: string, rank: string) =>
    Object.hasOwn(before, field) && (!Object.hasOwn(known, field) || (known[field] ?? '') <= rank)
  const winning = [...fields].filter(([field, { rank }]) => !isKept(field, rank))
  const { metadata, leftOut } = mergeMetadata(
    before,
    winning.map(([field, { value }]) => [field, value]),
  )
  const leftFields = new Set(leftOut)
  const ranks = winning.flatMap(([field, { rank }]) => (leftFields.has(field) ? [] : [[field, rank] as const]))
  // A map, because a field may be named __proto__.
  return { metadata, ranks: Object.fromEntries(new Map([...Object.entries(known), ...ranks])), leftOut }
}

const withoutField = (metadata: JsonObject, ranks: Record<string, string>, field: string): JsonObject =>
  Object.hasOwn(ranks, field) ? without(metadata, field) : metadata

const without = <Value>(object: Record<string, Value>, field: string): Record<string, Value> =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== field))
