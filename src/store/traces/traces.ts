import { and, eq, exists, isNull, ne, notExists, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { newKeys, newRevision } from '../../domain/ids.ts'
import { fieldKey, type SearchableField, searchableFields } from '../../domain/metadata.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { RESEND_AFTER_MS } from '../../limits.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { isExistingProject, isOfExistingProject, type Project } from '../accounts/projects.ts'
import { chunksOf } from '../core/chunks.ts'
import { named, runLast } from '../core/database.ts'
import { hasObservedOutput, hasOtherOutput, needsReview } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { markDays } from '../counts/output-days.ts'
import { feedback } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { deleteTraceFields, fieldBytes, insertTraceFields } from './trace-fields.ts'

/** A trace's own row, its metadata parsed. */
export interface TraceRecord extends TraceState {
  key: number
  id: string
  projectKey: number
  traceId: string
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

/** The condition of every query on traces: in the store's organization, and not deleted, nor their project. */
export const isLive = (bound: Bound, ...conditions: (SQL | undefined)[]) =>
  and(isKept(bound), isOfExistingProject(bound, traces.projectKey), ...conditions)

/** The same of one project's traces. That the project exists is asked once, and not of each trace. */
export const isLiveIn = (store: Store, project: Project, ...conditions: (SQL | undefined)[]) =>
  and(isKept(store), eq(traces.projectKey, project.key), isExistingProject(store, project), ...conditions)

const isKept = ({ organization }: Bound) => and(eq(traces.organizationKey, organization.key), isNull(traces.deletedAt))

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
 * deleted trace it no longer counts. `which`: those of them alone that meet this condition on `elsewhere`.
 */
export const isOnOtherTrace = (
  bound: Bound,
  table: typeof spans | typeof feedback,
  { id, traceUuid, which = sql`true` }: { id: SQL; traceUuid: SQL; which?: SQL },
): SQL => sql`exists (
  select 1 from ${table} elsewhere inner join ${traces} other on other.key = elsewhere.trace_key
  where elsewhere.id = ${id} and other.organization_key = ${bound.organization.key} and other.deleted_at is null
    and ${isOfExistingProject(bound, sql`other.project_key`)} and other.id <> ${traceUuid} and ${which})`

/**
 * Whether a span that something on the trace at hand names belongs to another trace. One that is nowhere yet does not. The ids
 * of roots and of telemetry's spans can be computed, and so taken by another trace before they are there: whose id is derived
 * has it, else the trace at hand if it has the span.
 */
export const isNamedOfOther = (bound: Bound, spanId: SQL): SQL => sql`(${spanId} is not null
  and ${spanId} <> ${traces.rootSpanId} and ${isOnOtherTrace(bound, spans, {
    id: spanId,
    traceUuid: sql`${traces.id}`,
    which: sql`(elsewhere.is_root = 1 or elsewhere.export_revision is not null
      or not exists (select 1 from ${spans} own where own.id = ${spanId} and own.trace_key = ${traces.key}))`,
  })})`

/**
 * The span that a row of feedback or of observations names, if it is there by now. Columns are written out, for drizzle drops
 * their table's name from some selections.
 */
export const joinedSpanId = (table: 'feedback' | 'observations'): SQL<string | null> => {
  const row = sql.raw(table)
  return sql`(select joined.id from ${spans} joined where joined.id = ${row}.span_id and joined.trace_key = ${row}.trace_key)`
}

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
      .select(newTraces(store, project, json, revision))
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

const rowOf = ({ key, draft: { id, traceId, receivedAt }, state }: NewTrace & { key: number }) =>
  newTraceRow({ key, id, traceId, state, now: receivedAt })

/** A new trace's row, for `newTraces`. */
export const newTraceRow = ({
  key,
  id,
  traceId,
  state,
  now,
}: Pick<TraceRecord, 'key' | 'id' | 'traceId'> & { state: TraceState; now: number }) =>
  NEW_TRACES.encode({
    ...columnsOf(state),
    key,
    id,
    traceId,
    receivedAt: now,
  })

/** What rows of new traces and of updates say of a state alike. */
const STATE_COLUMNS = [
  'status',
  'durationMs',
  'metadata',
  'completedFields',
  'rootSpanId',
  'isPosted',
  'derivation',
  'isGeneric',
  'closesAt',
  'name',
  'timestamp',
] as const

const columnsOf = (state: TraceState) => ({
  status: state.status,
  durationMs: state.durationMs,
  metadata: JSON.stringify(state.metadata),
  completedFields: JSON.stringify(state.completedFields),
  rootSpanId: state.rootSpanId,
  isPosted: Number(state.isPosted),
  derivation: state.derivation && JSON.stringify(state.derivation),
  isGeneric: Number(state.isGeneric),
  closesAt: state.closesAt,
  name: state.name,
  timestamp: state.timestamp,
})

const NEW_TRACES = rowSet(['key', 'id', 'traceId', 'receivedAt', ...STATE_COLUMNS])

/** New traces; none of a project that was deleted. */
export const newTraces = (store: Store, project: Project, rows: string, revision: string): SQL => {
  const { row } = NEW_TRACES
  return selectFor(
    traces,
    {
      ...row,
      organizationKey: store.organization.key,
      projectKey: project.key,
      revision,
      updatedAt: row.receivedAt,
      deletedAt: null,
      purgeDueAt: null,
      needsReview: sql`1 - ${row.isGeneric}`,
      isNegative: 0,
      isUncounted: 0,
    },
    sql`from ${NEW_TRACES.from(rows)} where ${isOfExistingProject(store, sql`${project.key}`)}`,
  )
}

/** The columns of a span that nothing is known of but its name, its time and where it is. */
export const NEW_SPAN = {
  parentId: null,
  promptVersionId: null,
  metadata: null,
  hasOutput: 0,
  status: null,
  durationMs: null,
  input: null,
  inputRef: null,
  output: null,
  outputRef: null,
  outputRevision: null,
  hasNullOutput: 0,
  reviewNumber: 0,
  reviewState: null,
  claimedBy: null,
  claimedUntil: null,
  isGeneric: 0,
  state: null,
  stateRef: null,
  exportRevision: null,
  isStale: 0,
} as const

/** The root spans of traces. */
const rootSpansOf = (ofTraces: SQL | undefined): SQL =>
  selectFor(
    spans,
    {
      ...NEW_SPAN,
      id: traces.rootSpanId,
      traceKey: traces.key,
      isRoot: 1,
      stepId: traces.name,
      timestamp: traces.timestamp,
      receivedAt: traces.receivedAt,
    },
    sql`from ${traces} where ${ofTraces}`,
  )

/** A trace's new state, computed from what was read. */
export interface TraceUpdate {
  from: TraceRecord
  state: TraceState
  added: readonly SearchableField[]
  removed: readonly SearchableField[]
  now: number
}

/** What changes between a trace as it was read and its new state. */
export async function traceUpdate(from: TraceRecord, state: TraceState, now: number): Promise<TraceUpdate> {
  const [before, after] = await Promise.all([from.metadata, state.metadata].map(searchableFields))
  // A field's row has its trace's time, so that all are others when it moves.
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
 * Writes traces' new states and the differences of their searchable fields, each if nobody wrote since its `from` was
 * read. Returns the ids of those that were written.
 */
export async function updateTraces(store: Store, updates: readonly TraceUpdate[]): Promise<Set<string>> {
  const done = new Set<string>()
  for (const chunk of chunksOf(updates, updateRowOf, updateBytes)) {
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

/** What an update sends besides its row. */
export const updateBytes = ({ from: { id }, added, removed }: TraceUpdate): number =>
  fieldBytes({ id, fields: added }) + fieldBytes({ id, fields: removed })

/** Whether a trace is one of these, and was written under this revision. */
const hasRevision = (store: Store, updates: readonly TraceUpdate[], revision: string) =>
  isLive(store, hasIdIn(updates.map(({ from }) => from.id)), eq(traces.revision, revision))

/** The statements, for one batch, that write new states under a new revision. `json`: each update as `updateRowOf` has it. */
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
    // Before the update, for a field's row has its trace's time.
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
    // On their own: setting a column rewrites the indexes that it is part of, changed or not.
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
    // An output of the whole trace goes with the root, from a span that was reviewed to one that was not.
    ...(items.some(update => update.from.isGeneric !== update.state.isGeneric || isRerooted(update))
      ? [judgeAgain(store, written)]
      : []),
  ]
}

/** Whether a trace gets another root, or a client's first call, with which the derived root is there for good. */
const isRerooted = ({ from, state }: TraceUpdate): boolean =>
  from.rootSpanId !== state.rootSpanId || from.isPosted !== state.isPosted

const isRenamed = ({ from, state }: TraceUpdate): boolean =>
  from.name !== state.name || from.timestamp !== state.timestamp

/** Sets whether traces have something to review, where that is another now. */
export const judgeAgain = ({ database }: Store, ofTraces: SQL | undefined) =>
  database
    .update(traces)
    .set({ needsReview })
    .where(and(ofTraces, ne(traces.needsReview, needsReview)))

/**
 * Lets lists show traces of which only spans were known that are no step of a pipeline: a client said more. Under a new
 * revision, for an export that has read them must not write what it read.
 */
export const showInLists = ({ database }: Store, ofTraces: SQL | undefined) =>
  database
    .update(traces)
    .set({ isGeneric: false, revision: newRevision() })
    .where(and(ofTraces, eq(traces.isGeneric, true)))

/** An update's row, for `updateStatements`. */
export const updateRowOf = ({ from, state, now }: TraceUpdate) =>
  UPDATES.encode({ ...columnsOf(state), key: from.key, revision: from.revision, updatedAt: now })

const UPDATES = rowSet(['key', 'revision', 'updatedAt', ...STATE_COLUMNS])

/** Whether a span is a row alone: nothing was given to it, and nobody decided on it. */
const holdsNothing = sql`(${spans.input} is null and ${spans.output} is null and ${spans.metadata} is null
  and ${spans.state} is null and ${spans.status} is null and ${spans.durationMs} is null
  and ${spans.promptVersionId} is null and ${spans.exportRevision} is null and ${spans.reviewNumber} = 0)`

/** Where spans are. */
export const SPAN_PLACES = rowSet(['id', 'traceKey'])

/** Makes other spans the roots of traces, in the traces that meet the condition; a root that held nothing of its own goes. */
function moveRoots({ database }: Store, updates: readonly TraceUpdate[], ofTraces: SQL | undefined) {
  if (updates.length === 0) return []
  const places = updates.flatMap(({ from, state }) => [
    { id: from.rootSpanId, traceKey: from.key },
    { id: state.rootSpanId, traceKey: from.key },
  ])
  const isAmong = sql`(${spans.id}, ${spans.traceKey}) in (
    select ${SPAN_PLACES.row.id}, ${SPAN_PLACES.row.traceKey} from ${SPAN_PLACES.from(SPAN_PLACES.encodeAll(places))})`
  const trace = (condition: SQL) => sql`exists (
    select 1 from ${traces} where ${traces.key} = ${spans.traceKey} and ${and(ofTraces, condition)})`
  const posted = updates.flatMap(({ from, state }) => (state.isPosted ? [from.id] : []))
  return [
    ...(posted.length > 0
      ? [
          database
            .insert(spans)
            .select(rootSpansOf(and(ofTraces, hasIdIn(posted))))
            .onConflictDoNothing(),
        ]
      : []),
    database.delete(spans).where(
      and(
        isAmong,
        holdsNothing,
        sql`not exists (select 1 from ${feedback} where ${feedback.traceKey} = ${spans.traceKey}
            and ${feedback.spanId} = ${spans.id} and ${feedback.source} = 'review')`,
        trace(sql`${traces.rootSpanId} <> ${spans.id}`),
      ),
    ),
    database
      .update(spans)
      .set({ isRoot: trace(sql`${traces.rootSpanId} = ${spans.id}`), ...OUTPUT_MARKS })
      .where(and(isAmong, trace(sql`true`))),
  ]
}

/** Gives roots that are no spans of telemetry's their traces' names and times, as these are now. */
function nameRoots({ database }: Store, updates: readonly TraceUpdate[], ofTraces: SQL | undefined) {
  const ids = updates.flatMap(({ from, state }) => (state.isPosted || !state.derivation?.root ? [from.id] : []))
  if (ids.length === 0) return []
  return [
    database
      .update(spans)
      .set({ stepId: sql`${traces.name}`, timestamp: sql`${traces.timestamp}` })
      .from(traces)
      .where(
        and(
          ofTraces,
          hasIdIn(ids),
          sql`${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}`,
          sql`(${spans.stepId}, ${spans.timestamp}) <> (${traces.name}, ${traces.timestamp})`,
        ),
      ),
  ]
}

/** Whether a span has an output other than null, or null: given to it, or observed of it, or of the whole where it is the root. */
const hasOutputNow = (toNull: SQL) => sql`(coalesce(${spans.output} ${toNull} 'null', 0) or exists (
  select 1 from ${traces} where ${traces.key} = ${spans.traceKey} and ${hasObservedOutput(sql`${spans.id}`, toNull)}))`

/** What a span's marks are when it becomes a root, or is one no longer. Its output counts as changed if it is another observation. */
const OUTPUT_MARKS = {
  hasOutput: hasOutputNow(sql`<>`),
  hasNullOutput: hasOutputNow(sql`=`),
  isStale: hasOtherOutput,
}

/** Whether something belongs to a trace as a whole: it names the root, no span, or, as feedback, one that isn't there yet. */
const hasItemsOfWhole = sql`(
  exists (select 1 from ${observations} where ${observations.traceKey} = ${traces.key}
    and coalesce(${observations.spanId}, ${traces.rootSpanId}) = ${traces.rootSpanId})
  or exists (select 1 from ${feedback} where ${feedback.traceKey} = ${traces.key}
    and coalesce(${joinedSpanId('feedback')}, ${traces.rootSpanId}) = ${traces.rootSpanId}))`

/**
 * Gives those of these traces a root that are known from telemetry alone and have none yet, where something belongs to the
 * whole.
 */
export async function ensureRoots(store: Store, ids: readonly string[]): Promise<void> {
  const { database } = store
  const rootless = isLive(store, hasIdIn(ids), eq(traces.isPosted, false), hasItemsOfWhole)
  const roots = database.select({ id: traces.rootSpanId, key: traces.key }).from(traces).where(rootless)
  await database.batch([
    database.insert(spans).select(rootSpansOf(rootless)).onConflictDoNothing(),
    database.update(spans).set(OUTPUT_MARKS).where(sql`(${spans.id}, ${spans.traceKey}) in (${roots})`),
  ])
}

/**
 * Takes away the derived roots of traces that are known from telemetry alone, where nothing belongs to the whole any more:
 * the span that feedback named came, or the feedback was withdrawn.
 */
export const removeIdleRoots = ({ database }: Store, ofTraces: SQL | undefined) =>
  database.delete(spans).where(
    and(
      holdsNothing,
      sql`(${spans.id}, ${spans.traceKey}) in (select ${traces.rootSpanId}, ${traces.key} from ${traces}
        where ${and(ofTraces, eq(traces.isPosted, false), sql`not ${hasItemsOfWhole}`)})`,
    ),
  )

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
