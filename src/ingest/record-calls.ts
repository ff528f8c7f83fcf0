import { posted } from '../domain/derived-trace.ts'
import { leftWarnings, searchableFields, searchWarnings } from '../domain/metadata.ts'
import { isSameState, mergeCall, newState, type TraceCall, type TraceState } from '../domain/trace-status.ts'
import type { PlacedProject } from '../store/accounts/projects.ts'
import type { Store } from '../store/core/store.ts'
import { requireCreatable, type TraceDraft, type TraceRecord } from '../store/traces/trace-rows.ts'
import { traceUpdate, updateTraces } from '../store/traces/trace-updates.ts'
import { addTraces, findTraces } from '../store/traces/traces.ts'

/** The calls on one trace, in order of arrival. */
export interface CallsOnTrace {
  draft: TraceDraft
  calls: readonly TraceCall[]
}

/** The result of the calls on one trace. */
export interface Recorded {
  /** Whether these calls created the trace. */
  isNew: boolean
  /** Warnings for each call about metadata that was left out or isn't searchable. */
  warnings: ReadonlyMap<TraceCall, string[]>
}

/**
 * Merges calls into their traces, and creates the traces if needed. New traces, and completions that repeat the
 * metadata, take one round trip. Otherwise, a second round trip writes the merged state. If somebody else has written
 * in between, this rereads the trace and retries until it succeeds. Each group must be on a different trace. Returns
 * the results by trace id.
 */
export async function recordCalls(
  store: Store,
  project: PlacedProject,
  groups: readonly CallsOnTrace[],
): Promise<Map<string, Recorded>> {
  const recorded = new Map<string, Recorded>()
  const created = new Set<string>()
  let losses = 0
  // A remaining group got a key that was taken, or its trace was deleted after it was read. It starts over, unless the
  // project is gone or the trace would now be in another database.
  for (let pending = groups; pending.length > 0; pending = pending.filter(({ draft }) => !recorded.has(draft.id))) {
    if (pending !== groups) {
      const ids = pending.map(({ draft }) => draft.id)
      await requireCreatable(store, project, ids)
    }
    const added = await addTraces(store, project, await Promise.all(pending.map(toNewTrace)))
    for (const { id, isNew } of added.values()) if (isNew) created.add(id)
    let merges = mergeInto(added, pending)
    for (;;) {
      const lost = await writeMerges(store, merges)
      for (const merge of merges) {
        const { id } = merge.trace
        if (!lost.includes(merge)) recorded.set(id, { ...merge, isNew: created.has(id) })
      }
      if (lost.length === 0) break
      await store.deadline.giveWay(++losses)
      const groups = lost.map(({ group }) => group)
      const found = await findTraces(
        store,
        groups.map(({ draft }) => draft.id),
      )
      merges = mergeInto(new Map(found.map(trace => [trace.id, trace])), groups)
    }
  }
  return recorded
}

async function toNewTrace({ draft, calls }: CallsOnTrace) {
  const { state } = mergeCalls(newState(draft), calls)
  return { draft, state, fields: await searchableFields(state.metadata) }
}

/** Calls, merged into the trace that was read. */
interface Merge {
  group: CallsOnTrace
  trace: TraceRecord
  state: TraceState
  warnings: ReadonlyMap<TraceCall, string[]>
}

/** `isNew` means that these calls created the trace, so they're merged into a new state, as at its creation. */
type FoundTrace = TraceRecord & { isNew?: boolean }

function mergeInto(traces: ReadonlyMap<string, FoundTrace>, groups: readonly CallsOnTrace[]): Merge[] {
  return groups.flatMap(group => {
    const trace = traces.get(group.draft.id)
    if (!trace) return []
    const { state, warnings } = mergeCalls(stateBefore(trace, group.draft), group.calls)
    return [{ group, trace, state, warnings }]
  })
}

/** The state that a draft's calls are merged into. */
function stateBefore(trace: FoundTrace, draft: TraceDraft): TraceState {
  if (trace.isNew) return newState(draft)
  return trace.isPosted ? trace : posted(trace, draft)
}

/** Merges calls one after another. */
function mergeCalls(from: TraceState, calls: readonly TraceCall[]) {
  const warnings = new Map<TraceCall, string[]>()
  let state = from
  for (const call of calls) {
    const merged = mergeCall(state, call)
    state = merged.state
    warnings.set(call, [...leftWarnings(merged.leftOut), ...searchWarnings(state.metadata)])
  }
  return { state, warnings }
}

/** Writes the changed traces. Returns the merges that lost the race to another write. */
async function writeMerges(store: Store, merges: readonly Merge[]): Promise<Merge[]> {
  const changed = merges.filter(({ trace, state }) => !isSameState(trace, state))
  if (changed.length === 0) return []
  const updates = changed.map(({ group, trace, state }) => traceUpdate(trace, state, group.draft.receivedAt))
  const written = await updateTraces(store, await Promise.all(updates))
  return changed.filter(({ trace }) => !written.has(trace.id))
}
