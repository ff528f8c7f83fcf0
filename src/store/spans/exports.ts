import { eq, type SQL, sql } from 'drizzle-orm'
import { mergeExport, type TraceFacts } from '../../domain/derived-trace.ts'
import { newKeys, newRevision } from '../../domain/ids.ts'
import { searchableFields } from '../../domain/metadata.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import type { PlacedProject } from '../accounts/projects.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, runLast } from '../core/database.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from '../traces/live.ts'
import { placeUnder } from '../traces/payloads.ts'
import { markItemsDue, removeIdleRoots, SPAN_PLACES, updateNeedsReview } from '../traces/roots.ts'
import { fieldBytes, insertTraceFields } from '../traces/trace-fields.ts'
import {
  endOfCreation,
  newTraceRow,
  requireCreatable,
  selectNewTraces,
  type TraceRecord,
} from '../traces/trace-rows.ts'
import { encodeUpdate, traceUpdate, updateBytes, updateStatements } from '../traces/trace-updates.ts'
import { findTraces, touchTraces } from '../traces/traces.ts'
import { type ExportedSpan, SPANS, upsertSpans } from './exported-spans.ts'
import { modelUseRow } from './model-use.ts'
import { markStale, type NewOutput } from './staleness.ts'

/** A trace in an export. */
export interface ExportedTrace {
  /** The trace's id in the read interface. */
  id: string
  traceId: string
  /** The root's id, or a placeholder id until a span without a parent arrives. */
  rootSpanId: string
  facts: TraceFacts
  /** Ids must be unique. */
  spans: readonly ExportedSpan[]
}

/** The result of storing an export. */
export interface SavedExport {
  /** The ids of spans that belong to another trace in the organization. */
  onOtherTrace: ReadonlySet<string>
  /** The metadata fields that were left out because they no longer fit, keyed by trace id. */
  leftFields: ReadonlyMap<string, string[]>
}

/**
 * Stores an export: creates the traces that don't exist and writes their spans. Takes one read, the R2 writes for large
 * values, and one batch of writes, regardless of the number of spans. Repeats them only if someone else wrote the same
 * traces in the meantime. The result doesn't depend on the order in which exports arrive, or on how often they're
 * repeated. Trace ids must be unique.
 */
export async function saveExport(
  store: Store,
  project: PlacedProject,
  exported: readonly ExportedTrace[],
  now: number,
): Promise<SavedExport> {
  const onOtherTrace = new Set<string>()
  const leftFields = new Map<string, string[]>()
  let pending = exported
  for (let losses = 0; ; losses++) {
    if (losses > 0) await store.deadline.giveWay(losses)
    const merges = await mergeIntoStored(store, pending, now, losses)
    const done = await writeMerges(store, project, merges, now)
    for (const { trace, leftOut } of merges) if (leftOut.length > 0) leftFields.set(trace.id, leftOut)
    for (const id of done.onOtherTrace) onOtherTrace.add(id)
    pending = pending.filter(({ id }) => !done.traces.has(id))
    if (pending.length === 0) return { onOtherTrace, leftFields }
    const isNew = (id: string) => merges.some(({ trace, before }) => trace.id === id && !before)
    await requireCreatable(store, project, pending.map(({ id }) => id).filter(isNew))
  }
}

/** An exported trace and its merged state. */
interface Merge {
  trace: ExportedTrace
  key: number
  before: TraceRecord | undefined
  state: TraceState
  leftOut: string[]
  now: number
}

async function mergeIntoStored(
  store: Store,
  exported: readonly ExportedTrace[],
  now: number,
  losses: number,
): Promise<Merge[]> {
  const ids = exported.map(({ id }) => id)
  const found = new Map((await findTraces(store, ids)).map(trace => [trace.id, trace]))
  // Each attempt draws keys from a different millisecond, so it can't draw keys that turned out to be taken.
  const drawn = newKeys(now + losses, exported.length, store.keyLane)
  return exported.map((trace, index) => {
    const before = found.get(trace.id)
    const { state, leftOut } = mergeExport(before, trace.facts, { rootSpanId: trace.rootSpanId, now })
    return { trace, key: before?.key ?? drawn[index] ?? 0, before, state, leftOut, now }
  })
}

