import { and, asc, desc, eq, or, type SQL, sql } from 'drizzle-orm'
import { MAX_SCANNED_TRACES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import type { Store } from '../core/store.ts'
import { traces } from '../schema/traces.ts'
import {
  indexedCondition,
  inProject,
  matches,
  positionIs,
  type Time,
  type TraceFilter,
  type TracePosition,
} from './trace-filter.ts'

export interface TraceScan {
  from: ReturnType<typeof inProject>['from']
  where: SQL | undefined
  order: SQL
  /** Which of the scanned traces match. All by default. */
  isMatch?: SQL | undefined
  /** A number to compute for each trace. */
  value?: SQL | Time
  maxScanned?: number
}

/**
 * The traces that a page scans, each with its position among them. Select from `scanned` with a cross join. SQLite then
 * reads `scanned` row by row, so the result is in the same order. A sort would have to wait for all rows. `isListed`
 * selects the traces that match, and the last scanned trace, after which the next page continues.
 */
export function scanTraces(
  store: Store,
  { from, where, order, isMatch = sql`true`, value = sql`null`, maxScanned = MAX_SCANNED_TRACES }: TraceScan,
) {
  const scanned = from(
    store.database.select({
      key: traces.key,
      position: sql<number>`row_number() over (order by ${order})`.as('position'),
      value: sql<number>`${value}`.as('value'),
    }),
  )
    .where(where)
    .orderBy(order)
    .limit(maxScanned)
    .as('scanned')
  return {
    scanned,
    isMatch,
    place: { isMatch: sql<number>`${isMatch}`.as('isMatch'), position: scanned.position },
    isListed: and(eq(traces.key, scanned.key), or(isMatch, eq(scanned.position, maxScanned))),
  }
}

interface ScanQuery {
  after: TracePosition | undefined
  /** Whether the scan starts with the trace at `after`. */
  isInclusive?: boolean
  isOldestFirst?: boolean
  maxScanned?: number
}

/** The project's traces that a page scans by time, newest first by default. */
export function scanByTime(
  store: Store,
  project: Project,
  filter: TraceFilter,
  { after, isInclusive = false, isOldestFirst = false, maxScanned }: ScanQuery,
) {
  const [direction, relation] = isOldestFirst ? ([asc, '>'] as const) : ([desc, '<'] as const)
  const { from, time, where } = inProject(
    store,
    project,
    filter,
    indexedCondition(filter),
    time => after && positionIs(time, isInclusive ? `${relation}=` : relation, after),
  )
  const order = sql`${direction(time)}, ${direction(traces.id)}`
  return scanTraces(store, {
    from,
    where,
    order,
    isMatch: matches(store, project, filter),
    ...(maxScanned && { maxScanned }),
  })
}
