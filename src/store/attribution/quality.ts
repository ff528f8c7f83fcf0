import { and, desc, eq, gte, isNotNull, lt, sql } from 'drizzle-orm'
import type { ComparedAnswers } from '../../domain/agreement.ts'
import { MAX_COMPARED_DECISIONS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { named } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { attributions } from '../schema/attribution.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { errorTypeQueries, type ProjectErrorType, toErrorTypes } from './error-types.ts'

/** Conditions on the compared answers and reviews. Undefined fields don't filter. */
export interface ComparisonFilter {
  /** The time of the review; inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
  engine?: string | undefined
}

/** The comparison and the project's error types. */
interface Comparison {
  compared: ComparedAnswers[]
  /** Whether there are more decisions than were scanned. */
  isCut: boolean
  errorTypes: ProjectErrorType[]
}

/**
 * Compares the last engine answer on each trace with the error type of the newest decision in force that names one, in
 * one round trip. Scans the newest 10,000 decisions that name one.
 */
export async function compareAnswers(store: Store, project: Project, filter: ComparisonFilter): Promise<Comparison> {
  const { database } = store
  const { from, to, engine } = filter
  const matchesFilter = and(
    eq(reviews.projectKey, project.key),
    isNotNull(reviews.errorType),
    from === undefined ? undefined : gte(reviews.createdAt, from),
    to === undefined ? undefined : lt(reviews.createdAt, to),
  )
  const { traceKey, spanId, number, createdAt, errorType } = reviews
  const scanned = database
    .select({ traceKey, spanId, number, createdAt, errorType })
    .from(reviews)
    .where(matchesFilter)
    .orderBy(desc(createdAt))
    .limit(MAX_COMPARED_DECISIONS)
    .as('scanned')
  const isInForce = and(
    eq(spans.id, scanned.spanId),
    eq(spans.traceKey, scanned.traceKey),
    eq(spans.reviewNumber, scanned.number),
    isNotNull(spans.reviewState),
  )
  // SQLite takes the other columns from the row with the max(). Decisions made in one call have the same time.
  const scannedTraces = sql`(
    select ${scanned.traceKey} as trace_key, ${scanned.errorType} as named,
      max(${scanned.createdAt} || '/' || ${scanned.spanId})
    from ${scanned} cross join ${traces} cross join ${spans}
    where ${isLive(store, eq(traces.key, scanned.traceKey))} and ${isInForce}
    group by ${scanned.traceKey}) as scanned_traces`
  const ofEngine = engine === undefined ? sql`true` : sql`answer.engine = ${engine}`
  const isLast = sql`${attributions.traceKey} = scanned_traces.trace_key and ${attributions.number} = (
    select answer.number from ${attributions} as answer
    where answer.trace_key = scanned_traces.trace_key and ${ofEngine} order by answer.number desc limit 1)`
  const tenth = sql`max(0, min(9, cast(${attributions.confidence} * 10 as integer)))`
  const [compared, [counted], ...typeRows] = await database.batch([
    database
      .select({
        ...named({ engine: attributions.engine, answered: attributions.errorType }),
        named: sql<string>`scanned_traces.named`.as('named'),
        tenth: sql<number>`${tenth}`.as('tenth'),
        count: sql<number>`count(*)`.as('count'),
        confidence: sql<number>`sum(${attributions.confidence})`.as('confidence'),
      })
      .from(sql`${scannedTraces} cross join ${attributions}`)
      .where(isLast)
      .groupBy(attributions.engine, attributions.errorType, sql`scanned_traces.named`, tenth),
    database.select({ count: sql<number>`count(*)`.as('count') }).from(
      database
        .select({ number })
        .from(reviews)
        .where(matchesFilter)
        .limit(MAX_COMPARED_DECISIONS + 1)
        .as('scanned'),
    ),
    ...errorTypeQueries(store, project.key),
  ])
  const isCut = (counted?.count ?? 0) > MAX_COMPARED_DECISIONS
  return { compared, isCut, errorTypes: toErrorTypes(typeRows) }
}
