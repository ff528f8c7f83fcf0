import { and, eq, exists, isNull, notExists, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newKeys, newRevision } from '../domain/ids.ts'
import type { SearchableField } from '../domain/metadata.ts'
import type { TraceState } from '../domain/trace-status.ts'
import { RESEND_AFTER_MS } from '../limits.ts'
import { type Act, recordAct } from './audit.ts'
import { chunksOf } from './chunks.ts'
import type { Project } from './projects.ts'
import { type feedback, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { deleteTraceFields, fieldBytes, insertTraceFields } from './trace-fields.ts'

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

/** Whose traces a query is about: a store's, or in a `Template` those of the `organizationKey` that it is given. */
type Bound = { organization: { key: number | Placeholder } }
export const BOUND_LATER: Bound = { organization: { key: sql.placeholder('organizationKey') } }

/** The condition of every query on traces: in the store's organization, and not deleted. */
export const isLive = ({ organization }: Bound, ...conditions: (SQL | undefined)[]) =>
  and(eq(traces.organizationKey, organization.key), isNull(traces.deletedAt), ...conditions)

/** The key of the live trace with this id, as a query to put into another one. */
export const liveTraceKey = (store: Store, id: string) =>
  store.database
    .select({ key: traces.key })
    .from(traces)
    .where(isLive(store, eq(traces.id, id)))

/** The keys of those of these traces that are there, by id. */
export async function liveTraceKeys(store: Store, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await store.database
    .select({ id: traces.id, key: traces.key })
    .from(traces)
    .where(isLive(store, hasIdIn(ids)))
  return new Map(rows.map(({ id, key }) => [id, key]))
}

/** Whether a trace has one of these ids. */
export const hasIdIn = (ids: readonly string[]): SQL =>
  sql`${traces.id} in (select item.value from json_each(${JSON.stringify(ids)}) as item)`

/** The traces with these ids that are there. */
export const findTraces = (store: Store, ids: readonly string[]): Promise<TraceRecord[]> => selectTraces(store, ids)

/**
 * Whether a span or a piece of feedback with this id is on a live trace of the organization other than the named one; on a
 * deleted trace it no longer counts.
 */
export const isOnOtherTrace = (
  { organization }: Store,
  table: typeof spans | typeof feedback,
  { id, traceUuid }: { id: SQL; traceUuid: SQL },
): SQL => sql`exists (
  select 1 from ${table} elsewhere inner join ${traces} other on other.key = elsewhere.trace_key
  where elsewhere.id = ${id} and other.organization_key = ${organization.key} and other.deleted_at is null
    and other.id <> ${traceUuid})`

/** The trace with this id. */
export async function findTrace(store: Store, id: string): Promise<TraceRecord | undefined> {
  const [trace] = await selectTraces(store, [id])
  return trace
}

/** A trace that is to be, unless it is there. */
interface NewTrace {
  draft: TraceDraft
  state: TraceState
  fields: readonly SearchableField[]
}

/**
 * Creates traces with their root spans and searchable fields, those that are not there: of the others, a completing state
 * that repeats the stored metadata completes its trace, and nothing else changes. Returns each trace as it stands after,
 * and whether it is new, by its id, in one round trip; a trace whose key was drawn twice in one millisecond is missing, and
 * the caller must try again. No two may have the same id.
 */
export async function addTraces(
  store: Store,
  project: Project,
  news: readonly NewTrace[],
): Promise<Map<string, TraceRecord & { isNew: boolean }>> {
  const { database } = store
  const found = new Map<string, TraceRecord & { isNew: boolean }>()
  const keys = newKeys(news[0]?.draft.receivedAt ?? 0, news.length)
  const keyed = news.map((trace, index) => ({ ...trace, key: keys[index] ?? 0 }))
  for (const { items, json } of chunksOf(keyed, rowOf, bytesOfNew)) {
    const revision = newRevision()
    const ids = items.map(({ draft }) => draft.id)
    const written = isLive(store, hasIdIn(ids), eq(traces.revision, revision))
    const insertTraces = database
      .insert(traces)
      .select(
        sql`select item.value ->> 0, item.value ->> 1, ${store.organization.key}, ${project.key}, item.value ->> 2,
            item.value ->> 3, item.value ->> 4, item.value ->> 5, item.value ->> 6, item.value ->> 7, item.value ->> 8,
            item.value ->> 9, ${revision}, item.value ->> 10, item.value ->> 10, null, null, 1, 0
          from json_each(${json}) as item where true`,
      )
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
        setWhere: sql`${traces.status} = 'running' and excluded.status = 'completed' and ${traces.metadata} = excluded.metadata`,
      })
      .onConflictDoNothing({ target: traces.key })
    const insertRootSpans = database.insert(spans).select(rootSpansOf(written)).onConflictDoNothing()
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

const bytesOfNew = ({ draft, fields }: NewTrace): number => fieldBytes({ id: draft.id, fields })

const rowOf = ({ key, draft, state }: NewTrace & { key: number }) => [
  key,
  draft.id,
  draft.traceId,
  draft.rootSpanId,
  draft.name,
  state.status,
  draft.timestamp,
  state.durationMs,
  JSON.stringify(state.metadata),
  JSON.stringify(state.completedFields),
  draft.receivedAt,
]

/** The root spans of traces, in the order of the columns: what is not known yet is null. */
const rootSpansOf = (ofTraces: SQL | undefined): SQL => sql`
  select ${traces.rootSpanId}, ${traces.key}, 1, null, ${traces.name}, ${traces.timestamp}, null, null, 0,
    null, null, null, null, null, null, null, 0, 0, null, null, null
  from ${traces} where ${ofTraces}`

/** A trace's new state, computed from what was read. */
export interface TraceUpdate {
  from: TraceRecord
  state: TraceState
  added: readonly SearchableField[]
  removed: readonly SearchableField[]
  now: number
}

/**
 * Writes traces' new states and the differences of their searchable fields, each if nobody wrote since its `from` was
 * read. Returns the ids of those that were written.
 */
export async function updateTraces(store: Store, updates: readonly TraceUpdate[]): Promise<Set<string>> {
  const { database } = store
  const done = new Set<string>()
  const sizeOfFields = ({ from: { id }, added, removed }: TraceUpdate) =>
    fieldBytes({ id, fields: added }) + fieldBytes({ id, fields: removed })
  for (const { items, json } of chunksOf(updates, updateRowOf, sizeOfFields)) {
    const revision = newRevision()
    const ids = items.map(({ from }) => from.id)
    const written = isLive(store, hasIdIn(ids), eq(traces.revision, revision))
    const [, , , rows] = await database.batch([
      database
        .update(traces)
        .set({
          status: sql`item.value ->> 2`,
          durationMs: sql`item.value ->> 3`,
          metadata: sql`item.value ->> 4`,
          completedFields: sql`item.value ->> 5`,
          revision,
          updatedAt: sql`max(${traces.updatedAt}, item.value ->> 6)`,
        })
        .from(sql`json_each(${json}) as item`)
        .where(isLive(store, sql`${traces.key} = item.value ->> 0 and ${traces.revision} = item.value ->> 1`)),
      deleteTraceFields(
        store,
        items.map(({ from, removed }) => ({ id: from.id, fields: removed })),
        written,
      ),
      insertTraceFields(
        store,
        items.map(({ from, added }) => ({ id: from.id, fields: added })),
        written,
      ),
      database.select({ id: traces.id }).from(traces).where(written),
    ])
    for (const { id } of rows) done.add(id)
  }
  return done
}

const updateRowOf = ({ from, state, now }: TraceUpdate) => [
  from.key,
  from.revision,
  state.status,
  state.durationMs,
  JSON.stringify(state.metadata),
  JSON.stringify(state.completedFields),
  now,
]

const selectTraces = (store: Store, ids: readonly string[]) =>
  store.database
    .select()
    .from(traces)
    .where(isLive(store, hasIdIn(ids)))

/** Moves the time of update of traces; the condition must bind the organization. */
export const touchTraces = ({ database }: Store, ofTraces: SQL | undefined, at: number) =>
  database
    .update(traces)
    .set({ updatedAt: laterThan(at) })
    .where(ofTraces)

/**
 * The same, and sets a flag of theirs. Two statements, the first of which leaves alone the flags that are right: setting a
 * column rewrites the indexes that ask for it, changed or not.
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
 * Hides a trace from every read, at once. Its row stays as a tombstone, from which a job removes what hangs on it.
 * Returns its key, or undefined where there is no such live trace, in `project` if that is given.
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
  // Tried a second time because the reply was lost, this deletion must neither deny itself nor take the trace's successor.
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
      .set({ deletedAt: act.at, purgeDueAt, revision })
      .where(isLive(store, eq(traces.id, id), ofProject, notExists(tombstone))),
    tombstone,
    recordAct(
      store,
      act,
      { action: 'trace.delete', targetId: id, projectKey: sql`${projectKey}`, beforeId: id },
      exists(tombstone),
    ),
  ])
  return deleted?.key
}
