import { and, desc, eq, gte, isNotNull, lt, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { NamedBy, ProblemKey } from '../../domain/problem.ts'
import type { ReviewOutcome } from '../../domain/review-state.ts'
import type { PayloadMode } from '../../domain/span.ts'
import { DAY_MS, MAX_SCANNED_DECISIONS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import {
  type InShard,
  inShard,
  mergePages,
  placeOrder,
  type ReadAcross,
  readShards,
  showPlaced,
} from '../core/across.ts'
import { readPlain } from '../core/database.ts'
import { isDecisionInForce } from '../core/reviewable.ts'
import { isOneOf } from '../core/rows.ts'
import { pageFromScan } from '../core/scanned.ts'
import { isStep, readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { isAnswerShown } from '../core/veil.ts'
import { isCounted } from '../counts/review-days.ts'
import { isAnyExpired, reviewDays } from '../schema/counts.ts'
import { problemCases, problemDays } from '../schema/problems.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { findSpans, type LocatedSpan } from '../spans/located-spans.ts'
import { shownLength } from '../spans/shared-review.ts'
import { matchesNow, type SpanFilter } from '../spans/span-list.ts'
import { isLiveIn, unpurgedTraces } from '../traces/live.ts'
import { firstDecisions, type WatchedDecisions } from './first-decisions.ts'

/*
 * Lists spans by their current decisions, which are also what insights count. Steps and prompt versions are those
 * recorded in the decisions. Insights count whole days, so the lists also cover whole days.
 */

/** A filter on decisions. `stepId` and `promptVersionIds` apply to the decision, not the span. */
export interface DecisionFilter extends SpanFilter {
  state?: ReviewOutcome | undefined
  errorType?: string | undefined
  /** The id of a user, or of a key that acts for no user. */
  reviewerId?: string | undefined
  /** The UTC days of the decisions, in days since 1970. `reviewedTo` is exclusive. */
  reviewedFrom?: number | undefined
  reviewedTo?: number | undefined
  /** If set, lists the cases of this problem instead, and the days apply to the cases. */
  problem?: ProblemKey | undefined
  /** Whether a reviewer or only an engine named the cases' error type. */
  namedBy?: NamedBy | undefined
  /** If set, lists the decisions that this watch counts instead, whether or not they're current. */
  watched?: WatchedDecisions | undefined
}

/** The position of a decision in the list, newest first. */
export interface DecisionPlace {
  createdAt: number
  traceKey: number
  spanId: string
  number: number
}

interface PageQuery {
  limit: number
  after: DecisionPlace | undefined
  mode: PayloadMode
}

interface DecidedPage {
  spans: LocatedSpan[]
  nextPlace: DecisionPlace | null
  /**
   * How many of the counted decisions can't be listed because their traces are gone. Undefined after the first page,
   * and if the filter uses a field that isn't counted.
   */
  expired: number | undefined
}

/**
 * A page of a project's spans with a matching decision, newest decision first. Takes two round trips, and R2 reads for
 * large values. Scans at most 5,000 decisions, so `spans` may be short even if more follow.
 */
export async function listDecidedSpans(
  store: Store,
  project: Project,
  filter: DecisionFilter,
  { limit, after, mode }: PageQuery,
): Promise<DecidedPage> {
  const isCounted = !after && isCountable(filter)
  const { items, nextPlace, expired } = await findDecisions(store, project, filter, { limit, after, isCounted })
  const { shown, count } = await showDecisions(store, project, items, mode)
  const last = count < items.length ? items[count - 1] : undefined
  return { spans: shown.map(each => each.shown), nextPlace: last ?? nextPlace, expired }
}

/** Compares positions in the list. The trace's key only breaks ties between decisions made in the same millisecond. */
export const decisionOrder = (one: DecisionPlace, other: DecisionPlace): number =>
  newest(
    [one.createdAt, one.traceKey, one.spanId, one.number],
    [other.createdAt, other.traceKey, other.spanId, other.number],
  )

const newest = placeOrder('descending')

/** A decision on a page. */
export interface ListedDecision extends DecisionPlace {
  stepId: string
  promptVersionId: string
  rootSpanId: string
}

/**
 * Finds the decisions on a page, without the values of their spans. If `isCounted` is true, also finds how many more
 * decisions have expired.
 */
export async function findDecisions(
  store: Store,
  project: Project,
  filter: DecisionFilter,
  query: Omit<PageQuery, 'mode'> & { isCounted: boolean },
  across: ReadAcross = readShards,
): Promise<Pick<DecidedPage, 'nextPlace' | 'expired'> & { items: InShard<ListedDecision>[] }> {
  const pages = await across(store, async shard => {
    const page = await findDecisionsIn(shard, project, filter, query)
    return { ...page, items: inShard(shard, page.items) }
  })
  const order = { limit: query.limit, placeOf: (place: DecisionPlace) => place, compare: decisionOrder }
  const gone = pages.reduce((sum, page) => sum + (page.gone ?? 0), 0)
  return { ...mergePages(pages, order), expired: query.isCounted ? expiredOf(filter, gone) : undefined }
}

/** The number of decisions that are counted but can't be listed. `gone` is the sum of the databases' counts. */
function expiredOf({ watched, problem, state }: DecisionFilter, gone: number): number {
  if (problem || !watched) return gone
  const { n, accepted } = watched.counted
  return Math.max(0, { accepted, corrected: n - accepted, any: n }[state ?? 'any'] - gone)
}

/**
 * Like `findDecisions`, in one database. If the filter is for a watch, `gone` is instead the number of decisions that
 * still exist.
 */
export async function findDecisionsIn(
  store: Store,
  project: Project,
  filter: DecisionFilter,
  { limit, after, isCounted }: Omit<PageQuery, 'mode'> & { isCounted: boolean },
): Promise<Pick<DecidedPage, 'nextPlace'> & { items: ListedDecision[]; gone: number | undefined }> {
  const { problem, watched } = filter
  const decisions = problem
    ? selectCases(store, project, { ...filter, problem }, limit, after)
    : selectDecisions(store, project, filter, limit, after)
  const countExpired = () => {
    if (problem) return countGoneCases(store, project, { ...filter, problem })
    return watched ? countLeft(store, filter.state, watched) : countGone(store, project, filter)
  }
  const [rows, gone] = isCounted
    ? await readPlain(store.database, [decisions, countExpired()])
    : await readPlain(store.database, [decisions])
  return { ...pageFromScan(rows, limit, MAX_SCANNED_DECISIONS), gone: gone?.[0]?.count }
}

/** Shows the spans of as many decisions as fit on a page, and returns the number of decisions that fit. */
export const showDecisions = <Item extends InShard<ListedDecision>>(
  store: Store,
  project: Project,
  items: readonly Item[],
  mode: PayloadMode,
  across: ReadAcross = readShards,
) =>
  showPlaced<Item, LocatedSpan>(
    store,
    items,
    async (shard, own, maxBytes) => {
      const ids = own.map(({ spanId }) => spanId)
      const { found, count } = await findSpans(shard, ids, mode, maxBytes)
      const shown = own.slice(0, count).flatMap(item => {
        const { spanId, stepId, promptVersionId } = item
        const span = found.get(spanId)
        // A root in another project may have taken the id.
        const isOfProject = span?.projectKey === project.key
        return isOfProject ? [[item, { ...span, stepId, promptVersionId: promptVersionId || null }] as const] : []
      })
      return { shown: new Map(shown), count }
    },
    shownLength,
    across,
  )

/** Whether the counts show how many decisions match the filter. */
const isCountable = ({
  model,
  review,
  hasOutput,
  reviewable,
  from,
  to,
  assignee,
  watched,
  ...recorded
}: DecisionFilter): boolean => {
  const { errorType, reviewerId, stepId, promptVersionIds, reviewedFrom, reviewedTo } = recorded
  const unwatched = watched ? [errorType, reviewerId, stepId, promptVersionIds, reviewedFrom, reviewedTo] : []
  return [model, review, hasOutput, reviewable, from, to, assignee, ...unwatched].every(field => field === undefined)
}

const ORDER = [reviews.createdAt, reviews.traceKey, reviews.spanId, reviews.number]

/** The query for the next matching decisions, and for the last decision that the page scans. */
function selectDecisions(
  store: Store,
  project: Project,
  filter: DecisionFilter,
  limit: number,
  after: DecisionPlace | undefined,
) {
  const { from, to, errorType, watched } = filter
  const order = sql.join(ORDER.map(desc), sql`, `)
  const scanned = store.database
    .select({
      traceKey: reviews.traceKey,
      spanId: reviews.spanId,
      number: reviews.number,
      position: sql<number>`row_number() over (order by ${order})`.as('position'),
    })
    .from(reviews)
    .where(
      and(
        watched ? isWatched(watched) : eq(reviews.projectKey, project.key),
        // Lets SQLite use the partial index.
        errorType === undefined ? undefined : isNotNull(reviews.errorType),
        isInRange(reviews.createdAt, filter),
        after &&
          sql`(${sql.join(ORDER, sql`, `)}) < (${after.createdAt}, ${after.traceKey}, ${after.spanId}, ${after.number})`,
      ),
    )
    .orderBy(order)
    .limit(MAX_SCANNED_DECISIONS)
    .as('scanned')
  const isMatch = and(
    isDecision(project, filter),
    sql`exists (select 1 from ${spans} cross join ${traces}
      where ${spans.id} = ${reviews.spanId} and ${spans.traceKey} = ${reviews.traceKey} and ${watched ? sql`true` : isDecisionInForce}
        and ${traces.key} = ${spans.traceKey} and ${isLiveIn(
          store,
          project,
          from === undefined ? undefined : gte(traces.timestamp, from),
          to === undefined ? undefined : lt(traces.timestamp, to),
          matchesNow(filter),
        )})`,
  )
  // A cross join reads `scanned` first, row by row, so the result keeps its order.
  return store.database
    .select({
      createdAt: sql<number>`${reviews.createdAt}`.as('createdAt'),
      traceKey: sql<number>`${reviews.traceKey}`.as('traceKey'),
      spanId: sql<string>`${reviews.spanId}`.as('spanId'),
      rootSpanId: sql<string>`(
        select own.root_span_id from ${traces} own where own.key = ${reviews.traceKey})`.as('rootSpanId'),
      number: sql<number>`${reviews.number}`.as('number'),
      stepId: readStepId(reviews.projectKey, reviews.stepId).as('stepId'),
      promptVersionId: sql<string>`${reviews.promptVersionId}`.as('promptVersionId'),
      position: sql<number>`${scanned.position}`.as('position'),
      isMatch: sql<number>`${isMatch}`.as('isMatch'),
    })
    .from(scanned)
    .crossJoin(reviews)
    .where(
      sql`${reviews.traceKey} = ${scanned.traceKey} and ${reviews.spanId} = ${scanned.spanId}
        and ${reviews.number} = ${scanned.number} and (${isMatch} or ${scanned.position} = ${MAX_SCANNED_DECISIONS})`,
    )
    .limit(limit + 1)
}

/** Whether a row of `reviews` is a decision that a watch counts. */
const isWatched = (watched: WatchedDecisions): SQL =>
  sql`(${reviews.traceKey}, ${reviews.spanId}, ${reviews.number}) in (
    select scanned.trace_key, scanned.span_id, scanned.number from ${firstDecisions(watched)} as scanned)`

/** The query for the number of a watch's decisions that still exist. */
function countLeft({ database }: Store, state: ReviewOutcome | undefined, watched: WatchedDecisions) {
  const isState = state === undefined ? sql`true` : sql`scanned.state = ${state}`
  return database
    .select({ count: sql<number>`count(*)`.as('count') })
    .from(sql`${firstDecisions(watched)} as scanned`)
    .where(isState)
}

/** Whether a row of `reviews` should be listed if it's a current decision. */
const isDecision = (project: Project, filter: DecisionFilter): SQL | undefined =>
  and(isCounted, filter.state && eq(reviews.state, filter.state), isRecorded(project, filter, reviews))

/** Whether a decision, or a row that counts decisions, was recorded with the values in the filter. */
const isRecorded = (
  project: Project,
  { errorType, reviewerId, stepId, promptVersionIds }: DecisionFilter,
  recorded: typeof reviews | typeof reviewDays,
): SQL | undefined =>
  and(
    errorType === undefined ? undefined : eq(recorded.errorType, errorType),
    reviewerId === undefined ? undefined : eq(recorded.userId, reviewerId),
    stepId === undefined ? undefined : isStep(project.key, recorded.stepId, stepId),
    promptVersionIds && isOneOf(recorded.promptVersionId, promptVersionIds),
  )

/** Whether a time is within the filter's days. */
const isInRange = (time: SQLiteColumn, { reviewedFrom, reviewedTo }: DecisionFilter): SQL | undefined =>
  and(
    reviewedFrom === undefined ? undefined : gte(time, reviewedFrom * DAY_MS),
    reviewedTo === undefined ? undefined : lt(time, reviewedTo * DAY_MS),
  )

const EXPIRED = {
  accepted: reviewDays.expiredAccepted,
  corrected: reviewDays.expiredCorrected,
  any: sql`${reviewDays.expiredAccepted} + ${reviewDays.expiredCorrected}`,
}

/**
 * The query for the number of decisions that are counted but can't be listed: their traces have expired, or are waiting
 * to be purged, which will update the counts. Considers at most 5,000 of the waiting traces.
 */
function countGone(store: Store, project: Project, filter: DecisionFilter) {
  const { state, reviewedFrom, reviewedTo } = filter
  const isExpired = and(
    eq(reviewDays.projectKey, project.key),
    isAnyExpired,
    reviewedFrom === undefined ? undefined : gte(reviewDays.day, reviewedFrom),
    reviewedTo === undefined ? undefined : lt(reviewDays.day, reviewedTo),
    isRecorded(project, filter, reviewDays),
  )
  const leaving = sql`(
    select count(*) from ${unpurgedTraces(store)} cross join ${reviews} cross join ${spans}
    where unpurged.project_key = ${project.key} and ${reviews.traceKey} = unpurged.key
      and ${and(isInRange(reviews.createdAt, filter), isDecision(project, filter))}
      and ${spans.id} = ${reviews.spanId} and ${spans.traceKey} = unpurged.key and ${isDecisionInForce})`
  const expired = sql`(
    select coalesce(sum(${EXPIRED[state ?? 'any']}), 0) as expired from ${reviewDays} where ${isExpired}) as scanned`
  // Nested, as in `readStepId`.
  return store.database.select({ count: sql<number>`scanned.expired + ${leaving}`.as('count') }).from(expired)
}

type CaseFilter = DecisionFilter & { problem: ProblemKey }

/** The `number` of a case that applies to a trace as a whole. Its span is the root, which may change. */
const WHOLE_TRACE = -1

/** The query for the next cases of a problem, with the same columns as `selectDecisions`. */
function selectCases(
  store: Store,
  project: Project,
  filter: CaseFilter,
  limit: number,
  after: DecisionPlace | undefined,
) {
  const { from, to } = filter
  const { traceKey, spanId, at } = problemCases
  const order = sql`${desc(at)}, ${desc(traceKey)}, ${desc(spanId)}`
  const scanned = store.database
    .select({
      traceKey,
      spanId,
      at,
      position: sql<number>`row_number() over (order by ${order})`.as('position'),
    })
    .from(problemCases)
    .where(
      and(
        isCaseOf(project, filter, problemCases),
        isNamedBy(filter),
        isInRange(at, filter),
        after &&
          sql`(${at}, ${traceKey}, ${spanId})
            < (${after.createdAt}, ${after.traceKey}, ${after.number === WHOLE_TRACE ? '' : after.spanId})`,
      ),
    )
    .orderBy(order)
    .limit(MAX_SCANNED_DECISIONS)
    .as('scanned')
  const isMatch = isLiveIn(
    store,
    project,
    from === undefined ? undefined : gte(traces.timestamp, from),
    to === undefined ? undefined : lt(traces.timestamp, to),
    matchesNow(filter),
    // The engine's answer determines which problem a case belongs to.
    isAnswerShown(store),
  )
  return store.database
    .select({
      createdAt: sql<number>`${scanned.at}`.as('createdAt'),
      traceKey: sql<number>`${scanned.traceKey}`.as('traceKey'),
      spanId: sql<string>`${spans.id}`.as('spanId'),
      rootSpanId: sql<string>`${traces.rootSpanId}`.as('rootSpanId'),
      number: sql<number>`iif(${scanned.spanId} = '', ${WHOLE_TRACE}, 0)`.as('number'),
      stepId: readStepId(traces.projectKey, spans.stepId).as('stepId'),
      promptVersionId: sql<string>`coalesce(${spans.promptVersionId}, '')`.as('promptVersionId'),
      position: sql<number>`${scanned.position}`.as('position'),
      isMatch: sql<number>`${isMatch}`.as('isMatch'),
    })
    .from(scanned)
    .crossJoin(traces)
    .crossJoin(spans)
    .where(
      sql`${traces.key} = ${scanned.traceKey} and ${spans.traceKey} = ${traces.key}
        and ${spans.id} = coalesce(
          (select own.id from ${spans} as own where own.id = ${scanned.spanId} and own.trace_key = ${scanned.traceKey}),
          ${traces.rootSpanId})
        and (${isMatch} or ${scanned.position} = ${MAX_SCANNED_DECISIONS})`,
    )
    .limit(limit + 1)
}

/** Whether a case, or a row that counts cases, belongs to the filter's problem. */
const isCaseOf = (
  { key }: Project,
  { problem: { stepId, errorType, docSlug } }: CaseFilter,
  counted: typeof problemCases | typeof problemDays,
): SQL | undefined =>
  and(
    eq(counted.projectKey, key),
    isStep(key, counted.stepId, stepId),
    eq(counted.errorType, errorType),
    eq(counted.docSlug, docSlug),
  )

const isNamedBy = ({ namedBy }: CaseFilter): SQL | undefined =>
  namedBy && eq(problemCases.isByEngine, namedBy === 'engine')

const EXPIRED_CASES = {
  reviewer: problemDays.expiredByReviewers,
  engine: problemDays.expiredByEngine,
  any: sql`${problemDays.expiredByReviewers} + ${problemDays.expiredByEngine}`,
}

/** Like `countGone`, for the cases of a problem. */
function countGoneCases(store: Store, project: Project, filter: CaseFilter) {
  const { namedBy, reviewedFrom, reviewedTo } = filter
  const isExpired = and(
    isCaseOf(project, filter, problemDays),
    reviewedFrom === undefined ? undefined : gte(problemDays.day, reviewedFrom),
    reviewedTo === undefined ? undefined : lt(problemDays.day, reviewedTo),
  )
  const leaving = sql`(
    select count(*) from ${unpurgedTraces(store)} cross join ${problemCases}
    where unpurged.project_key = ${project.key} and ${problemCases.traceKey} = unpurged.key
      and ${and(isCaseOf(project, filter, problemCases), isNamedBy(filter), isInRange(problemCases.at, filter))})`
  const expired = sql`(
    select coalesce(sum(${EXPIRED_CASES[namedBy ?? 'any']}), 0) as expired
    from ${problemDays} where ${isExpired}) as scanned`
  // Nested, as in `readStepId`.
  return store.database.select({ count: sql<number>`scanned.expired + ${leaving}`.as('count') }).from(expired)
}