/**
 * Writes in one batch. Returns the ids of the traces that were written (those that nobody else wrote in the meantime)
 * and the ids of refused spans.
 */
async function writeMerges(store: Store, project: PlacedProject, merges: readonly Merge[], now: number) {
  const { database } = store
  const revision = newRevision()
  const ids = merges.map(({ trace }) => trace.id)
  const rows = await rowsOf(store, merges)
  const places = PLACES.encodeAll(rows)
  const fresh = await Promise.all(merges.filter(({ before }) => !before).map(withFields))
  const updates = await Promise.all(
    merges.flatMap(({ before, state }) => (before && state !== before ? traceUpdate(before, state, now) : [])),
  )
  const known = merges.flatMap(({ before }) => (before ? [before.id] : []))
  const rootless = merges.flatMap(({ before, state }) =>
    before && !state.isPosted && !state.derivation?.root ? [before.id] : [],
  )
  const unchanged = merges.flatMap(({ before, state }) => (before && state === before ? [before.id] : []))
  const found = await runLast(database, [
    ...[
      ...chunkRows(
        fresh,
        merge => traceRowOf(store, project, merge),
        ({ trace, fields }) => fieldBytes({ id: trace.id, fields }),
      ),
    ].flatMap(({ items, json }) => insertTraces(store, project, items, json, revision)),
    ...[...chunkRows(updates, encodeUpdate, updateBytes)].flatMap(chunk => updateStatements(store, chunk, revision)),
    // The statements above already give the other traces a new `updatedAt`.
    ...(unchanged.length > 0 ? [touchTraces(store, isLive(store, hasIdIn(unchanged), hasNewSpans(places)), now)] : []),
    ...[...chunkRows(rows, SPANS.encode)].map(({ json }) => upsertSpans(store, json, now)),
    ...(rootless.length > 0 ? [removeIdleRoots(store, isLive(store, hasIdIn(rootless)))] : []),
    ...(known.length > 0
      ? [
          updateNeedsReview(store, isLive(store, hasIdIn(known))),
          markItemsDue(store, isLive(store, hasIdIn(known)), now),
        ]
      : []),
    database
      .select({
        ...named({ id: traces.id, key: traces.key, revision: traces.revision }),
        spanCount: sql<number | null>`stored.span_count`.as('spanCount'),
        reviewed: sql<string | null>`stored.reviewed`.as('reviewed'),
      })
      .from(traces)
      .leftJoin(countStored(places), sql`stored.trace_key = ${traces.key}`)
      .where(isLive(store, hasIdIn(ids))),
  ])
  const after = new Map(found.map(trace => [trace.id, trace]))
  const done = merges.filter(({ trace, key, before, state }) => {
    const stored = after.get(trace.id)
    return stored?.key === key && (state === before || stored.revision === revision)
  })
  await markStale(
    store,
    done.flatMap(({ trace }) => {
      const reviewed = new Set<string>(JSON.parse(after.get(trace.id)?.reviewed ?? '[]'))
      return trace.spans.filter(({ id }) => reviewed.has(id)).map(span => outputOf(trace, span))
    }),
    now,
  )
  const hasRefused = done.some(({ trace }) => (after.get(trace.id)?.spanCount ?? 0) !== trace.spans.length)
  return {
    traces: new Set(done.map(({ trace }) => trace.id)),
    onOtherTrace: hasRefused ? await findRefused(store, done) : [],
  }
}

/** An exported span's output. A missing output is stored as null, because an export replaces earlier ones. */
const outputOf = (trace: ExportedTrace, { id, output, outputRevision }: ExportedSpan): NewOutput => ({
  traceUuid: trace.id,
  spanId: id,
  revision: outputRevision ?? 'none',
  json: output ?? 'null',
})

const withFields = async (merge: Merge) => ({ ...merge, fields: await searchableFields(merge.state.metadata) })

/**
 * The statements that create traces and their searchable fields, unless someone else created the traces in the
 * meantime.
 */
