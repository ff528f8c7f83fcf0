import { REMOTE_ROOT_WAIT_MS, ROOT_WAIT_MS } from '../limits.ts'
import type { Derivation, Ranked } from './derivation.ts'
import type { Json, JsonObject } from './json.ts'
import { mergeMetadata } from './merge-metadata.ts'
import { isSameState, type TraceState } from './trace-status.ts'

/*
 * A trace as telemetry tells it: spans that come in any order, in any number of exports, more than once. Whatever is said of
 * the trace has a rank, a text, and the lowest rank counts, so that the order of arrival never does.
 */

/** What the spans of one export say of their trace. */
export interface TraceFacts {
  name: Ranked<string>
  /** Metadata, by field. */
  fields: ReadonlyMap<string, Ranked<Json>>
  startMs: number
  endMs: number
  /** The earliest span without parent: its id as reads give it. */
  root: Ranked<string> | null
  /** Whether a span's parent is in another process, from which nothing may ever come. */
  hasRemoteParent: boolean
  /** Whether no span is a step of an AI pipeline. */
  isGeneric: boolean
}

/** What a field of metadata says of a trace whose root never came. */
const INCOMPLETE_FIELD = 'otel_incomplete'

/**
 * The state after one more export: the same in whatever order exports come, and however often, but for fields that no longer
 * fit into the metadata, which are `left`. It is `before` itself where nothing changes. What a client posted of the trace
 * stays as it is. `rootSpanId`: the root's id until a span without parent came.
 */
export function mergeExport(
  before: TraceState | undefined,
  facts: TraceFacts,
  { rootSpanId, now }: { rootSpanId: string; now: number },
): { state: TraceState; left: string[] } {
  const derivation = mergeDerivation(before?.derivation ?? null, facts)
  const { metadata, ranks, left } = mergeFields(before?.metadata ?? {}, before?.derivation?.ranks ?? {}, facts.fields)
  if (before?.isPosted) {
    return { state: unlessSame(before, { ...before, metadata, derivation: { ...derivation, ranks } }), left }
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
  return { state: unlessSame(before, state), left }
}

/** The state before where the new one is the same: what is sent again says nothing new, and is not waited for any longer. */
const unlessSame = (before: TraceState | undefined, state: TraceState): TraceState =>
  before && isSameState({ ...state, closesAt: before.closesAt }, before) ? before : state

/** The state of a trace whose root did not come in time. A root that comes later still sets it right. */
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

/** The state that a client's first call on a trace merges into, which was known from telemetry alone: from now on the client's word counts. */
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

/** Comes after every rank. */
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

/** Metadata with the fields that rank before what is there. */
function mergeFields(before: JsonObject, known: Record<string, string>, fields: TraceFacts['fields']) {
  const stays = (field: string, rank: string) =>
    Object.hasOwn(before, field) && (!Object.hasOwn(known, field) || (known[field] ?? '') <= rank)
  const winning = [...fields].filter(([field, { rank }]) => !stays(field, rank))
  const { metadata, left } = mergeMetadata(
    before,
    winning.map(([field, { value }]) => [field, value]),
  )
  const isLeft = new Set(left)
  const ranks = winning.flatMap(([field, { rank }]) => (isLeft.has(field) ? [] : [[field, rank] as const]))
  // A map: a field may be named __proto__.
  return { metadata, ranks: Object.fromEntries(new Map([...Object.entries(known), ...ranks])), left }
}

const withoutField = (metadata: JsonObject, ranks: Record<string, string>, field: string): JsonObject =>
  Object.hasOwn(ranks, field) ? without(metadata, field) : metadata

const without = <Value>(object: Record<string, Value>, field: string): Record<string, Value> =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== field))
