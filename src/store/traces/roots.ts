import { and, eq, ne, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { refreshAssignments } from '../core/assignees.ts'
import { hasObservedOutput, hasOtherOutput, hasReviewedSpan, needsReview, sharedTextNow } from '../core/reviewable.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { feedback } from '../schema/reviews.ts'
import { observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from './live.ts'
import { joinedSpanId } from './span-ids.ts'
import type { TraceUpdate } from './trace-rows.ts'

/** The columns of a new span. Only its name, time, and place are known. */
export const NEW_SPAN = {
  parentId: null,
  promptVersionId: null,
  metadata: null,
  hasOutput: 0,
  status: null,
  durationMs: null,
  model: null,
  provider: null,
  usage: null,
  costUsd: null,
  input: null,
  inputRef: null,
  output: null,
  outputRef: null,
  outputRevision: null,
  hasNullOutput: 0,
  reviewNumber: 0,
  reviewState: null,
  voteNumber: 0,
  claimedBy: null,
  claimedUntil: null,
  reviewers: null,
  isGeneric: 0,
  isSupporting: 0,
  state: null,
  stateRef: null,
  exportRevision: null,
  isStale: 0,
  textHash: null,
  textId: null,
  hasSuggestions: 0,
} as const

/** Selects the rows of traces' root spans. */
export const selectRootSpans = (ofTraces: SQL | undefined): SQL =>
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

/** Whether a trace gets a different root, or its first call from a client, which makes a derived root permanent. */
export const isRerooted = ({ from, state }: TraceUpdate): boolean =>
  from.rootSpanId !== state.rootSpanId || from.isPosted !== state.isPosted

export const isRenamed = ({ from, state }: TraceUpdate): boolean =>
  from.name !== state.name || from.timestamp !== state.timestamp

/** Updates traces' `needsReview` if it has changed. */
export const updateNeedsReview = ({ database }: Store, ofTraces: SQL | undefined) =>
  database
    .update(traces)
    .set({ needsReview })
    .where(and(ofTraces, ne(traces.needsReview, needsReview)))

/**
 * Has cron update the dataset items of those traces that have reviewed spans. A run that has already started has set a
 * later time, so it doesn't clear the time that's set here.
 */
export const markItemsDue = ({ database }: Pick<Store, 'database'>, ofTraces: SQL | undefined, now: number) =>
  database
    .update(traces)
    .set({ itemsDueAt: Math.floor(now) })
    .where(and(ofTraces, sql`coalesce(${traces.itemsDueAt}, ${now} + 1) > ${now}`, hasReviewedSpan(sql`true`)))

/**
 * Makes lists show traces that were hidden because they had only generic spans. Use it when a client sends other data.
 * Changes the revision, so that an export that read the old row doesn't undo this.
 */
export const showInLists = ({ database }: Store, ofTraces: SQL | undefined) =>
  database
    .update(traces)
    .set({ isGeneric: false, revision: newRevision() })
    .where(and(ofTraces, eq(traces.isGeneric, true)))

/**
 * Whether a span is an empty row: it has no values of its own, and nobody has decided or voted on it, or suggested a
 * decision.
 */
const isEmptySpan = sql`(${spans.input} is null and ${spans.output} is null and ${spans.metadata} is null
  and ${spans.state} is null and ${spans.status} is null and ${spans.durationMs} is null
  and ${spans.promptVersionId} is null and ${spans.exportRevision} is null and ${spans.reviewNumber} = 0
  and ${spans.voteNumber} = 0 and ${spans.hasSuggestions} = 0)`

/** Ids of spans and keys of their traces. */
export const SPAN_PLACES = rowSet(['id', 'traceKey'])

/**
 * Changes which spans are the roots of the traces that meet the condition. Deletes a former root if it's an empty row.
 */
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
            .select(selectRootSpans(and(ofTraces, hasIdIn(posted))))
            .onConflictDoNothing(),
        ]
      : []),
    database.delete(spans).where(
      and(
        isAmong,
        isEmptySpan,
        sql`not exists (select 1 from ${feedback} where ${feedback.traceKey} = ${spans.traceKey}
            and ${feedback.spanId} = ${spans.id} and ${feedback.source} = 'review')`,
        trace(sql`${traces.rootSpanId} <> ${spans.id}`),
      ),
    ),
    database
      .update(spans)
      .set({ isRoot: trace(sql`${traces.rootSpanId} = ${spans.id}`), ...OUTPUT_MARKS })
      .where(and(isAmong, trace(sql`true`))),
    refreshAssignments({ database }, and(ofTraces, hasIdIn(updates.map(({ from }) => from.id)))),
  ]
}

/** Gives roots that didn't come from telemetry their traces' current names and times. */
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

/**
 * Whether a span has a null output (`=`) or an output that isn't null (`<>`). The output may be the span's own, one
 * observed for the span or, if the span is a root, one observed for the whole trace.
 */
const hasOutputNow = (comparison: SQL) => sql`(coalesce(${spans.output} ${comparison} 'null', 0) or exists (
  select 1 from ${traces} where ${traces.key} = ${spans.traceKey} and ${hasObservedOutput(sql`${spans.id}`, comparison)}))`

/**
 * A span's output flags after it becomes a root or stops being one. Its output counts as changed if it's now in a
 * different observation.
 */
const OUTPUT_MARKS = {
  ...sharedTextNow,
  hasOutput: hasOutputNow(sql`<>`),
  hasNullOutput: hasOutputNow(sql`=`),
  isStale: hasOtherOutput,
}

/**
 * Whether any feedback or observation belongs to the whole trace. Such an item names the root or no span. Feedback may
 * also name a span that doesn't exist yet.
 */
const hasWholeTraceItems = sql`(
  exists (select 1 from ${observations} where ${observations.traceKey} = ${traces.key}
    and coalesce(${observations.spanId}, ${traces.rootSpanId}) = ${traces.rootSpanId})
  or exists (select 1 from ${feedback} where ${feedback.traceKey} = ${traces.key}
    and coalesce(${joinedSpanId('feedback')}, ${traces.rootSpanId}) = ${traces.rootSpanId}))`

/**
 * Adds roots to these traces if they're known only from telemetry, have no root, and have data that belongs to the
 * whole trace.
 */
export async function ensureRoots(store: Store, ids: readonly string[]): Promise<void> {
  const { database } = store
  const rootless = isLive(store, hasIdIn(ids), eq(traces.isPosted, false), hasWholeTraceItems)
  const roots = database.select({ id: traces.rootSpanId, key: traces.key }).from(traces).where(rootless)
  await database.batch([
    database.insert(spans).select(selectRootSpans(rootless)).onConflictDoNothing(),
    database.update(spans).set(OUTPUT_MARKS).where(sql`(${spans.id}, ${spans.traceKey}) in (${roots})`),
  ])
}

/**
 * Removes derived roots from traces known only from telemetry if nothing belongs to the whole trace anymore: the span
 * that feedback named has arrived, or the feedback was withdrawn.
 */
export const removeIdleRoots = ({ database }: Store, ofTraces: SQL | undefined) =>
  database.delete(spans).where(
    and(
      isEmptySpan,
      sql`(${spans.id}, ${spans.traceKey}) in (select ${traces.rootSpanId}, ${traces.key} from ${traces}
        where ${and(ofTraces, eq(traces.isPosted, false), sql`not ${hasWholeTraceItems}`)})`,
    ),
  )
