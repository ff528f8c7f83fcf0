import { eq, sql } from 'drizzle-orm'
import type { PayloadMode } from '../../domain/span.ts'
import type { TraceStatus } from '../../domain/trace-status.ts'
import { MAX_SCANNED_TRACES, MAX_TURN_FEEDBACK, MAX_TURN_SPANS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, inShard, mergePages, readShards, showPlaced } from '../core/across.ts'
import { readPlain } from '../core/database.ts'
import { pageFromScan } from '../core/scanned.ts'
import type { Store } from '../core/store.ts'
import { isCommentShown } from '../core/veil.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { mayNeedReview, traces } from '../schema/traces.ts'
import { hasIdIn, isLive } from '../traces/live.ts'
import { scanByTime } from '../traces/scan.ts'
import { newestFirst, type TraceFilter, type TracePosition } from '../traces/trace-filter.ts'
import { traceCounts } from '../traces/trace-list.ts'
import { findSpans, type LocatedSpan } from './located-spans.ts'
import { shownLength, showShared } from './shared-review.ts'
import { type FeedbackDetail, feedbackFields, toFeedbackDetail } from './trace-detail.ts'

interface ScannedTurn extends TracePosition {
  traceId: string
  name: string
  status: TraceStatus
  durationMs: number | null
  needsReview: boolean
  reviewedCount: number
  correctedCount: number
  staleCount: number
  feedbackCount: number
  spanId: string | null
}

/** A trace as a turn of a conversation. */
export interface Turn extends ScannedTurn {
  /** Undefined if the trace has no spans yet. */
  span: LocatedSpan | undefined
  /** Oldest first. */
  feedback: FeedbackDetail[]
}

interface TurnQuery {
  order: 'oldest' | 'newest'
  limit: number
  after: TracePosition | undefined
  mode: PayloadMode
}

/**
 * A page of a group's traces, each with its feedback and the span that shows its answer. Scans at most 5,000 traces in
 * each database and stops when the values fill a page, so `turns` may be short even if more follow. Takes two round
 * trips (or one or two more for reviews that roots share), and R2 reads for large values.
 */
export async function listTurns(
  store: Store,
  project: Project,
  filter: Pick<TraceFilter, 'fields' | 'kind'>,
  query: TurnQuery,
): Promise<{ turns: Turn[]; nextPlace: TracePosition | null }> {
  const pages = await readShards(store, async shard => {
    const page = await scanTurns(shard, project, filter, query)
    return { ...page, items: inShard(shard, page.items) }
  })
  const compare = (one: TracePosition, other: TracePosition) =>
    newestFirst(one, other) * (query.order === 'newest' ? 1 : -1)
  const { items, nextPlace } = mergePages<InShard<ScannedTurn>, TracePosition>(pages, {
    limit: query.limit,
    placeOf: turn => turn,
    compare,
  })
  const { shown, count } = await showPlaced<InShard<ScannedTurn>, Turn>(
    store,
    items,
    (shard, own, maxBytes) => showTurns(shard, own, query.mode, maxBytes),
    ({ span }) => (span ? shownLength(span) : 0),
  )
  return {
    turns: shown.map(each => each.shown),
    nextPlace: count < items.length ? (items[count - 1] ?? null) : nextPlace,
  }
}

/** Shows as many of one database's turns as fit, and returns how many fit. */
async function showTurns<Item extends ScannedTurn>(
  store: Store,
  items: readonly Item[],
  mode: PayloadMode,
  maxBytes: number,
): Promise<{ shown: Map<Item, Turn>; count: number }> {
  const ids = items.flatMap(({ spanId }) => spanId ?? [])
  const [{ found, count }, feedbackOf] = await Promise.all([
    findSpans(store, ids, mode, maxBytes),
    findFeedback(
      store,
      items.map(({ id }) => id),
    ),
  ])
  const spans = ids.slice(0, count).flatMap(id => found.get(id) ?? [])
  const page = await showShared(store, spans, mode, maxBytes)
  // Keyed by trace, because another trace's root may have taken a span's id.
  const spanOf = new Map(page.shown.map(span => [span.trace.id, span]))
  const firstLeftOut = page.count < spans.length ? spans[page.count]?.id : ids[count]
  const end = firstLeftOut === undefined ? items.length : items.findIndex(({ spanId }) => spanId === firstLeftOut)
  const shown = items
    .slice(0, end)
    .map(item => [item, { ...item, span: spanOf.get(item.id), feedback: feedbackOf.get(item.id) ?? [] }] as const)
  return { shown: new Map(shown), count: end }
}

/**
 * The span to show for a trace: the root if it has an output, or else the last step that has one. If no step has an
 * output either, it's the root. Considers a limited number of steps.
 */
const shownSpanId = sql<string | null>`coalesce(
  (select root.id from ${spans} root
    where root.id = ${traces.rootSpanId} and root.trace_key = ${traces.key} and root.has_output = 1),
  (select listed.id from (
    select step.id, step.timestamp from ${spans} step
    where step.trace_key = ${traces.key} and step.is_root = 0 and step.has_output = 1 and step.is_generic = 0
      and step.is_supporting = 0 limit ${sql.raw(String(MAX_TURN_SPANS))}
  ) as listed order by listed.timestamp desc, listed.id desc limit 1),
  (select root.id from ${spans} root where root.id = ${traces.rootSpanId} and root.trace_key = ${traces.key}))`

async function scanTurns(
  store: Store,
  project: Project,
  filter: Pick<TraceFilter, 'fields' | 'kind'>,
  { order, limit, after }: TurnQuery,
): Promise<{ items: ScannedTurn[]; nextPlace: TracePosition | null }> {
  const isOldestFirst = order === 'oldest'
  const { scanned, place, isListed } = scanByTime(store, project, filter, { after, isOldestFirst })
  const { reviewedCount, correctedCount, staleCount, feedbackCount } = traceCounts(store)
  const rows = await store.database
    .select({
      id: traces.id,
      traceId: traces.traceId,
      name: traces.name,
      status: traces.status,
      timestamp: traces.timestamp,
      durationMs: traces.durationMs,
      needsReview: mayNeedReview,
      reviewedCount,
      correctedCount,
      staleCount,
      feedbackCount,
      spanId: shownSpanId.as('spanId'),
      ...place,
    })
    .from(scanned)
    .crossJoin(traces)
    .where(isListed)
    .limit(limit + 1)
  return pageFromScan(rows, limit, MAX_SCANNED_TRACES)
}

/** The first feedback on these traces, by trace. */
async function findFeedback(store: Store, ids: readonly string[]): Promise<Map<string, FeedbackDetail[]>> {
  if (ids.length === 0) return new Map()
  const [rows] = await readPlain(store.database, [
    store.database
      .select({
        ...feedbackFields,
        traceUuid: sql<string>`${traces.id}`.as('traceUuid'),
        rootSpanId: sql<string>`${traces.rootSpanId}`.as('rootSpanId'),
      })
      .from(traces)
      .crossJoin(feedback)
      .where(isLive(store, hasIdIn(ids), eq(feedback.traceKey, traces.key), isCommentShown(store)))
      .limit(MAX_TURN_FEEDBACK),
  ])
  const found = rows.map(({ traceUuid, rootSpanId, ...row }) => ({
    traceUuid,
    ...toFeedbackDetail(row, rootSpanId),
  }))
  found.sort((left, right) => left.timestamp - right.timestamp || left.receivedAt - right.receivedAt)
  return Map.groupBy(found, ({ traceUuid }) => traceUuid)
}
