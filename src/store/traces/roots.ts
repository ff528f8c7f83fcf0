import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { hasObservedOutput, hasOtherOutput, needsReview } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { feedback } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from './live.ts'
import { joinedSpanId } from './span-ids.ts'
import type { TraceUpdate } from './trace-rows.ts'

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
export const rootSpansOf = (ofTraces: SQL | undefined): SQL =>
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

/** Whether a trace gets another root, or a client's first call, with which the derived root is there for good. */
export const isRerooted = ({ from, state }: TraceUpdate): boolean =>
  from.rootSpanId !== state.rootSpanId || from.isPosted !== state.isPosted

export const isRenamed = ({ from, state }: TraceUpdate): boolean =>
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

/** Whether a span is a row alone: nothing was given to it, and nobody decided on it. */
const holdsNothing = sql`(${spans.input} is null and ${spans.output} is null and ${spans.metadata} is null
  and ${spans.state} is null and ${spans.status} is null and ${spans.durationMs} is null
  and ${spans.promptVersionId} is null and ${spans.exportRevision} is null and ${spans.reviewNumber} = 0)`

/** Where spans are. */
export const SPAN_PLACES = rowSet(['id', 'traceKey'])

/** Makes other spans the roots of traces, in the traces that meet the condition; a root that held nothing of its own goes. */
export function moveRoots({ database }: Store, updates: readonly TraceUpdate[], ofTraces: SQL | undefined) {
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
export function nameRoots({ database }: Store, updates: readonly TraceUpdate[], ofTraces: SQL | undefined) {
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
