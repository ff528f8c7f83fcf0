import { and, desc, eq, isNull, notExists, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newKey, newRevision } from '../domain/ids.ts'
import type { SearchableField } from '../domain/metadata.ts'
import type { TraceState } from '../domain/trace-status.ts'
import { RESEND_AFTER_MS } from '../limits.ts'
import type { Project } from './projects.ts'
import { feedback, isNoRoot, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { deleteTraceFields, insertTraceFields } from './trace-fields.ts'

/** A trace's own row, its metadata parsed. */
export interface TraceRecord extends TraceState {
  key: number
  id: string
  projectKey: number
  traceId: string
  rootSpanId: string
  name: string
  timestamp: number
  updatedAt: number
  revision: string
}

/** What the first call to a trace fixes for good, and what the service adds. */
export interface TraceDraft {
  id: string
  rootSpanId: string
  traceId: string
  name: string
  timestamp: number
  receivedAt: number
}

/** The condition of every query on traces: in the store's organization, and not deleted. */
export const isLive = ({ organization }: Store, ...conditions: (SQL | undefined)[]) =>
  and(eq(traces.organizationKey, organization.key), isNull(traces.deletedAt), ...conditions)

/** The key of the live trace with this id, as a query to await or to put into another one. */
export const liveTraceKey = (store: Store, id: string) =>
  store.database
    .select({ key: traces.key })
    .from(traces)
    .where(isLive(store, eq(traces.id, id)))

/** The trace with this id. */
export async function findTrace(store: Store, id: string): Promise<TraceRecord | undefined> {
  const [trace] = await selectTrace(store, id)
  return trace
}

/**
 * Creates a trace with its root span and searchable fields, unless it is there: then a completing call that repeats the
 * stored metadata completes it, and nothing else changes. Returns the trace as it stands after, in one round trip;
 * undefined where its key was drawn twice in one millisecond, and the caller must try again.
 */
export async function addTrace(
  store: Store,
  project: Project,
  draft: TraceDraft,
  state: TraceState,
  fields: readonly SearchableField[],
): Promise<TraceRecord | undefined> {
  const revision = newRevision()
  const written = writtenAs(store, draft.id, revision)
  const { database } = store
  const insertTrace = database
    .insert(traces)
    .values({
      ...draft,
      ...state,
      key: newKey(draft.receivedAt),
      organizationKey: store.organization.key,
      projectKey: project.key,
      revision,
      updatedAt: draft.receivedAt,
    })
    .onConflictDoUpdate({
      target: traces.id,
      targetWhere: sql`deleted_at is null`,
      set: {
        status: 'completed',
        durationMs: sql`excluded.duration_ms`,
        completedFields: sql`excluded.completed_fields`,
        revision,
        updatedAt: notBefore(draft.receivedAt),
      },
      setWhere: sql`${traces.status} = 'running' and excluded.status = 'completed' and ${traces.metadata} = excluded.metadata`,
    })
    .onConflictDoNothing({ target: traces.key })
  const insertRootSpan = database
    .insert(spans)
    .select(
      database
        .select({
          id: traces.rootSpanId,
          traceKey: traces.key,
          isRoot: sql<boolean>`1`.as('is_root'),
          parentId: sql<null>`null`.as('parent_id'),
          stepId: traces.name,
          timestamp: traces.timestamp,
          promptVersionId: sql<null>`null`.as('prompt_version_id'),
          metadata: sql<string>`'{}'`.as('metadata'),
          hasOutput: sql<boolean>`0`.as('has_output'),
        })
        .from(traces)
        .where(written),
    )
    .onConflictDoNothing()
  const [, , , [trace]] = await database.batch([
    insertTrace,
    insertRootSpan,
    insertTraceFields(store, fields, written),
    selectTrace(store, draft.id),
  ])
  return trace
}

/**
 * Writes a trace's new state and the difference of its searchable fields, if nobody wrote since `from` was read.
 * Returns whether it did.
 */
export async function updateTrace(
  store: Store,
  from: TraceRecord,
  { status, metadata, durationMs, completedFields }: TraceState,
  { added, removed, now }: { added: readonly SearchableField[]; removed: readonly SearchableField[]; now: number },
): Promise<boolean> {
  const revision = newRevision()
  const written = writtenAs(store, from.id, revision)
  const { database } = store
  const [, , , rows] = await database.batch([
    database
      .update(traces)
      .set({ status, metadata, durationMs, completedFields, revision, updatedAt: notBefore(now) })
      .where(isLive(store, eq(traces.key, from.key), eq(traces.revision, from.revision))),
    deleteTraceFields(store, removed, written),
    insertTraceFields(store, added, written),
    database.select({ key: traces.key }).from(traces).where(written),
  ])
  return rows.length === 1
}

const selectTrace = (store: Store, id: string) =>
  store.database
    .select()
    .from(traces)
    .where(isLive(store, eq(traces.id, id)))

/** A time of update that never goes back, though an older request may finish later. */
export const notBefore = (now: number): SQL => sql`max(${traces.updatedAt}, ${now})`

/** The trace with this id, if its last write was the one that gave it `revision`. */
const writtenAs = (store: Store, id: string, revision: string) =>
  isLive(store, eq(traces.id, id), eq(traces.revision, revision))

/** A trace as the list shows it. */
export interface TraceSummary extends TraceRecord {
  spanCount: number
  feedbackCount: number
}

/** Where a page of traces ends: the position of its last one. */
interface TracePosition {
  timestamp: number
  id: string
}

/** A page of a project's traces, newest first. */
export async function listTraces(
  store: Store,
  project: Project,
  { limit, after }: { limit: number; after: TracePosition | undefined },
): Promise<TraceSummary[]> {
  const rows = await store.database
    .select({
      trace: traces,
      spanCount: sql<number>`1 + (select count(*) from ${spans} where ${spans.traceKey} = ${traces.key} and ${isNoRoot})`,
      feedbackCount: sql<number>`(select count(*) from ${feedback} where ${feedback.traceKey} = ${traces.key})`,
    })
    .from(traces)
    .where(isLive(store, eq(traces.projectKey, project.key), after && olderThan(after)))
    .orderBy(desc(traces.timestamp), desc(traces.id))
    .limit(limit)
  return rows.map(({ trace, ...counts }) => ({ ...trace, ...counts }))
}

const olderThan = ({ timestamp, id }: TracePosition): SQL =>
  sql`(${traces.timestamp}, ${traces.id}) < (${timestamp}, ${id})`

/**
 * Hides a trace from every read, at once. Its row stays as a tombstone, from which a job removes what hangs on it.
 * Returns its key, or undefined where there is no such live trace, in `project` if that is given.
 */
export async function deleteTrace(
  store: Store,
  id: string,
  project: Project | null,
  now: number,
): Promise<number | undefined> {
  const { database } = store
  const revision = newRevision()
  const purgeDueAt = now + RESEND_AFTER_MS
  // Tried a second time because the reply was lost, this deletion must neither deny itself nor take the trace's successor.
  const thisDeletion = alias(traces, 'this_deletion')
  const tombstone = database
    .select({ key: thisDeletion.key })
    .from(thisDeletion)
    .where(
      and(
        eq(thisDeletion.organizationKey, store.organization.key),
        eq(thisDeletion.purgeDueAt, purgeDueAt),
        eq(thisDeletion.id, id),
        eq(thisDeletion.revision, revision),
      ),
    )
  const ofProject = project ? eq(traces.projectKey, project.key) : undefined
  const [, [deleted]] = await database.batch([
    database
      .update(traces)
      .set({ deletedAt: now, purgeDueAt, revision })
      .where(isLive(store, eq(traces.id, id), ofProject, notExists(tombstone))),
    tombstone,
  ])
  return deleted?.key
}
