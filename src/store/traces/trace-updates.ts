import { and, eq, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { fieldKey, type SearchableField, searchableFields } from '../../domain/metadata.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, runLast } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from './live.ts'
import { isRenamed, isRerooted, moveRoots, nameRoots, updateNeedsReview } from './roots.ts'
import { deleteTraceFields, fieldBytes, insertTraceFields } from './trace-fields.ts'
import { STATE_COLUMNS, stateColumns, type TraceRecord, type TraceUpdate } from './trace-rows.ts'

/** Computes the changes between a trace as it was read and its new state. */
export async function traceUpdate(from: TraceRecord, state: TraceState, now: number): Promise<TraceUpdate> {
  const [before, after] = await Promise.all([from.metadata, state.metadata].map(searchableFields))
  // Each field's row contains its trace's time, so a change of time replaces every row.
  const isMoved = from.timestamp !== state.timestamp
  const [removed, added] = [before ?? [], after ?? []]
  if (isMoved) return { from, state, added, removed, now }
  return { from, state, added: without(added, removed), removed: without(removed, added), now }
}

function without(fields: readonly SearchableField[], others: readonly SearchableField[]): SearchableField[] {
  const excluded = new Set(others.map(fieldKey))
  return fields.filter(field => !excluded.has(fieldKey(field)))
}

/**
 * Writes traces' new states and the changes to their searchable fields. Skips a trace that someone else wrote after its
 * `from` was read. Returns the ids of the written traces.
 */
export async function updateTraces(store: Store, updates: readonly TraceUpdate[]): Promise<Set<string>> {
  const done = new Set<string>()
  for (const chunk of chunkRows(updates, encodeUpdate, updateBytes)) {
    const revision = newRevision()
    const written = hasRevision(store, chunk.items, revision)
    const rows = await runLast(store.database, [
      ...updateStatements(store, chunk, revision),
      store.database
        .select(named({ id: traces.id }))
        .from(traces)
        .where(written),
    ])
    for (const { id } of rows) done.add(id)
  }
  return done
}

/** The number of bytes that an update sends in addition to its row. */
export const updateBytes = ({ from: { id }, added, removed }: TraceUpdate): number =>
  fieldBytes({ id, fields: added }) + fieldBytes({ id, fields: removed })

/** Whether a trace is one of these and has this revision. */
const hasRevision = (store: Store, updates: readonly TraceUpdate[], revision: string) =>
  isLive(store, hasIdIn(updates.map(({ from }) => from.id)), eq(traces.revision, revision))

/**
 * The batch statements that write new states under a new revision. `json` contains the updates, encoded by
 * `encodeUpdate`.
 */
export function updateStatements(
  store: Store,
  { items, json }: { items: readonly TraceUpdate[]; json: string },
  revision: string,
) {
  const { database } = store
  const { row } = UPDATES
  const given = UPDATES.from(json)
  const written = hasRevision(store, items, revision)
  const unwritten = isLive(
    store,
    sql`(${traces.key}, ${traces.revision}) in (select ${row.key}, ${row.revision} from ${given})`,
  )
  const isOfItem = sql`${traces.key} = ${row.key}`
  const removed = items.flatMap(({ from, removed }) => (removed.length > 0 ? [{ id: from.id, fields: removed }] : []))
  const added = items.flatMap(({ from, added }) => (added.length > 0 ? [{ id: from.id, fields: added }] : []))
  const isMoved = items.some(isRenamed)
  return [
    // Delete before the update, because a field's row contains its trace's old time.
    ...(removed.length > 0 ? [deleteTraceFields(store, removed, unwritten)] : []),
    database
      .update(traces)
      .set({
        status: row.status,
        durationMs: row.durationMs,
        metadata: row.metadata,
        completedFields: row.completedFields,
        revision,
        updatedAt: sql`max(${traces.updatedAt}, ${row.updatedAt})`,
        rootSpanId: row.rootSpanId,
        isPosted: row.isPosted,
        derivation: row.derivation,
        isGeneric: row.isGeneric,
        closesAt: row.closesAt,
      })
      .from(given)
      .where(isLive(store, and(isOfItem, sql`${traces.revision} = ${row.revision}`))),
    // A separate statement, because setting a column rewrites its indexes even if the value is the same.
    ...(isMoved
      ? [
          database
            .update(traces)
            .set({ name: row.name, timestamp: row.timestamp })
            .from(given)
            .where(
              and(written, isOfItem, sql`(${traces.name}, ${traces.timestamp}) <> (${row.name}, ${row.timestamp})`),
            ),
        ]
      : []),
    ...(added.length > 0 ? [insertTraceFields(store, added, written)] : []),
    ...moveRoots(store, items.filter(isRerooted), written),
    ...nameRoots(
      store,
      items.filter(update => isRenamed(update) || isRerooted(update)),
      written,
    ),
    // An output of the whole trace moves with the root, possibly from a reviewed span to an unreviewed one. A renamed
    // root belongs to another step, with another policy.
    ...(items.some(
      update => update.from.isGeneric !== update.state.isGeneric || isRerooted(update) || isRenamed(update),
    )
      ? [updateNeedsReview(store, written)]
      : []),
  ]
}

/** An update's encoded row, for `updateStatements`. */
export const encodeUpdate = ({ from, state, now }: TraceUpdate) =>
  UPDATES.encode({ ...stateColumns(state), key: from.key, revision: from.revision, updatedAt: now })

const UPDATES = rowSet(['key', 'revision', 'updatedAt', ...STATE_COLUMNS])
