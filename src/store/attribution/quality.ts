import { and, desc, eq, gte, isNotNull, lt, type SQL, sql } from 'drizzle-orm'
import type { ComparedAnswers } from '../../domain/attribution-quality.ts'
import { MAX_COMPARED_DECISIONS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { mergePages, oldestOf, placeOrder, readShards } from '../core/across.ts'
import { named } from '../core/database.ts'
import { shownSpanStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
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
  engineVersion?: string | undefined
}

/** The comparison and the project's error types. */
interface Comparison {
  compared: ComparedAnswers[]
  /** Whether there are more decisions than were scanned. */
  isCut: boolean
  errorTypes: ProjectErrorType[]
}

/**
 * Compares the last engine answer on each trace with the error type of the newest current decision that names one, in
 * one round trip. Scans the newest 10,000 such decisions. If there are several databases, this takes a second round
 * trip, and a third if there are more than 10,000 such decisions.
 */
export async function compareAnswers(store: Store, project: Project, filter: ComparisonFilter): Promise<Comparison> {
  const { bounded, isCut } = await shareLimit(store, project, filter)
  const found = await readShards(store, shard => compareIn(shard, project, bounded))
  return {
    compared: found.flatMap(({ compared }) => compared),
    isCut: isCut || found.some(each => each.isCut),
    errorTypes: found[0]?.errorTypes ?? [],
  }
}

/**
 * Raises a filter's `from` so that several databases together scan at most as many decisions as one database would.
 * Reads nothing if there's only one database.
 */
async function shareLimit<Filter extends ComparisonFilter>(
  store: Store,
  project: Project,
  filter: Filter,
): Promise<{ bounded: Filter; isCut: boolean }> {
  if (store.shards.length === 1) return { bounded: filter, isCut: false }
  const counts = await readShards(store, shard => shard.database.$count(decisionsToScan(shard, project, filter)))
  if (counts.reduce((sum, count) => sum + count, 0) <= MAX_COMPARED_DECISIONS) return { bounded: filter, isCut: false }
  const times = await readShards(store, ({ database }) =>
    database
      .select({ at: reviews.createdAt })
      .from(reviews)
      .where(isScanned(project, filter))
      .orderBy(desc(reviews.createdAt))
      .limit(MAX_COMPARED_DECISIONS + 1),
  )
  const from = oldestOf(
    times.map(rows => rows.map(({ at }) => at)),
    MAX_COMPARED_DECISIONS,
  )
  return { bounded: { ...filter, from: from ?? filter.from }, isCut: true }
}

/** The decisions in one database that would be scanned, and one more if there are too many. */
const decisionsToScan = ({ database }: Store, project: Project, filter: ComparisonFilter) =>
  database
    .select({ number: reviews.number })
    .from(reviews)
    .where(isScanned(project, filter))
    .limit(MAX_COMPARED_DECISIONS + 1)
    .as('scanned')

async function compareIn(store: Store, project: Project, filter: ComparisonFilter): Promise<Comparison> {
  const { database } = store
  const [compared, [counted], ...typeRows] = await database.batch([
    database
      .select({
        ...named({
          engine: attributions.engine,
          engineVersion: attributions.engineVersion,
          answered: attributions.errorType,
        }),
        named: sql<string>`scanned_traces.named`.as('named'),
        tenth: sql<number>`${tenth}`.as('tenth'),
        count: sql<number>`count(*)`.as('count'),
        confidence: sql<number>`sum(${attributions.confidence})`.as('confidence'),
      })
      .from(sql`${scannedTraces(store, project, filter)} cross join ${attributions}`)
      .where(isLastAnswer(filter))
      .groupBy(
        attributions.engine,
        attributions.engineVersion,
        attributions.errorType,
        sql`scanned_traces.named`,
        sql`tenth`,
      ),
    database.select({ count: sql<number>`count(*)`.as('count') }).from(decisionsToScan(store, project, filter)),
    ...errorTypeQueries(store, project.key),
  ])
  const isCut = (counted?.count ?? 0) > MAX_COMPARED_DECISIONS
  return { compared, isCut, errorTypes: toErrorTypes(typeRows) }
}

/** Conditions on the listed answers. Undefined fields don't filter. */
export interface ComparedFilter extends ComparisonFilter {
  /** The engine's error type. */
  answered?: string | undefined
  /** The reviewer's error type. */
  named?: string | undefined
  isAgreed?: boolean | undefined
  /** The tenth of the confidence, 0 to 9. */
  tenth?: number | undefined
}

/** A trace with the two answers that were compared. */
export interface ComparedTrace {
  traceId: string
  /** The span whose decision names the reviewer's error type. */
  spanId: string
  stepId: string
  reviewedAt: number
  reviewerId: string
  named: string
  answered: string
  confidence: number
  engine: string
  engineVersion: string
}

/** A position in the list, newest decision first. A page starts after it. */
export interface ComparedPlace {
  reviewedAt: number
  spanId: string
}

/**
 * A page of the traces that `compareAnswers` counts, newest decision first. Takes as many round trips as
 * `compareAnswers`.
 */
export async function listComparedTraces(
  store: Store,
  project: Project,
  filter: ComparedFilter,
  page: { limit: number; after: ComparedPlace | undefined },
): Promise<{ items: ComparedTrace[]; nextPlace: PlaceValues | null }> {
  const { bounded } = await shareLimit(store, project, filter)
  const pages = await readShards(store, shard => listIn(shard, project, bounded, page))
  return mergePages(pages, { limit: page.limit, placeOf, compare: placeOrder('descending') })
}

type PlaceValues = [reviewedAt: number, spanId: string]

const placeOf = ({ reviewedAt, spanId }: ComparedPlace): PlaceValues => [reviewedAt, spanId]

async function listIn(
  store: Store,
  project: Project,
  filter: ComparedFilter,
  { limit, after }: { limit: number; after: ComparedPlace | undefined },
): Promise<{ items: ComparedTrace[]; nextPlace: PlaceValues | null }> {
  const { answered, named: namedType, isAgreed, tenth: wanted } = filter
  const agrees = sql`${attributions.errorType} = scanned_traces.named`
  const rows = await store.database
    .select({
      ...named({
        traceId: traces.id,
        spanId: spans.id,
        answered: attributions.errorType,
        confidence: attributions.confidence,
        engine: attributions.engine,
        engineVersion: attributions.engineVersion,
      }),
      stepId: shownSpanStep.as('step_id'),
      reviewedAt: sql<number>`scanned_traces.reviewed_at`.as('reviewed_at'),
      reviewerId: sql<string>`scanned_traces.user_id`.as('reviewer_id'),
      named: sql<string>`scanned_traces.named`.as('named'),
    })
    .from(sql`${scannedTraces(store, project, filter)} cross join ${attributions}`)
    .innerJoin(traces, sql`${traces.key} = scanned_traces.trace_key`)
    .innerJoin(spans, sql`${spans.id} = scanned_traces.span_id and ${spans.traceKey} = scanned_traces.trace_key`)
    .where(
      and(
        isLastAnswer(filter),
        answered === undefined ? undefined : eq(attributions.errorType, answered),
        namedType === undefined ? undefined : sql`scanned_traces.named = ${namedType}`,
        isAgreed === undefined ? undefined : isAgreed ? agrees : sql`not ${agrees}`,
        wanted === undefined ? undefined : sql`${tenth} = ${wanted}`,
        after && sql`(scanned_traces.reviewed_at, scanned_traces.span_id) < (${after.reviewedAt}, ${after.spanId})`,
      ),
    )
    .orderBy(sql`scanned_traces.reviewed_at desc, scanned_traces.span_id desc`)
    .limit(limit + 1)
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, nextPlace: rows.length > limit && last ? placeOf(last) : null }
}

