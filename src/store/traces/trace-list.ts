import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import { JsonText } from '../../domain/json.ts'
import type { TraceStatus } from '../../domain/trace-status.ts'
import { MAX_SCANNED_TRACES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { mergePages, type ReadAcross, readPlaced, readShards } from '../core/across.ts'
import { readTraceUse, type TraceUse, traceUse } from '../core/model-calls.ts'
import { isCorrected, isReviewed, isStale } from '../core/reviewable.ts'
import { pageFromScan, type ScannedRow } from '../core/scanned.ts'
import type { Store } from '../core/store.ts'
import { isCommentShown } from '../core/veil.ts'
import { feedback } from '../schema/reviews.ts'
import { isNotRoot, spans } from '../schema/spans.ts'
import { mayNeedReview, traces } from '../schema/traces.ts'
import { isLiveIn } from './live.ts'
import { countWithin } from './payloads.ts'
import { scanByTime } from './scan.ts'
import { errorTypeColumns, newestFirst, type TraceFilter, type TracePosition } from './trace-filter.ts'
import { previewColumns, readPreview, type TracePreview } from './trace-preview.ts'

/** A trace as shown in lists. */
export interface TraceSummary {
  id: string
  traceId: string
  name: string
  status: TraceStatus
  metadata: JsonText
  timestamp: number
  durationMs: number | null
  updatedAt: number
  receivedAt: number
}

/** A trace in the read interface's list. */
export interface CountedTrace extends TraceSummary, TraceUse {
  spanCount: number
  reviewedCount: number
  correctedCount: number
  staleCount: number
  needsReview: boolean
  feedbackCount: number
}

/**
 * A `CountedTrace` with the beginnings of its values, and with the error type that reviewers named or, if they named
 * none, the one that the engine named.
 */
export interface ListedTrace extends CountedTrace, TracePreview {
  errorType: string | null
  /** Null if there's no error type. */
  errorTypeBy: 'reviewer' | 'engine' | null
}

/** The columns of a summary. The metadata stays JSON text. */
const summaryColumns = {
  id: traces.id,
  traceId: traces.traceId,
  name: traces.name,
  status: traces.status,
  metadata: sql<JsonText>`${traces.metadata}`.mapWith((text: string) => new JsonText(text)).as('metadata_json'),
  timestamp: traces.timestamp,
  durationMs: traces.durationMs,
  updatedAt: traces.updatedAt,
  receivedAt: traces.receivedAt,
}

const countReviewed = (kind: SQL) =>
  sql<number>`(select count(*) from ${spans} where ${spans.traceKey} = ${traces.key} and ${isNotNull(spans.reviewState)} and ${kind})`

/** How many spans, reviews, and feedback entries the current trace has, and what its model calls used. */
export const traceCounts = (store: Store) => ({
  spanCount: sql<number>`(
    iif(${traces.isPosted} = 1, 1, (
      select count(*) from ${spans} where ${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}))
    + (select count(*) from ${spans} where ${spans.traceKey} = ${traces.key} and ${isNotRoot}))`.as('spanCount'),
  reviewedCount: countReviewed(isReviewed).as('reviewedCount'),
  correctedCount: countReviewed(isCorrected).as('correctedCount'),
  staleCount: countReviewed(isStale).as('staleCount'),
  feedbackCount: sql<number>`(
    select count(*) from ${feedback}
    where ${and(eq(feedback.traceKey, traces.key), isCommentShown(store))})`.as('feedbackCount'),
  traceUse,
})

const listedColumns = (store: Store) => ({
  ...traceCounts(store),
  ...previewColumns,
  ...errorTypeColumns(store),
  needsReview: mayNeedReview,
})

type ListedRow = TraceSummary & SelectResultFields<ReturnType<typeof listedColumns>>

function toListedTrace({ traceUse, reviewersType, enginesType, ...row }: ListedRow): ListedTrace {
  const errorTypeBy = reviewersType !== null ? 'reviewer' : enginesType !== null ? 'engine' : null
  return {
    ...row,
    ...readTraceUse(traceUse),
    ...readPreview(row),
    errorType: reviewersType ?? enginesType,
    errorTypeBy,
  }
}

/** A page of a project's traces that match. */
interface TracePage<Trace> {
  items: Trace[]
  /** Where the next page begins. Null on the last page. */
  nextPlace: TracePosition | null
}

interface PageQuery {
  limit: number
  after: TracePosition | undefined
  /** Whether the page starts with the trace at `after`. */
  isInclusive?: boolean
}

/**
 * A page of a project's matching traces, newest first. Takes one round trip, or two with `nameContains`. Scans at most
 * 5,000 traces in each database, so `items` may be short even if more traces follow.
 */
export const listTraces = (
  store: Store,
  project: Project,
  filter: TraceFilter,
  page: PageQuery,
): Promise<TracePage<ListedTrace>> => mergedPage(store, page, shard => listIn(shard, project, filter, page))

async function listIn(
  store: Store,
  project: Project,
  filter: TraceFilter,
  page: PageQuery,
): Promise<TracePage<ListedTrace>> {
  const { scanned, place, isListed } = scanByTime(store, project, await withNames(store, project, filter, page), page)
  const rows = await store.database
    .select({ ...summaryColumns, ...place, ...listedColumns(store) })
    .from(scanned)
    .crossJoin(traces)
    .where(isListed)
    .limit(page.limit + 1)
  const { items, nextPlace } = pageOfRows(rows, page.limit)
  return { items: items.map(toListedTrace), nextPlace }
}

/** Like `listTraces`, but without the counts, because each of them reads more rows. */
export const findMatches = (
  store: Store,
  project: Project,
  filter: TraceFilter,
  page: PageQuery,
): Promise<TracePage<TraceSummary>> => mergedPage(store, page, shard => findIn(shard, project, filter, page))

async function findIn(
  store: Store,
  project: Project,
  filter: TraceFilter,
  page: PageQuery,
): Promise<TracePage<TraceSummary>> {
  const { scanned, place, isListed } = scanByTime(store, project, await withNames(store, project, filter, page), page)
  const rows = await store.database
    .select({ ...summaryColumns, ...place })
    .from(scanned)
    .crossJoin(traces)
    .where(isListed)
    .limit(page.limit + 1)
  return pageOfRows(rows, page.limit)
}

/** Reads a page of a list of traces from each database, and merges them into one that fits in a response. */
async function mergedPage<Trace extends TraceSummary>(
  store: Store,
  { limit }: PageQuery,
  read: (shard: Store) => Promise<TracePage<Trace>>,
): Promise<TracePage<Trace>> {
  const pages = await readShards(store, read)
  return fittingPage(mergePages(pages, { limit, placeOf: toPosition, compare: newestFirst }))
}

const toPosition = (trace: TracePosition): TracePosition => trace

/** A trace to search for text. */
export interface SearchedTrace extends TracePosition {
  key: number
  rootSpanId: string
  name: string
  metadataBytes: number
}

/** Finds a page of traces in one database to search for text. The page may include the trace at `after`. */
export async function findSearched(
  store: Store,
  project: Project,
  filter: TraceFilter,
  page: PageQuery,
): Promise<TracePage<SearchedTrace>> {
  const { scanned, place, isListed } = scanByTime(store, project, await withNames(store, project, filter, page), page)
  const rows = await store.database
    .select({ ...searchedColumns, ...place })
    .from(scanned)
    .crossJoin(traces)
    .where(isListed)
    .limit(page.limit + 1)
  return pageFromScan(rows, page.limit, MAX_SCANNED_TRACES)
}

const searchedColumns = {
  key: traces.key,
  rootSpanId: traces.rootSpanId,
  name: traces.name,
  timestamp: traces.timestamp,
  id: traces.id,
  metadataBytes: sql<number>`octet_length(${traces.metadata})`,
}

/** The traces in one database with these keys, by key. Deleted ones are missing. */
async function findListed(store: Store, project: Project, keys: readonly number[]): Promise<Map<number, ListedTrace>> {
  if (keys.length === 0) return new Map()
  const rows = await store.database
    .select({ key: traces.key, ...summaryColumns, ...listedColumns(store) })
    .from(sql`json_each(${JSON.stringify(keys)}) as item`)
    .crossJoin(traces)
    .where(isLiveIn(store, project, sql`${traces.key} = item.value`))
  return new Map(rows.map(({ key, ...row }) => [key, toListedTrace(row)]))
}

/** The traces with these keys in these databases. Deleted ones are missing. */
export async function findListedPlaced<Place extends { shard: number; key: number }>(
  store: Store,
  project: Project,
  places: readonly Place[],
  across: ReadAcross = readShards,
): Promise<Map<Place, ListedTrace>> {
  const read = async (shard: Store, own: readonly Place[]) => {
    const found = await findListed(
      shard,
      project,
      own.map(({ key }) => key),
    )
    return own.flatMap(place => {
      const trace = found.get(place.key)
      return trace ? [[place, trace] as const] : []
    })
  }
  return new Map((await readPlaced(store, places, read, across)).flat())
}

/**
 * Returns the filter with the keys of those scanned traces whose names contain the text. Takes a round trip, because
 * SQLite can ignore case only in ASCII text.
 */
async function withNames(store: Store, project: Project, filter: TraceFilter, page: PageQuery): Promise<TraceFilter> {
  const { nameContains } = filter
  if (!nameContains) return filter
  const { scanned } = scanByTime(store, project, filter, page)
  const rows = await store.database
    .select({ key: traces.key, name: traces.name })
    .from(scanned)
    .crossJoin(traces)
    .where(eq(traces.key, scanned.key))
  const named = rows.filter(({ name }) => nameContains.pattern.test(name))
  return { ...filter, keys: named.map(({ key }) => key) }
}

/** Builds a page from scanned rows. The page ends early if the metadata fills the response. */
function pageOfRows<Row extends TraceSummary & ScannedRow>(rows: readonly Row[], limit: number): TracePage<Row> {
  return fittingPage(pageFromScan(rows, limit, MAX_SCANNED_TRACES))
}

function fittingPage<Trace extends TraceSummary>(page: TracePage<Trace>): TracePage<Trace> {
  const fitting = countFitting(page.items)
  if (fitting >= page.items.length) return page
  const items = page.items.slice(0, fitting)
  return { items, nextPlace: items.at(-1) ?? null }
}

/** How many traces fit in a response. */
export const countFitting = (traces: readonly TraceSummary[]): number =>
  countWithin(traces.map(({ metadata }) => metadata.text.length))
