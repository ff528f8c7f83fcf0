import { and, asc, desc, eq, gte, lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { PayloadMode } from '../../domain/span.ts'
import { DAY_MS, MAX_COUNTED_TRACES, MAX_REMAINING, MAX_SCANNED_DECISIONS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, inShard, mergePages, placeOrder, readShards } from '../core/across.ts'
import { isAssignedTo } from '../core/assignees.ts'
import { readPlain } from '../core/database.ts'
import { isFree, isReviewedWithOther, isUnreviewed } from '../core/reviewable.ts'
import { pageFromScan } from '../core/scanned.ts'
import { isStep } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { disputes } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLiveIn } from '../traces/live.ts'
import { hasFields, matches, type TraceFilter } from '../traces/trace-filter.ts'
import { type QueuePage, showQueued } from './queue.ts'
import { reviewedOn, toToday } from './reviewed-on.ts'
import { isDisputed } from './votes.ts'

/** A query on a project's disputed spans. */
export interface DisputedQuery {
  /** `stepId` and `promptVersionId` apply to the spans themselves. */
  filter: TraceFilter
  /** Sorted by the time of the vote that completed the round. */
  order: 'oldest' | 'newest'
  /** The calling adjudicator. Spans that others have claimed are left out. */
  holder: string
  now: number
  /** The user whose assigned spans to list. Null: the unassigned spans. */
  assignee: string | null | undefined
}

/** The position of a disputed span. */
export interface DisputedPlace {
  disputedAt: number
  traceKey: number
  spanId: string
}

type DisputedPage = Pick<QueuePage, 'spans' | 'remaining' | 'remainingIsMinimum' | 'today'> & {
  nextPlace: DisputedPlace | null
}

/**
 * A page of a project's disputed spans, with the same counts as a page of the queue. Takes three round trips, the last
 * one for the votes, and R2 reads. Scans at most 5,000 disputes, some of which may have ended because an output
 * changed, so the page may be short even if more spans follow.
 */
export async function readDisputed(
  store: Store,
  project: Project,
  query: DisputedQuery,
  { limit, after, mode }: { limit: number; after: DisputedPlace | undefined; mode: PayloadMode },
): Promise<DisputedPage> {
  const today = Math.floor(query.now / DAY_MS)
  const pages = await readShards(store, async shard => {
    const [rows, [counted], reviewed] = await readPlain(shard.database, [
      selectPage(shard, project, query, limit, after),
      countDisputed(shard, project, query),
      reviewedOn(shard, project, { from: today, to: today + 1 }),
    ])
    const { items, nextPlace } = pageFromScan(rows, limit, MAX_SCANNED_DECISIONS)
    return { items: inShard(shard, items), nextPlace, counted, reviewed }
  })
  const inOrder = placeOrder(query.order === 'oldest' ? 'ascending' : 'descending')
  const { items, nextPlace } = mergePages<InShard<DisputedPlace>, DisputedPlace>(pages, {
    limit,
    placeOf: place => place,
    compare: (one, other) => inOrder(valuesOf(one), valuesOf(other)),
  })
  const { shown, count } = await showQueued(store, items, mode)
  const remaining = pages.reduce((sum, { counted }) => sum + (counted?.found ?? 0), 0)
  return {
    // A span may have been decided in the meantime, or a root in another project may have taken its id.
    spans: shown.map(each => each.shown).filter(span => span.isDisputed && span.projectKey === project.key),
    nextPlace: count < items.length ? (items[count - 1] ?? null) : nextPlace,
    remaining: Math.min(remaining, MAX_REMAINING),
    remainingIsMinimum:
      remaining > MAX_REMAINING || pages.some(({ counted }) => counted?.scanned === MAX_COUNTED_TRACES),
    today: toToday(pages.flatMap(page => page.reviewed)),
  }
}

/**
 * The values that the list is sorted by. The trace's key only breaks ties between disputes from the same millisecond.
 */
const valuesOf = ({ disputedAt, traceKey, spanId }: DisputedPlace) => [disputedAt, traceKey, spanId]

