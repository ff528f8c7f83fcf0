import { fieldKey, type SearchableField, searchableFields } from '../domain/metadata.ts'
import { firstState, isSameState, mergeCall, type TraceCall } from '../domain/trace-status.ts'
import { badRequest } from '../http/errors.ts'
import type { Project } from '../store/projects.ts'
import type { Store } from '../store/store.ts'
import { addTrace, findTrace, type TraceDraft, updateTrace } from '../store/traces.ts'
import { fitsMetadata, METADATA_TOO_LARGE } from './wire.ts'

const FIRST_PAUSE_MS = 25
const MAX_PAUSE_MS = 800

/**
 * Merges a call into its trace, which it creates if need be. One round trip for a new trace and for a completion that
 * repeats the metadata; else one more that writes what was merged if nobody wrote in between, and read again until so.
 * Returns what the caller should know about metadata that is not searchable. 400 where the merged metadata is too large.
 */
export async function recordCall(
  store: Store,
  project: Project,
  draft: TraceDraft,
  call: TraceCall,
): Promise<string[]> {
  const { fields } = await searchableFields(call.metadata)
  let pauseMs = FIRST_PAUSE_MS
  for (;;) {
    let trace = await addTrace(store, project, draft, firstState(call), fields)
    while (trace) {
      const state = mergeCall(trace, call)
      const after = await searchableFields(state.metadata)
      if (isSameState(trace, state)) return after.warnings
      if (!fitsMetadata(state.metadata)) throw badRequest(METADATA_TOO_LARGE, 'metadata')
      const before = await searchableFields(trace.metadata)
      const added = without(after.fields, before.fields)
      const removed = without(before.fields, after.fields)
      if (await updateTrace(store, trace, state, { added, removed, now: draft.receivedAt })) return after.warnings
      // Somebody else wrote first. Callers that meet here draw ever further apart, or each would outrun all others.
      await store.patience.pause(Math.random() * pauseMs)
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
      trace = await findTrace(store, draft.id)
    }
    // Deleted since it was read: this call is the first of a new trace.
  }
}

function without(fields: readonly SearchableField[], others: readonly SearchableField[]): SearchableField[] {
  const excluded = new Set(others.map(fieldKey))
  return fields.filter(field => !excluded.has(fieldKey(field)))
}