function insertTraces(
  store: Store,
  project: PlacedProject,
  fresh: readonly Awaited<ReturnType<typeof withFields>>[],
  rows: string,
  revision: string,
) {
  const ids = fresh.map(({ trace }) => trace.id)
  return [
    store.database
      .insert(traces)
      .select(selectNewTraces(store, project, rows, revision))
      .onConflictDoNothing(),
    insertTraceFields(
      store,
      fresh.map(({ trace, fields }) => ({ id: trace.id, fields })),
      isLive(store, hasIdIn(ids), eq(traces.revision, revision)),
    ),
  ]
}

const traceRowOf = (store: Store, project: PlacedProject, { key, trace, state, now }: Merge): readonly unknown[] =>
  newTraceRow({ key, ...trace, state, now, endsAt: endOfCreation(store, project, trace.id) })

/** Stores the spans' large values in R2 and builds the spans' rows. */
async function rowsOf(store: Store, merges: readonly Merge[]) {
  const drafts = merges.flatMap(({ trace, key }) =>
    trace.spans.map(span => {
      const value = (json: string | null) => (json === null ? null : { folder: key, json })
      const state = span.state.map(([name, json]) => ({ name, value: { folder: key, json } }))
      return { span, key, traceId: trace.id, input: value(span.input), output: value(span.output), state }
    }),
  )
  const values = drafts.flatMap(({ input, output, state }) => [input, output, ...state.map(({ value }) => value)])
  const placement = await placeUnder(
    store,
    values.filter(value => value !== null),
  )
  return drafts.map(({ span, key, traceId, ...draft }) => {
    const input = draft.input && placement.get(draft.input)
    const output = draft.output && placement.get(draft.output)
    const state = draft.state.map(({ name, value }) => ({ name, place: placement.get(value) }))
    return {
      ...span,
      traceKey: key,
      traceUuid: traceId,
      isGeneric: Number(span.reviewability === 'never'),
      isSupporting: Number(span.reviewability === 'as_root'),
      ...modelUseRow(span.modelUse),
      input: input?.text,
      inputRef: input?.ref,
      output: output?.text,
      outputRef: output?.ref,
      state: state.length > 0 ? JSON.stringify(state.map(({ name, place }) => [name, place?.text, place?.ref])) : null,
      stateRef: state.find(({ place }) => place?.ref)?.place?.ref,
      usesPrompt: Number(span.prompt !== null),
      promptVersionId: span.prompt?.id,
      promptName: span.prompt?.name,
      promptNumber: span.prompt?.number,
    }
  })
}

/** The exported spans' trace keys and ids, and the revisions of their exports. */
const PLACES = rowSet(['traceKey', 'id', 'exportRevision'])

/**
 * Whether a trace gets a new span or a newer export of a span. This condition must be evaluated before the spans are
 * written.
 */
const hasNewSpans = (places: string): SQL => sql`${traces.key} in (
  select ${PLACES.row.traceKey} from ${PLACES.from(places)}
  left join ${spans} on ${spans.id} = ${PLACES.row.id} and ${spans.traceKey} = ${PLACES.row.traceKey}
  where ${spans.id} is null or ${spans.exportRevision} < ${PLACES.row.exportRevision})`

/** The number of these spans that are stored, by `trace_key`, and the ids of those with a review. */
const countStored = (places: string): SQL => sql`(
  select ${spans.traceKey} as trace_key, count(*) as span_count,
    json_group_array(${spans.id}) filter (where ${spans.reviewState} is not null) as reviewed
  from ${PLACES.from(places)} cross join ${spans}
  where ${spans.id} = ${PLACES.row.id} and ${spans.traceKey} = ${PLACES.row.traceKey}
  group by ${spans.traceKey}) as stored`

/** Finds the spans that aren't stored after the write. */
async function findRefused(store: Store, merges: readonly Merge[]): Promise<string[]> {
  const places = merges.flatMap(({ trace, key }) => trace.spans.map(({ id }) => ({ id, traceKey: key })))
  const { row } = SPAN_PLACES
  const rows = await store.database.all<{ id: string }>(sql`
    select ${row.id} as id from ${SPAN_PLACES.from(SPAN_PLACES.encodeAll(places))}
    where not exists (select 1 from ${spans} where ${spans.id} = ${row.id} and ${spans.traceKey} = ${row.traceKey})`)
  return rows.map(({ id }) => id)
}