const PLACE = [disputes.disputedAt, disputes.traceKey, disputes.spanId]

/** Selects the next matching disputes, and the last one that the page scans. */
function selectPage(
  store: Store,
  project: Project,
  query: DisputedQuery,
  limit: number,
  after: DisputedPlace | undefined,
) {
  const direction = query.order === 'oldest' ? asc : desc
  const order = sql.join(PLACE.map(direction), sql`, `)
  const follows = sql.raw(query.order === 'oldest' ? '>' : '<')
  const scanned = store.database
    .select({
      disputedAt: disputes.disputedAt,
      traceKey: disputes.traceKey,
      spanId: disputes.spanId,
      position: sql<number>`row_number() over (order by ${order})`.as('position'),
    })
    .from(disputes)
    .where(
      and(
        eq(disputes.projectKey, project.key),
        after &&
          sql`(${sql.join(PLACE, sql`, `)}) ${follows} (${after.disputedAt}, ${after.traceKey}, ${after.spanId})`,
      ),
    )
    .orderBy(order)
    .limit(MAX_SCANNED_DECISIONS)
    .as('scanned')
  const isMatch = isOpenDispute(store, project, query, scanned)
  return store.database
    .select({
      disputedAt: sql<number>`${scanned.disputedAt}`.as('disputedAt'),
      traceKey: sql<number>`${scanned.traceKey}`.as('traceKey'),
      spanId: sql<string>`${scanned.spanId}`.as('spanId'),
      position: sql<number>`${scanned.position}`.as('position'),
      isMatch: sql<number>`${isMatch}`.as('isMatch'),
    })
    .from(scanned)
    .where(sql`(${isMatch} or ${scanned.position} = ${MAX_SCANNED_DECISIONS})`)
    .limit(limit + 1)
}

/**
 * Counts the matching disputes, up to one more than the maximum of `remaining`, and the disputes scanned to find them.
 */
function countDisputed(store: Store, project: Project, query: DisputedQuery) {
  const scanned = store.database
    .select({ traceKey: disputes.traceKey, spanId: disputes.spanId })
    .from(disputes)
    .where(eq(disputes.projectKey, project.key))
    .limit(MAX_COUNTED_TRACES)
    .as('scanned')
  const isMatch = isOpenDispute(store, project, query, scanned)
  return store.database
    .select({
      scanned: sql<number>`count(*)`.as('scanned'),
      found: sql<number>`(select count(*) from (
        select 1 from ${scanned} where ${isMatch} limit ${MAX_REMAINING + 1}))`.as('found'),
    })
    .from(scanned)
}

/** Whether a dispute is still open, on a span that matches the filter and that no other adjudicator has claimed. */
function isOpenDispute(
  store: Store,
  project: Project,
  { filter, holder, now, assignee }: DisputedQuery,
  { traceKey, spanId }: { traceKey: SQLWrapper; spanId: SQLWrapper },
): SQL {
  const { stepId, promptVersionId, from, to, fields } = filter
  const isTrace = isLiveIn(
    store,
    project,
    from === undefined ? undefined : gte(traces.timestamp, from),
    to === undefined ? undefined : lt(traces.timestamp, to),
    matches(store, project, { ...filter, stepId: undefined, promptVersionId: undefined, fields: [] }),
    fields.length > 0 ? hasFields(project, fields) : undefined,
  )
  const isSpan = and(
    isUnreviewed,
    sql`not ${isReviewedWithOther}`,
    isDisputed,
    isFree(holder, now),
    assignee === undefined ? undefined : isAssignedTo(assignee),
    stepId === undefined ? undefined : isStep(project.key, spans.stepId, stepId),
    promptVersionId === undefined ? undefined : eq(spans.promptVersionId, promptVersionId),
  )
  return sql`exists (select 1 from ${spans} cross join ${traces}
    where ${spans.id} = ${spanId} and ${spans.traceKey} = ${traceKey} and ${traces.key} = ${spans.traceKey}
      and ${isTrace} and ${isSpan})`
}
