import { and, eq, exists, notExists, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newKeys, newRevision } from '../../domain/ids.ts'
import type { SearchableField } from '../../domain/metadata.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { RESEND_AFTER_MS } from '../../limits.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import type { Project } from '../accounts/projects.ts'
import { chunkRows } from '../core/chunks.ts'
import type { Store } from '../core/store.ts'
import { markDays } from '../counts/output-days.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from './live.ts'
import { selectRootSpans } from './roots.ts'
import { fieldBytes, insertTraceFields } from './trace-fields.ts'
import { newTraceRow, selectNewTraces, type TraceDraft, type TraceRecord } from './trace-rows.ts'

/** Finds the live traces with these ids. */
export const findTraces = (store: Store, ids: readonly string[]): Promise<TraceRecord[]> => selectTraces(store, ids)

/** Finds the live trace with this id. */
export async function findTrace(store: Store, id: string): Promise<TraceRecord | undefined> {
  const [trace] = await selectTraces(store, [id])
  return trace
}

/** A trace to create if it doesn't exist. */
interface NewTrace {
  draft: TraceDraft
  state: TraceState
  fields: readonly SearchableField[]
}

/**
 * Creates the traces that don't exist, with their root spans and searchable fields. An existing trace changes only if a
 * completing state repeats the stored metadata, which completes it. Returns each trace's resulting row by id and
 * whether it's new, in one round trip. A trace is missing if its random key was already taken; the caller must try
 * again. Ids must be unique.
 */
export async function addTraces(
  store: Store,
  project: Project,
  newTraces: readonly NewTrace[],
): Promise<Map<string, TraceRecord & { isNew: boolean }>> {
  const { database } = store
  const found = new Map<string, TraceRecord & { isNew: boolean }>()
  const keys = newKeys(newTraces[0]?.draft.receivedAt ?? 0, newTraces.length)
  const keyed = newTraces.map((trace, index) => ({ ...trace, key: keys[index] ?? 0 }))
  for (const { items, json } of chunkRows(keyed, rowOf, newTraceBytes)) {
    const revision = newRevision()
    const ids = items.map(({ draft }) => draft.id)
    const written = isLive(store, hasIdIn(ids), eq(traces.revision, revision))
    const insertTraces = database
      .insert(traces)
      .select(selectNewTraces(store, project, json, revision))
      .onConflictDoUpdate({
        target: traces.id,
        targetWhere: sql`deleted_at is null`,
        set: {
          status: 'completed',
          durationMs: sql`excluded.duration_ms`,
          completedFields: sql`excluded.completed_fields`,
          revision,
          updatedAt: sql`max(${traces.updatedAt}, excluded.updated_at)`,
        },
        setWhere: sql`${traces.status} = 'running' and excluded.status = 'completed'
          and ${traces.metadata} = excluded.metadata and ${traces.derivation} is null`,
      })
      .onConflictDoNothing({ target: traces.key })
    const insertRootSpans = database.insert(spans).select(selectRootSpans(written)).onConflictDoNothing()
    const addedFields = items.map(({ draft, fields }) => ({ id: draft.id, fields }))
    const [, , , rows] = await database.batch([
      insertTraces,
      insertRootSpans,
      insertTraceFields(store, addedFields, written),
      selectTraces(store, ids),
    ])
    const drawn = new Set(items.map(({ key }) => key))
    for (const row of rows) found.set(row.id, { ...row, isNew: drawn.has(row.key) })
  }
  return found
}

const newTraceBytes = ({ draft, fields }: NewTrace): number => fieldBytes({ id: draft.id, fields })

const rowOf = ({ key, draft: { id, traceId, receivedAt }, state }: NewTrace & { key: number }) =>
  newTraceRow({ key, id, traceId, state, now: receivedAt })

const selectTraces = (store: Store, ids: readonly string[]) =>
  store.database
    .select()
    .from(traces)
    .where(isLive(store, hasIdIn(ids)))

/** The statement that updates traces' `updatedAt`. The condition must bind the organization. */
export const touchTraces = ({ database }: Store, ofTraces: SQL | undefined, at: number) =>
  database
    .update(traces)
    .set({ updatedAt: laterThan(at) })
    .where(ofTraces)

/**
 * Updates `updatedAt` and sets a flag. The first of the two statements handles traces whose flag is already right,
 * because setting a column rewrites its indexes even if the value is the same.
 */
export const touchAndFlag = (
  store: Store,
  ofTraces: SQL | undefined,
  at: number,
  flag: 'needsReview' | 'isNegative',
  value: SQL,
) =>
  [
    touchTraces(store, and(ofTraces, sql`${traces[flag]} = ${value}`), at),
    store.database
      .update(traces)
      .set({ updatedAt: laterThan(at), [flag]: value })
      .where(and(ofTraces, sql`${traces[flag]} <> ${value}`)),
  ] as const

const laterThan = (at: number): SQL => sql`max(${traces.updatedAt}, ${Math.floor(at)})`

/**
 * Immediately hides a trace from every read. Its row stays as a tombstone, and a job deletes everything else. Returns
 * the trace's key, or undefined if there is no such live trace (in `project`, if given).
 */
export async function deleteTrace(
  store: Store,
  act: Act,
  id: string,
  project: Project | null,
): Promise<number | undefined> {
  const { database } = store
  const revision = newRevision()
  const purgeDueAt = act.at + RESEND_AFTER_MS
  // If the reply was lost and the batch is retried, this deletion must still report success and must not delete a trace
  // that was created in the meantime with the same id.
  const thisDeletion = alias(traces, 'this_deletion')
  const isTombstone = and(
    eq(thisDeletion.organizationKey, store.organization.key),
    eq(thisDeletion.purgeDueAt, purgeDueAt),
    eq(thisDeletion.id, id),
    eq(thisDeletion.revision, revision),
  )
  const tombstone = database.select({ key: thisDeletion.key }).from(thisDeletion).where(isTombstone)
  const projectKey = database.select({ key: thisDeletion.projectKey }).from(thisDeletion).where(isTombstone)
  const ofProject = project ? eq(traces.projectKey, project.key) : undefined
  const [, [deleted]] = await database.batch([
    database
      .update(traces)
      .set({ deletedAt: act.at, purgeDueAt, revision, isUncounted: true })
      .where(isLive(store, eq(traces.id, id), ofProject, notExists(tombstone))),
    tombstone,
    markDays(
      store,
      sql`select this_deletion.project_key, this_deletion.timestamp from ${traces} as this_deletion where ${isTombstone}`,
      act.at,
      'at once',
    ),
    recordAct(
      store,
      act,
      { action: 'trace.delete', targetId: id, projectKey: sql`${projectKey}`, beforeId: id },
      exists(tombstone),
    ),
  ])
  return deleted?.key
}
