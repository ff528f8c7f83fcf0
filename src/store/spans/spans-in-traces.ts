import { and, type SQL, sql } from 'drizzle-orm'
import { compareCodePoints } from '../../domain/text.ts'
import { MAX_SCANNED_TRACES } from '../../limits.ts'
import { existsShallow, shallow } from '../core/depth.ts'
import { ofTrace } from '../core/reviewable.ts'
import type { Store } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { scanTraces, type TraceScan } from '../traces/scan.ts'
import type { Time } from '../traces/trace-filter.ts'

/** A span's position in a list of spans. The spans of a trace stay together. */
export interface SpanPlace {
  /** The sort key of the span's trace. Ties are broken by the trace's id. */
  at: number
  traceUuid: string
  /** Within a trace, the root (0) comes before the other spans (1), which are sorted by time and id. */
  rank: number
  timestamp: number
  spanId: string
}

/** Compares positions in a list of spans whose traces are sorted newest first or oldest first. */
export const spanOrder =
  (isNewestFirst: boolean) =>
  (one: SpanPlace, other: SpanPlace): number =>
    traceOrder(isNewestFirst)(one, other) ||
    one.rank - other.rank ||
    one.timestamp - other.timestamp ||
    compareCodePoints(one.spanId, other.spanId)

const traceOrder = (isNewestFirst: boolean) => (left: TracePlace, right: TracePlace) =>
  (isNewestFirst ? -1 : 1) * (left.at - right.at || compareCodePoints(left.traceUuid, right.traceUuid))

/** A listed span's position, with the keys of its trace. */
export interface ListedPlace extends SpanPlace {
  traceKey: number
  rootSpanId: string
}

/** What to scan: the traces and their order, and the conditions on traces and on spans. */
interface SpanScan extends Omit<TraceScan, 'isMatch' | 'value'> {
  /** The traces' sort key. */
  by: SQL | Time
  isTrace: SQL | undefined
  isSpan: SQL | undefined
  limit: number
  after: Omit<SpanPlace, 'at'> | undefined
}

/** A scanned trace, with the first of its listed spans as JSON. */
export interface ScannedTrace {
  at: number
  traceUuid: string
  traceKey: number
  rootSpanId: string
  position: number
  spans: string
}

/** The query for the next traces that have spans to list, and for the last trace that the page scans. */
export function scanForSpans(store: Store, { by, isTrace: given, isSpan, limit, after, ...scan }: SpanScan) {
  // Without `shallow`, a combination of many filters would exceed SQLite's limit on expression depth.
  const isTrace = given && shallow(given)
  const rest =
    after &&
    sql`(${traces.id} <> ${after.traceUuid}
    or (1 - ${spans.isRoot}, ${spans.timestamp}, ${spans.id}) > (${after.rank}, ${after.timestamp}, ${after.spanId}))`
  const isSought = and(ofTrace, isSpan, rest)
  // Sort in a subquery, because an aggregate processes rows in the order in which it receives them.
  const listed = sql<string>`(
    select json_group_array(json_object(
      'isRoot', scanned_spans.is_root, 'timestamp', scanned_spans.timestamp, 'spanId', scanned_spans.id)) from (
      select ${spans.isRoot}, ${spans.timestamp}, ${spans.id} from ${spans} where ${isSought}
      order by ${spans.isRoot} desc, ${spans.timestamp}, ${spans.id} limit ${limit + 1}) as scanned_spans)`
  const isMatch = and(isTrace, existsShallow(sql`select 1 from ${spans} where ${isSought}`))
  const { scanned, isListed } = scanTraces(store, { ...scan, value: by, isMatch })
  return store.database
    .select({
      at: sql<number>`${scanned.value}`.as('at'),
      traceUuid: sql<string>`${traces.id}`.as('traceUuid'),
      traceKey: sql<number>`${traces.key}`.as('traceKey'),
      rootSpanId: sql<string>`${traces.rootSpanId}`.as('rootSpanId'),
      position: sql<number>`${scanned.position}`.as('position'),
      spans: sql<string>`iif(${isTrace ?? sql`true`}, ${listed}, '[]')`.as('spans'),
    })
    .from(scanned)
    .crossJoin(traces)
    .where(isListed)
    .limit(limit + 1)
}

/** Merges several scans in the same order into one, which ends where the first of them ends. */
export function mergeScans(scans: readonly (readonly ScannedTrace[])[], isNewestFirst: boolean): ScannedTrace[] {
  const inOrder = traceOrder(isNewestFirst)
  const [end] = scans.flatMap(scan => endOf(scan) ?? []).toSorted(inOrder)
  const merged = scans.flat().toSorted(inOrder)
  return end ? merged.filter(trace => inOrder(trace, end) <= 0) : merged
}

type TracePlace = Pick<SpanPlace, 'at' | 'traceUuid'>

/** The positions of the spans that a scan found. */
export const placesIn = (scanned: readonly ScannedTrace[]): ListedPlace[] =>
  scanned.flatMap(({ at, traceUuid, traceKey, rootSpanId, spans }) => {
    const listed: { isRoot: number; timestamp: number; spanId: string }[] = JSON.parse(spans)
    return listed.map(({ isRoot, timestamp, spanId }) => ({
      at,
      traceUuid,
      traceKey,
      rootSpanId,
      rank: 1 - isRoot,
      timestamp,
      spanId,
    }))
  })

/** The place after everything that a scan examined. Undefined if there are no more traces. */
export function endOf(scanned: readonly ScannedTrace[]): SpanPlace | undefined {
  const last = scanned.find(({ position }) => position === MAX_SCANNED_TRACES)
  return last && { at: last.at, traceUuid: last.traceUuid, rank: 2, timestamp: 0, spanId: '' }
}
