import { eq, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { mergeExport, type TraceFacts } from '../../domain/derived-trace.ts'
import { newKeys, newRevision } from '../../domain/ids.ts'
import { searchableFields } from '../../domain/metadata.ts'
import type { SpanStatus } from '../../domain/span.ts'
import type { TraceState } from '../../domain/trace-status.ts'
import { type Project, requireExisting } from '../accounts/projects.ts'
import { chunksOf } from '../core/chunks.ts'
import { named, runLast } from '../core/database.ts'
import { hasObservedOutput } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { textActivations, textVersions, versionedTexts } from '../schema/texts.ts'
import { traces } from '../schema/traces.ts'
import { placeUnder } from '../traces/payloads.ts'
import { fieldBytes, insertTraceFields } from '../traces/trace-fields.ts'
import {
  findTraces,
  hasIdIn,
  isLive,
  isOnOtherTrace,
  judgeAgain,
  NEW_SPAN,
  newTraceRow,
  newTraces,
  removeIdleRoots,
  SPAN_PLACES,
  type TraceRecord,
  touchTraces,
  traceUpdate,
  updateBytes,
  updateRowOf,
  updateStatements,
} from '../traces/traces.ts'
import { markStale, type NewOutput } from './staleness.ts'

/** A span as an export tells it. */
export interface ExportedSpan {
  id: string
  /** '' for a span without parent. */
  parentId: string
  stepId: string
  /** With a fraction, by which steps that began in one millisecond are in order. */
  timestamp: number
  durationMs: number
  status: SpanStatus | null
  /** JSON. */
  metadata: string
  isGeneric: boolean
  /** JSON; null where it has none. */
  input: string | null
  output: string | null
  /** Names the output: the same one has the same name. */
  outputRevision: string | null
  /** By state key, JSON. */
  state: readonly (readonly [key: string, json: string])[]
  /** Which prompt it used; null where it is no step that uses one. */
  prompt: { id: string | null; name: string | null; number: number | null } | null
  /** Which of several exports of the span counts, the greatest. The same one, sent again, has the same. */
  exportRevision: string
}

/** A trace as an export tells it. */
export interface ExportedTrace {
  /** The read interface's id. */
  id: string
  traceId: string
  /** The root's id until a span without parent came. */
  rootSpanId: string
  facts: TraceFacts
  /** No two with the same id. */
  spans: readonly ExportedSpan[]
}

/** What an export came to. */
export interface SavedExport {
  /** Ids of spans that another trace of the organization has. */
  onOtherTrace: ReadonlySet<string>
  /** Metadata fields that no longer fit, by the trace's id. */
  leftFields: ReadonlyMap<string, string[]>
}

/**
 * Stores what an export says: the traces, made where they are not there, and their spans. One read, the large values put
 * into R2, and one batch of writes however many spans; more only where somebody else wrote the same traces meanwhile. The
 * same in whatever order exports come, and however often. No two traces may have the same id.
 */
export async function saveExport(
  store: Store,
  project: Project,
  exported: readonly ExportedTrace[],
  now: number,
): Promise<SavedExport> {
  const onOtherTrace = new Set<string>()
  const leftFields = new Map<string, string[]>()
  let pending = exported
  for (let losses = 0; ; losses++) {
    if (losses > 0) await store.deadline.giveWay(losses)
    const merges = await mergeIntoStored(store, pending, now, losses)
    const done = await write(store, project, merges, now)
    for (const { trace, left } of merges) if (left.length > 0) leftFields.set(trace.id, left)
    for (const id of done.onOtherTrace) onOtherTrace.add(id)
    pending = pending.filter(({ id }) => !done.traces.has(id))
    if (pending.length === 0) return { onOtherTrace, leftFields }
    await requireExisting(store, project)
  }
}

/** An exported trace and what it becomes. */
interface Merge {
  trace: ExportedTrace
  key: number
  before: TraceRecord | undefined
  state: TraceState
  left: string[]
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
  // From another millisecond each time, or what was taken the first time would be so again.
  const drawn = newKeys(now + losses, exported.length)
  return exported.map((trace, index) => {
    const before = found.get(trace.id)
    const { state, left } = mergeExport(before, trace.facts, { rootSpanId: trace.rootSpanId, now })
    return { trace, key: before?.key ?? drawn[index] ?? 0, before, state, left, now }
  })
}

/** Writes in one batch. Returns the ids of the traces that nobody else wrote meanwhile, and of spans that were refused. */
async function write(store: Store, project: Project, merges: readonly Merge[], now: number) {
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
    ...[...chunksOf(fresh, traceRowOf, ({ trace, fields }) => fieldBytes({ id: trace.id, fields }))].flatMap(
      ({ items, json }) => insertTraces(store, project, items, json, revision),
    ),
    ...[...chunksOf(updates, updateRowOf, updateBytes)].flatMap(chunk => updateStatements(store, chunk, revision)),
    // The others are written under this time anyway.
    ...(unchanged.length > 0 ? [touchTraces(store, isLive(store, hasIdIn(unchanged), hasNews(places)), now)] : []),
    ...[...chunksOf(rows, SPANS.encode)].map(({ json }) => upsertSpans(store, project, json, now)),
    ...(rootless.length > 0 ? [removeIdleRoots(store, isLive(store, hasIdIn(rootless)))] : []),
    ...(known.length > 0 ? [judgeAgain(store, isLive(store, hasIdIn(known)))] : []),
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
  )
  const isRefused = done.some(({ trace }) => (after.get(trace.id)?.spanCount ?? 0) !== trace.spans.length)
  return {
    traces: new Set(done.map(({ trace }) => trace.id)),
    onOtherTrace: isRefused ? await findRefused(store, done) : [],
  }
}