/** The tenth of an answer's confidence, 0 to 9. */
const tenth = sql`max(0, min(9, cast(${attributions.confidence} * 10 as integer)))`

/** Decisions that name an error type. */
const isScanned = (project: Project, { from, to }: ComparisonFilter): SQL | undefined =>
  and(
    eq(reviews.projectKey, project.key),
    isNotNull(reviews.errorType),
    from === undefined ? undefined : gte(reviews.createdAt, from),
    to === undefined ? undefined : lt(reviews.createdAt, to),
  )

/**
 * The traces of the newest decisions that name an error type, each with the newest such decision that is current.
 * Leaves out the traces whose answers are hidden from the viewer.
 */
function scannedTraces(store: Store, project: Project, filter: ComparisonFilter): SQL {
  const { traceKey, spanId, number, createdAt, errorType, userId } = reviews
  const scanned = store.database
    .select({ traceKey, spanId, number, createdAt, errorType, userId })
    .from(reviews)
    .where(isScanned(project, filter))
    .orderBy(desc(createdAt))
    .limit(MAX_COMPARED_DECISIONS)
    .as('scanned')
  const isInForce = and(
    eq(spans.id, scanned.spanId),
    eq(spans.traceKey, scanned.traceKey),
    eq(spans.reviewNumber, scanned.number),
    isNotNull(spans.reviewState),
  )
  // SQLite takes the other columns from the row with the max(). Decisions made in one call have the same time. Without
  // the zeros, a time before September 2001 would sort after all others.
  return sql`(
    select ${scanned.traceKey} as trace_key, ${scanned.spanId} as span_id, ${scanned.createdAt} as reviewed_at,
      ${scanned.userId} as user_id, ${scanned.errorType} as named,
      max(printf('%015d/%s', ${scanned.createdAt}, ${scanned.spanId}))
    from ${scanned} cross join ${traces} cross join ${spans}
    where ${isLive(store, eq(traces.key, scanned.traceKey), isAnswerShown(store))} and ${isInForce}
    group by ${scanned.traceKey}) as scanned_traces`
}

/** The last answer on a scanned trace. A filter by engine uses that engine's own last answer. */
function isLastAnswer({ engine, engineVersion }: ComparisonFilter): SQL {
  const isOfEngine = and(
    engine === undefined ? undefined : sql`answer.engine = ${engine}`,
    engineVersion === undefined ? undefined : sql`answer.engine_version = ${engineVersion}`,
  )
  return sql`${attributions.traceKey} = scanned_traces.trace_key and ${attributions.number} = (
    select answer.number from ${attributions} as answer
    where answer.trace_key = scanned_traces.trace_key and ${isOfEngine ?? sql`true`}
    order by answer.number desc limit 1)`
}
