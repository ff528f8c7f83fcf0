import { and, eq, ne, sql } from 'drizzle-orm'
import type { ObservationType } from '../domain/fold.ts'
import { discardValue, inlineValue, needsObject, putValue, type StoredValue } from './payloads.ts'
import { observations, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { isLive, liveTraceKey } from './traces.ts'

/** An observation to be stored. */
export interface ObservationDraft {
  id: string
  traceUuid: string
  /** Null: the root span. */
  spanId: string | null
  type: ObservationType
  stateKey: string | null
  /** The value as JSON. */
  json: string
  timestamp: number
  receivedAt: number
}

/**
 * Stores an observation, under its trace or not at all; sent again with the same id, the first one stays. A small one is
 * one round trip and one row, two rows for the first output of a span. Returns false where there is no such trace.
 */
export async function addObservation(store: Store, draft: ObservationDraft): Promise<boolean> {
  if (!needsObject(draft.json)) {
    return (await insertObservation(store, draft, inlineValue(draft.json), undefined)) !== undefined
  }
  for (;;) {
    const [trace] = await liveTraceKey(store, draft.traceUuid)
    if (!trace) return false
    const value = await putValue(store, trace.key, draft.json)
    const stored = await insertObservation(store, draft, value, trace.key)
    if (stored?.dataRef === value.ref) return true
    await discardValue(store, trace.key, value)
    if (stored) return true
    // The trace was deleted since, and the object would be purged with it: if it was created anew, start again there.
  }
}

/** The row that now has this id, ours or an earlier one; undefined where the trace is not there. */
async function insertObservation(
  store: Store,
  draft: ObservationDraft,
  value: StoredValue,
  traceKey: number | undefined,
): Promise<{ dataRef: string | null } | undefined> {
  const { database } = store
  const insert = database
    .insert(observations)
    .select(
      database
        .select({
          traceKey: traces.key,
          id: sql<string>`${draft.id}`.as('id'),
          spanId: sql<string | null>`${draft.spanId}`.as('span_id'),
          type: sql<ObservationType>`${draft.type}`.as('type'),
          stateKey: sql<string | null>`${draft.stateKey}`.as('state_key'),
          data: sql<string>`${value.text}`.as('data'),
          dataRef: sql<string | null>`${value.ref}`.as('data_ref'),
          timestamp: sql<number>`${draft.timestamp}`.as('timestamp'),
          receivedAt: sql<number>`${draft.receivedAt}`.as('received_at'),
        })
        .from(traces)
        .where(
          isLive(store, eq(traces.id, draft.traceUuid), traceKey === undefined ? undefined : eq(traces.key, traceKey)),
        ),
    )
    // Writes nothing new, but returns the row, which tells a repeated observation from a missing trace.
    .onConflictDoUpdate({ target: [observations.traceKey, observations.id], set: { id: draft.id } })
    .returning({ dataRef: observations.dataRef })
  if (draft.type !== 'output') {
    const [row] = await insert
    return row
  }
  const [[row]] = await database.batch([insert, markReviewable(store, draft)])
  return row
}

const isOutput = and(eq(observations.type, 'output'), ne(observations.data, 'null'))

/** A span with an output is one to review. Of a repeated id the first body counts, which may be no output. */
function markReviewable(store: Store, { id, traceUuid }: ObservationDraft) {
  const { database } = store
  const output = database
    .select({ spanId: sql`coalesce(${observations.spanId}, ${traces.rootSpanId})`, traceKey: traces.key })
    .from(traces)
    .innerJoin(observations, eq(observations.traceKey, traces.key))
    .where(isLive(store, eq(traces.id, traceUuid), eq(observations.id, id), isOutput))
  return database
    .update(spans)
    .set({ hasOutput: true })
    .where(and(sql`(${spans.id}, ${spans.traceKey}) in (${output})`, eq(spans.hasOutput, false)))
}