/** An exported span's output, which none is, too: an export replaces what an earlier one said. */
const outputOf = (trace: ExportedTrace, { id, output, outputRevision }: ExportedSpan): NewOutput => ({
  traceUuid: trace.id,
  spanId: id,
  revision: outputRevision ?? 'none',
  json: output ?? 'null',
})

const withFields = async (merge: Merge) => ({ ...merge, fields: await searchableFields(merge.state.metadata) })

/** Makes traces, unless somebody else made them meanwhile, with their searchable fields. */
function insertTraces(
  store: Store,
  project: Project,
  fresh: readonly Awaited<ReturnType<typeof withFields>>[],
  rows: string,
  revision: string,
) {
  const ids = fresh.map(({ trace }) => trace.id)
  return [
    store.database
      .insert(traces)
      .select(newTraces(store, project, rows, revision))
      .onConflictDoNothing(),
    insertTraceFields(
      store,
      fresh.map(({ trace, fields }) => ({ id: trace.id, fields })),
      isLive(store, hasIdIn(ids), eq(traces.revision, revision)),
    ),
  ]
}

const traceRowOf = ({ key, trace, state, now }: Merge): readonly unknown[] => newTraceRow({ key, ...trace, state, now })

/** The spans' rows, their values in their places. */
async function rowsOf(store: Store, merges: readonly Merge[]) {
  const drafts = merges.flatMap(({ trace, key }) =>
    trace.spans.map(span => {
      const value = (json: string | null) => (json === null ? null : { traceKey: key, json })
      const state = span.state.map(([name, json]) => ({ name, value: { traceKey: key, json } }))
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
      isGeneric: Number(span.isGeneric),
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

const SPANS = rowSet([
  'traceKey',
  'traceUuid',
  'id',
  'exportRevision',
  'parentId',
  'stepId',
  'timestamp',
  'durationMs',
  'status',
  'metadata',
  'isGeneric',
  'input',
  'inputRef',
  'output',
  'outputRef',
  'outputRevision',
  'state',
  'stateRef',
  'usesPrompt',
  'promptVersionId',
  'promptName',
  'promptNumber',
])
const { row } = SPANS

/**
 * Inserts `rows` of `SPANS`, each guarded by its trace: by its key and its id, for another trace may have drawn
 * the same key meanwhile. Where the span is there, the export that counts replaces what earlier ones said; of a client's span
 * it fills in what the client left out.
 */
function upsertSpans(store: Store, project: Project, rows: string, now: number) {
  const { id, output } = row
  const isClients = sql`${spans.exportRevision} is null`
  const given = (column: SQLiteColumn, excluded: SQL) =>
    sql`iif(${isClients}, coalesce(${column}, ${excluded}), ${excluded})`
  const mark = (column: SQLiteColumn, excluded: SQL) => sql`iif(${isClients}, max(${column}, ${excluded}), ${excluded})`
  const withRef = (value: SQLiteColumn, ref: SQLiteColumn, excluded: SQL) =>
    sql`iif(${isClients} and ${value} is not null, ${ref}, ${excluded})`
  return store.database
    .insert(spans)
    .select(
      selectFor(
        spans,
        {
          ...NEW_SPAN,
          ...row,
          traceKey: traces.key,
          isRoot: sql`${traces.rootSpanId} = ${id}`,
          stepId: stepIdOf(project),
          promptVersionId: promptVersionOf(project),
          hasOutput: sql`case when ${output} <> 'null' then 1 else ${hasObservedOutput(id, sql`<>`)} end`,
          hasNullOutput: sql`case when ${output} = 'null' then 1 else ${hasObservedOutput(id, sql`=`)} end`,
          receivedAt: now,
        },
        sql`from ${SPANS.from(rows)} cross join ${traces}
          where ${isLive(store, sql`${traces.key} = ${row.traceKey} and ${traces.id} = ${row.traceUuid}`)}
            and not ${isOnOtherTrace(store, spans, {
              id,
              traceUuid: sql`${traces.id}`,
              // A client can compute the id, and take it for a span of its own before this one comes.
              which: sql`elsewhere.export_revision is not null`,
            })}`,
      ),
    )
    .onConflictDoUpdate({
      target: [spans.id, spans.traceKey],
      set: {
        parentId: given(spans.parentId, sql`excluded.parent_id`),
        stepId: sql`iif(${isClients}, ${spans.stepId}, excluded.step_id)`,
        timestamp: sql`iif(${isClients}, ${spans.timestamp}, excluded.timestamp)`,
        promptVersionId: given(spans.promptVersionId, sql`excluded.prompt_version_id`),
        metadata: given(spans.metadata, sql`excluded.metadata`),
        hasOutput: mark(spans.hasOutput, sql`excluded.has_output`),
        hasNullOutput: mark(spans.hasNullOutput, sql`excluded.has_null_output`),
        status: given(spans.status, sql`excluded.status`),
        durationMs: given(spans.durationMs, sql`excluded.duration_ms`),
        inputRef: withRef(spans.input, spans.inputRef, sql`excluded.input_ref`),
        input: given(spans.input, sql`excluded.input`),
        outputRef: withRef(spans.output, spans.outputRef, sql`excluded.output_ref`),
        outputRevision: withRef(spans.output, spans.outputRevision, sql`excluded.output_revision`),
        output: given(spans.output, sql`excluded.output`),
        stateRef: withRef(spans.state, spans.stateRef, sql`excluded.state_ref`),
        state: given(spans.state, sql`excluded.state`),
        isGeneric: sql`iif(${isClients}, 0, excluded.is_generic)`,
        exportRevision: sql`iif(${isClients}, null, excluded.export_revision)`,
      },
      setWhere: sql`${isClients} or ${spans.exportRevision} < excluded.export_revision`,
    })
}

const usesPrompt = sql`${row.usesPrompt} = 1`

/** The project's prompt of a step, as a condition on the rows of `versioned_texts`. */
const isPromptOf = (project: Project, name: SQL) => sql`${versionedTexts.projectKey} = ${project.key}
  and ${versionedTexts.kind} = 'prompt' and ${versionedTexts.name} = ${name}`

/** The step, which is that of the prompt where one is named that the project has. */
const stepIdOf = (project: Project) => sql`case when ${usesPrompt} and exists (
    select 1 from ${versionedTexts} where ${isPromptOf(project, row.promptName)})
  then ${row.promptName} else ${row.stepId} end`

/** The version that a span used: the one it names by id, or by the prompt's name and number, else the one active as it began. */
function promptVersionOf(project: Project) {
  const versions = sql`${versionedTexts} cross join ${textVersions}`
  const isOfText = sql`${textVersions.textKey} = ${versionedTexts.key}`
  return sql`case when ${usesPrompt} then coalesce(
    (select ${textVersions.id} from ${textVersions} cross join ${versionedTexts}
      where ${textVersions.id} = ${row.promptVersionId} and ${isOfText}
        and ${versionedTexts.projectKey} = ${project.key} and ${versionedTexts.kind} = 'prompt'),
    (select ${textVersions.id} from ${versions}
      where ${isPromptOf(project, row.promptName)} and ${isOfText}
        and ${textVersions.number} = ${row.promptNumber}),
    (select ${textVersions.id} from ${versionedTexts} cross join ${textActivations} cross join ${textVersions}
      where ${isPromptOf(project, stepIdOf(project))} and ${textActivations.textKey} = ${versionedTexts.key}
        and ${textActivations.activatedAt} <= ${row.timestamp} and ${textVersions.key} = ${textActivations.versionKey}
      order by ${textActivations.activatedAt} desc, ${textActivations.versionKey} desc limit 1)) end`
}

/** Where exported spans are, and which of their exports counts. */
const PLACES = rowSet(['traceKey', 'id', 'exportRevision'])

/** Whether a trace gets a span, or what counts more than what is there of one; asked before they are written. */
const hasNews = (places: string): SQL => sql`${traces.key} in (
  select ${PLACES.row.traceKey} from ${PLACES.from(places)}
  left join ${spans} on ${spans.id} = ${PLACES.row.id} and ${spans.traceKey} = ${PLACES.row.traceKey}
  where ${spans.id} is null or ${spans.exportRevision} < ${PLACES.row.exportRevision})`

/** How many of these spans are there, by `trace_key`, and the ids of those with a review. */
const countStored = (places: string): SQL => sql`(
  select ${spans.traceKey} as trace_key, count(*) as span_count,
    json_group_array(${spans.id}) filter (where ${spans.reviewState} is not null) as reviewed
  from ${PLACES.from(places)} cross join ${spans}
  where ${spans.id} = ${PLACES.row.id} and ${spans.traceKey} = ${PLACES.row.traceKey}
  group by ${spans.traceKey}) as stored`

/** The spans that are not there after they were written. */
async function findRefused(store: Store, merges: readonly Merge[]): Promise<string[]> {
  const places = merges.flatMap(({ trace, key }) => trace.spans.map(({ id }) => ({ id, traceKey: key })))
  const { row } = SPAN_PLACES
  const rows = await store.database.all<{ id: string }>(sql`
    select ${row.id} as id from ${SPAN_PLACES.from(SPAN_PLACES.encodeAll(places))}
    where not exists (select 1 from ${spans} where ${spans.id} = ${row.id} and ${spans.traceKey} = ${row.traceKey})`)
  return rows.map(({ id }) => id)
}
