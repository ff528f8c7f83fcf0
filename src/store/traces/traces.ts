import { and, eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newId, newKeys, newRevision } from '../../domain/ids.ts'
import type { SearchableField } from '../../domain/metadata.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { RESEND_AFTER_MS } from '../../limits.ts'
import { type Act, actorOf, recordActs } from '../accounts/audit.ts'
import type { PlacedProject, Project } from '../accounts/projects.ts'
import { chunkRows } from '../core/chunks.ts'
import { recordEventsOfProjects } from '../core/outbox.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { markDays } from '../counts/output-days.ts'
import { spans } from '../schema/spans.ts'
import { isLeftOut, traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from './live.ts'
import { selectRootSpans } from './roots.ts'
import { fieldBytes, insertTraceFields } from './trace-fields.ts'
import { endOfCreation, newTraceRow, selectNewTraces, type TraceDraft, type TraceRecord } from './trace-rows.ts'

/** Finds the live traces with these ids. */
export const findTraces = (store: Store, ids: readonly string[]): Promise<TraceRecord[]> => selectTraces(store, ids)

/** A trace to create if it doesn't exist. */
interface NewTrace {
  draft: TraceDraft
  state: TraceState
  fields: readonly SearchableField[]
}

/**
 * Creates the traces that don't exist, with their root spans and searchable fields. An existing trace changes only if
 * it's running, and the new state is completed and has the same metadata. In that case, the trace becomes completed.
 * Returns each trace's resulting row by id and whether it's new, in one round trip. Leaves out a trace if its random
 * key was already taken, or if an epoch has just begun. The caller must then try again. Ids must be unique.
 */
export async function addTraces(
  store: Store,
  project: PlacedProject,
  newTraces: readonly NewTrace[],
): Promise<Map<string, TraceRecord & { isNew: boolean }>> {
  const { database } = store
  const found = new Map<string, TraceRecord & { isNew: boolean }>()
  const keys = newKeys(newTraces[0]?.draft.receivedAt ?? 0, newTraces.length, store.keyLane)
  const keyed = newTraces.map((trace, index) => ({
    ...trace,
    key: keys[index] ?? 0,
    endsAt: endOfCreation(store, project, trace.draft.id),
  }))
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

const rowOf = ({ draft, ...trace }: NewTrace & { key: number; endsAt: number | null }) =>
  newTraceRow({ ...draft, ...trace, now: draft.receivedAt })

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

/**
 * The statement that makes the queue look again at traces that a policy left out. Run it with each write that may make
 * a policy select one of their spans. (Writes that compute `needsReview` do this as well.)
 */
export const reopenTraces = ({ database }: Store, ofTraces: SQL | undefined) =>
  database.update(traces).set({ needsReview: true }).where(and(ofTraces, isLeftOut))

const laterThan = (at: number): SQL => sql`max(${traces.updatedAt}, ${Math.floor(at)})`

/**
 * Immediately hides traces from every read. Their rows stay as tombstones, and a job for each deletes everything else.
 * Returns the keys of the deleted traces by id. Leaves out traces that aren't live (or aren't in `project`, if it's
 * given).
 */
export async function deleteTraces(
  store: Store,
  act: Act,
  ids: readonly string[],
  project: Project | null,
): Promise<Map<string, number>> {
  const { database } = store
  const revision = newRevision()
  const purgeDueAt = act.at + RESEND_AFTER_MS
  // If the reply was lost and the batch is retried, these deletions must still report success and must not delete
  // traces that were created in the meantime with the same ids.
  const thisDeletion = alias(traces, 'this_deletion')
  const isTombstone = and(
    eq(thisDeletion.organizationKey, store.organization.key),
    eq(thisDeletion.purgeDueAt, purgeDueAt),
    eq(thisDeletion.revision, revision),
  )
  const tombstones = sql`${traces} as this_deletion where ${isTombstone}`
  const ofProject = project ? eq(traces.projectKey, project.key) : undefined
  const entries = ENTRIES.encodeAll(ids.map(traceUuid => ({ traceUuid, entryId: newId() })))
  const from = sql`from ${ENTRIES.from(entries)} cross join ${tombstones} and ${thisDeletion.id} = ${ENTRIES.row.traceUuid}`
  const events = recordEventsOfProjects(
    store,
    'trace.deleted',
    thisDeletion.projectKey,
    {
      id: ENTRIES.row.entryId,
      // Null, because the purge deletes a trace's events.
      traceKey: null,
      subjectId: thisDeletion.id,
      actorId: actorOf(act),
      at: act.at,
      data: { trace: sql`json_object('id', ${thisDeletion.id}, 'traceId', ${thisDeletion.traceId})` },
    },
    from,
  )
  const [, deleted] = await database.batch([
    database
      .update(traces)
      .set({ deletedAt: act.at, purgeDueAt, revision, isUncounted: true })
      .where(
        isLive(store, hasIdIn(ids), ofProject, sql`${traces.id} not in (select this_deletion.id from ${tombstones})`),
      ),
    database
      .select({ id: thisDeletion.id, key: thisDeletion.key, projectKey: thisDeletion.projectKey })
      .from(thisDeletion)
      .where(isTombstone),
    markDays(
      store,
      sql`select this_deletion.project_key, this_deletion.timestamp from ${tombstones}`,
      act.at,
      'at once',
    ),
    recordActs(
      store,
      act,
      {
        id: ENTRIES.row.entryId,
        projectKey: thisDeletion.projectKey.getSQL(),
        action: sql`'trace.delete'`,
        targetId: thisDeletion.id.getSQL(),
        beforeId: thisDeletion.id.getSQL(),
        afterId: sql`null`,
      },
      from,
    ),
    ...events,
  ])
  if (events.length > 0) for (const { projectKey } of deleted) store.outbox.add(projectKey)
  return new Map(deleted.map(({ id, key }) => [id, key]))
}

/** The ids of the audit log's entries about deleted traces. The events have the same ids. */
const ENTRIES = rowSet(['traceUuid', 'entryId'])
