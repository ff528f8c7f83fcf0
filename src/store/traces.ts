import { and, desc, eq, isNull, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../domain/ids.ts'
import type { SearchableField } from '../domain/metadata.ts'
import type { TraceState } from '../domain/trace-status.ts'
import type { Project } from './projects.ts'
import { feedback, spans, traces } from './schema.ts'
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

/** The condition that every query on live traces has. */
export const inOrganization = (store: Store, ...conditions: SQL[]) =>
  and(eq(traces.organizationKey, store.organization.key), isNull(traces.deletedAt), ...conditions)

/**
 * The live trace with this id in the store's organization, as a subquery on its key: what guards every insert of a
 * child, so that a row is either written under a trace that is there or not at all.
 */
export const liveTraceKey = (store: Store, id: string) =>
  store.database
    .select({ key: traces.key })
    .from(traces)
    .where(inOrganization(store, eq(traces.id, id)))

/** The trace with this id. */
export async function findTrace(store: Store, id: string): Promise<TraceRecord | undefined> {
  const [row] = await store.database
    .select()
    .from(traces)
    .where(inOrganization(store, eq(traces.id, id)))
  return row
}

/**
 * Creates a trace with its root span and searchable fields, unless it is there: then a completing call that repeats the
 * stored metadata completes it, and nothing else changes. Returns the trace as it stands after; one round trip.
 */
export async function addTrace(
  store: Store,
  project: Project,
  draft: TraceDraft,
  state: TraceState,
  fields: readonly SearchableField[],
): Promise<TraceRecord | undefined> {
  const revision = newRevision()
  const { database } = store
  const insertTrace = database
    .insert(traces)
    .values({
      ...draft,
      ...state,
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
        durationMs: sql`coalesce(${traces.durationMs}, excluded.duration_ms)`,
        completedFields: sql`excluded.completed_fields`,
        revision,
        updatedAt: draft.receivedAt,
      },
      setWhere: sql`${traces.status} = 'running' and excluded.status = 'completed' and ${traces.metadata} = excluded.metadata`,
    })
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
        .where(writtenAs(store, draft.id, revision)),
    )
    .onConflictDoNothing()
  const [, , , rows] = await database.batch([
    insertTrace,
    insertRootSpan,
    insertTraceFields(store, fields, writtenAs(store, draft.id, revision)),
    database
      .select()
      .from(traces)
      .where(inOrganization(store, eq(traces.id, draft.id))),
  ])
  const [row] = rows
  return row
}

/**
 * Writes a trace's new state and the difference of its searchable fields, if nobody wrote since `from` was read.
 * Returns whether it did.
 */
export async function updateTrace(
  store: Store,
  from: TraceRecord,
  state: TraceState,
  { added, removed, now }: { added: readonly SearchableField[]; removed: readonly SearchableField[]; now: number },
): Promise<boolean> {
  const revision = newRevision()
  const written = writtenAs(store, from.id, revision)
  const { database } = store
  const [, , , rows] = await database.batch([
    database
      .update(traces)
      .set({ ...state, revision, updatedAt: now })
      .where(inOrganization(store, eq(traces.key, from.key), eq(traces.revision, from.revision))),
    deleteTraceFields(store, removed, written),
    insertTraceFields(store, added, written),
    database.select({ key: traces.key }).from(traces).where(written),
  ])
  return rows.length === 1
}

/** The trace with this id, if its last write was the one that gave it `revision`. */
const writtenAs = (store: Store, id: string, revision: string) =>
  inOrganization(store, eq(traces.id, id), eq(traces.revision, revision))

/** A trace as the list shows it. */
export interface TraceSummary extends TraceRecord {
  spanCount: number
  feedbackCount: number
}

/** Where a page of traces ends: the position of its last one. */
export interface TracePosition {
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
      spanCount: sql<number>`1 + (select count(*) from ${spans} where ${spans.traceKey} = ${traces.key} and ${spans.isRoot} = 0)`,
      feedbackCount: sql<number>`(select count(*) from ${feedback} where ${feedback.traceKey} = ${traces.key})`,
    })
    .from(traces)
    .where(inOrganization(store, eq(traces.projectKey, project.key), ...(after ? [olderThan(after)] : [])))
    .orderBy(desc(traces.timestamp), desc(traces.id))
    .limit(limit)
  return rows.map(({ trace, ...counts }) => ({ ...trace, ...counts }))
}

const olderThan = ({ timestamp, id }: TracePosition): SQL =>
  sql`(${traces.timestamp}, ${traces.id}) < (${timestamp}, ${id})`

/**
 * Hides a trace from every read, at once. Its row stays as a tombstone, from which a job removes what hangs on it.
 * Undefined where there is no such live trace, in `project` if that is given.
 */
export async function deleteTrace(
  store: Store,
  id: string,
  project: Project | null,
  now: number,
): Promise<{ key: number } | undefined> {
  const [row] = await store.database
    .update(traces)
    .set({ deletedAt: now })
    .where(inOrganization(store, eq(traces.id, id), ...(project ? [eq(traces.projectKey, project.key)] : [])))
    .returning({ key: traces.key })
  return row
}
