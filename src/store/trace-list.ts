import { and, desc, eq, isNotNull, or, type SQL, sql } from 'drizzle-orm'
import { JsonText } from '../domain/json.ts'
import type { TraceStatus } from '../domain/trace-status.ts'
import { MAX_SCANNED_TRACES } from '../limits.ts'
import { countWithin } from './payloads.ts'
import type { Project } from './projects.ts'
import { isCorrected, isReviewed, isStale } from './reviewable.ts'
import { pageOfScanned } from './scanned.ts'
import { feedback, isNoRoot, spans, traces } from './schema.ts'
import type { Store } from './store.ts'
import { inProject, matches, soughtColumn, standsAt, type TraceFilter, type TracePosition } from './trace-filter.ts'

/** A trace as lists show it. */
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

/** A trace as the read interface's list shows it. */
export interface CountedTrace extends TraceSummary {
  spanCount: number
  reviewedCount: number
  correctedCount: number
  staleCount: number
  needsReview: boolean
  feedbackCount: number
}

/** The columns of a summary, the metadata as it lies. */
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

/** How much belongs to the trace that a statement is at: what its detail lists. */
export const traceCounts = {
  spanCount: sql<number>`(
    iif(${traces.isPosted} = 1, 1, (
      select count(*) from ${spans} where ${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}))
    + (select count(*) from ${spans} where ${spans.traceKey} = ${traces.key} and ${isNoRoot}))`.as('spanCount'),
  reviewedCount: countReviewed(isReviewed).as('reviewedCount'),
  correctedCount: countReviewed(isCorrected).as('correctedCount'),
  staleCount: countReviewed(isStale).as('staleCount'),
  feedbackCount: sql<number>`(
    select count(*) from ${feedback} where ${feedback.traceKey} = ${traces.key})`.as('feedbackCount'),
}

/**
 * A page of a project's traces that match, newest first, in one round trip. It looks at 5,000 traces at most: `items` may
 * be few although more follow. `nextPlace`: where the next page begins; null where nothing is left.
 */
export async function listTraces(
  store: Store,
  project: Project,
  filter: TraceFilter,
  { limit, after }: { limit: number; after: TracePosition | undefined },
): Promise<{ items: CountedTrace[]; nextPlace: TracePosition | null }> {
  const { from, time, where } = inProject(
    store,
    project,
    filter,
    soughtColumn(filter),
    time => after && standsAt(time, '<', after),
  )
  const position = sql<number>`row_number() over (order by ${time} desc, ${traces.id} desc)`.as('position')
  const scanned = from(store.database.select({ key: traces.key, position }))
    .where(where)
    .orderBy(desc(time), desc(traces.id))
    .limit(MAX_SCANNED_TRACES)
    .as('scanned')
  const isMatch = matches(project, filter) ?? sql`true`
  // In the order of `scanned`: a cross join reads it first, row by row, and a sort would have to wait for all of it.
  const rows = await store.database
    .select({
      ...summaryColumns,
      isMatch: sql<number>`${isMatch}`,
      position: scanned.position,
      ...traceCounts,
      needsReview: traces.needsReview,
    })
    .from(scanned)
    .crossJoin(traces)
    .where(and(eq(traces.key, scanned.key), or(isMatch, eq(scanned.position, MAX_SCANNED_TRACES))))
    .limit(limit + 1)
  const page = pageOfScanned(rows, limit, MAX_SCANNED_TRACES)
  const fitting = countWithin(page.items.map(({ metadata }) => metadata.text.length))
  if (fitting >= page.items.length) return page
  const items = page.items.slice(0, fitting)
  return { items, nextPlace: items.at(-1) ?? null }
}
