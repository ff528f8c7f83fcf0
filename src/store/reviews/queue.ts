import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import { isReviewed } from '../../domain/review-state.ts'
import type { PayloadMode } from '../../domain/span.ts'
import { DAY_MS, MAX_COUNTED_TRACES, MAX_REMAINING } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, inShard, mergePages, readAllShards, readShards, showPlaced } from '../core/across.ts'
import { isAssignedTo } from '../core/assignees.ts'
import { readLists, readPlain } from '../core/database.ts'
import { isPicked } from '../core/review-policy.ts'
import { isReviewedWithOther, isUnreviewed, isUnreviewedStep, ofTrace } from '../core/reviewable.ts'
import { isStep } from '../core/step-names.ts'
import type { Store, Viewer } from '../core/store.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { findSpans, type LocatedSpan } from '../spans/located-spans.ts'
import { shownLength } from '../spans/shared-review.ts'
import {
  endOf,
  mergeScans,
  placesIn,
  type ScannedTrace,
  type SpanPlace,
  scanForSpans,
} from '../spans/spans-in-traces.ts'
import { inProject, matches, type TraceFilter } from '../traces/trace-filter.ts'
import {
  findFirstStretch,
  findNextStretch,
  isNewestFirst,
  partIn,
  partsOf,
  type QueuePlace,
  type QueueQuery,
  queueOrder,
  type Stretch,
  searchedTraces,
  stretchesFrom,
  tracesToSearch,
} from './queue-order.ts'
import { reviewedOn, toToday } from './reviewed-on.ts'
import { hasPlaceFor } from './votes.ts'

/** A page of the queue, the number of spans left, and today's reviews. */
export interface QueuePage {
  spans: LocatedSpan[]
  nextPlace: QueuePlace | null
  /** At most 10,000. */
  remaining: number
  /** Whether there may be more than `remaining`. */
  remainingIsMinimum: boolean
  /** For the order `mine`: how many of the remaining spans are assigned to the reviewer. */
  mine: number | undefined
  /** The number of spans that each reviewer has reviewed since midnight UTC. */
  today: { userId: string; reviewed: number }[]
}

/**
 * A page of a project's unreviewed spans with an output. Takes two round trips and R2 reads, one more round trip if
 * people voted or agents suggested decisions on the spans, and up to two more at the start of a random order. Scans at
 * most 5,000 traces in each database, so the page may be short even if more spans follow.
 */
export async function readQueue(
  store: Store,
  project: Project,
  query: QueueQuery,
  { limit, after, mode }: { limit: number; after: QueuePlace | undefined; mode: PayloadMode },
): Promise<QueuePage> {
  const first = after?.stretch ?? (await findFirstStretch(store, project, query))
  const stretches = stretchesFrom(first, query)
  const pages = await readShards(store, shard => readQueueIn(shard, project, query, stretches, { limit, after }))
  const { items: places, nextPlace: resumeAt } = mergeQueues(pages, query, limit)
  const { shown, count } = await showQueued(store, places, mode)
  const lastPlace = count < places.length ? places[count - 1] : resumeAt
  const counted = pages.flatMap(page => page.counted)
  const remaining = counted.reduce((sum, { found }) => sum + found, 0)
  return {
    // Since the places were read, a span may have been reviewed, its output may have been replaced by null, or a root
    // in another project may have taken its id.
    spans: shown
      .map(each => each.shown)
      .filter(({ output, review }) => output.text !== 'null' && !isReviewed(review))
      .filter(({ projectKey }) => projectKey === project.key),
    nextPlace: lastPlace ?? (await findNextStretch(store, project, query, first)),
    remaining: Math.min(remaining, MAX_REMAINING),
    remainingIsMinimum:
      remaining > MAX_REMAINING || counted.some(({ scannedTraces }) => scannedTraces === MAX_COUNTED_TRACES),
    mine: query.order === 'mine' ? pages.reduce((sum, { counted }) => sum + (counted[0]?.found ?? 0), 0) : undefined,
    today: toToday(pages.flatMap(page => page.reviewed)),
  }
}

/** Shows as many spans of the queue as fit on a page, and returns how many fit. */
export const showQueued = <Place extends InShard<{ spanId: string }>>(
  store: Store,
  places: readonly Place[],
  mode: PayloadMode,
) =>
  showPlaced<Place, LocatedSpan>(
    store,
    places,
    async (shard, own, maxBytes) => {
      const ids = own.map(({ spanId }) => spanId)
      const { found, count } = await findSpans(shard, ids, mode, maxBytes)
      const shown = own.slice(0, count).flatMap(place => {
        const span = found.get(place.spanId)
        return span ? [[place, span] as const] : []
      })
      return { shown: new Map(shown), count }
    },
    shownLength,
  )

/** Finds the next spans in one database, and counts the spans that are left there. */
async function readQueueIn(
  store: Store,
  project: Project,
  query: QueueQuery,
  stretches: readonly Stretch[],
  { limit, after }: { limit: number; after: QueuePlace | undefined },
) {
  const today = Math.floor(query.now / DAY_MS)
  const searches = stretches.map(stretch =>
    candidates(store, project, query, stretch, limit, after?.stretch === stretch ? after : undefined),
  )
  const [counts, [reviewed = []], scans] = await readLists(store.database, [
    // In one statement, the parts of `mine` would exceed the limit of 100 parameters.
    partsOf(query).map(part => countRemaining(store, project, part)),
    [reviewedOn(store, project, { from: today, to: today + 1 })],
    searches.flat(),
  ])
  const { places, resumeAt } = placesInStretches(stretches, mergeSearches(searches, scans, query), limit)
  return { items: inShard(store, places), nextPlace: resumeAt ?? null, counted: counts.flat(), reviewed }
}

const mergeQueues = (
  pages: readonly { items: InShard<QueuePlace>[]; nextPlace: QueuePlace | null }[],
  query: QueueQuery,
  limit: number,
) => mergePages<InShard<QueuePlace>, QueuePlace>(pages, { limit, placeOf: place => place, compare: queueOrder(query) })

/**
 * Finds spans in the queue that also meet a condition, without their values. Takes one round trip. Scans at most 5,000
 * traces in each database, so it may return fewer than `limit` spans even if more follow. Throws if a database doesn't
 * respond.
 */
export async function findInQueue(
  store: Store,
  project: Project,
  query: QueueQuery,
  { limit, after, isSpan }: { limit: number; after: QueuePlace | undefined; isSpan: SQL | undefined },
): Promise<{ places: InShard<QueuePlace>[]; nextPlace: QueuePlace | null }> {
  const first = after?.stretch ?? (await findFirstStretch(store, project, query))
  const stretches = stretchesFrom(first, query)
  const pages = await readAllShards(store, async shard => {
    const searches = stretches.map(stretch => candidates(shard, project, query, stretch, limit, after, isSpan))
    const scans = await readPlain(shard.database, searches.flat())
    const { places, resumeAt } = placesInStretches(stretches, mergeSearches(searches, scans, query), limit)
    return { items: inShard(shard, places), nextPlace: resumeAt ?? null }
  })
  const { items, nextPlace: resumeAt } = mergeQueues(pages, query, limit)
  return { places: items, nextPlace: resumeAt ?? (await findNextStretch(store, project, query, first)) }
}

/** The queries for a stretch's next traces with spans to review. */
function candidates(
  store: Store,
  project: Project,
  query: QueueQuery,
  stretch: Stretch,
  limit: number,
  after: QueuePlace | undefined,
  isSpan?: SQL,
) {
  const part = partIn(query, stretch)
  return tracesToSearch(store, project, part, stretch, after).map(({ from, by, where, direction }) =>
    scanForSpans(store, {
      from,
      where,
      by,
      order: sql.join([direction(by), direction(traces.id)], sql`, `),
      isTrace: matches(store, project, ofTraces(part)),
      isSpan: and(isAvailable(store, project, part), isSpan),
      limit,
      after,
    }),
  )
}

/** Merges the traces that each stretch's queries found into one scan per stretch. */
const mergeSearches = (
  searches: readonly (readonly unknown[])[],
  scans: readonly (readonly ScannedTrace[])[],
  query: QueueQuery,
): ScannedTrace[][] =>
  searches.map((parts, index) => {
    const start = searches.slice(0, index).flat().length
    return mergeScans(scans.slice(start, start + parts.length), isNewestFirst(query))
  })

const ofTraces = ({ filter }: QueueQuery): TraceFilter => ({
  ...filter,
  stepId: undefined,
  promptVersionId: undefined,
})

/**
 * Whether the queue offers a span: it needs review; the project's policy selects it, or it's assigned to the requested
 * user; it still has room for the reviewer; and it has the requested step and version.
 */
const isAvailable = (
  viewer: Viewer,
  { key }: Project,
  { filter: { stepId, promptVersionId, kind }, all, assignee, holder, now }: QueueQuery,
): SQL | undefined =>
  and(
    kind === 'all' ? sql`(${isUnreviewed} and not ${isReviewedWithOther})` : isUnreviewedStep,
    holder === undefined ? undefined : hasPlaceFor(holder, now),
    assignee === undefined ? undefined : isAssignedTo(assignee),
    all || assignee ? undefined : isPicked(key, viewer),
    stepId === undefined ? undefined : isStep(key, spans.stepId, stepId),
    promptVersionId === undefined ? undefined : eq(spans.promptVersionId, promptVersionId),
  )

/**
 * The places of up to `limit` spans, and the place to continue from, which is undefined if it's in the next stretch.
 */
function placesInStretches(
  stretches: readonly Stretch[],
  found: readonly (readonly ScannedTrace[])[],
  limit: number,
): { places: QueuePlace[]; resumeAt: QueuePlace | undefined } {
  const places: QueuePlace[] = []
  for (const [index, stretch] of stretches.entries()) {
    const scanned = found[index] ?? []
    const inStretch = (place: SpanPlace): QueuePlace => ({ stretch, ...place })
    places.push(...placesIn(scanned).map(inStretch))
    if (places.length > limit) return { places: places.slice(0, limit), resumeAt: places[limit - 1] }
    const end = endOf(scanned)
    if (end) return { places, resumeAt: inStretch(end) }
  }
  return { places, resumeAt: undefined }
}

/**
 * Counts the spans of a part of the queue, up to one more than the maximum of `remaining`, and the traces scanned to
 * find them.
 */
function countRemaining(store: Store, project: Project, query: QueueQuery) {
  const searches = searchedTraces(project, query).map((isSearched, index) => {
    const { from, time, where } = inProject(store, project, query.filter, undefined, isSearched)
    return from(store.database.select({ key: traces.key, search: sql`${sql.raw(String(index))}`.as('search') }))
      .where(where)
      .orderBy(desc(time), desc(traces.id))
      .limit(MAX_COUNTED_TRACES)
  })
  const scanned = sql`(${sql.join(
    searches.map(search => sql`select * from ${search}`),
    sql` union all `,
  )}) as scanned`
  const isMatch = sql`${traces.key} = scanned.key and ${matches(store, project, ofTraces(query)) ?? sql`true`}`
  return store.database
    .select({
      scannedTraces: sql<number>`max(sum(scanned.search = 0), sum(scanned.search = 1))`.as('scannedTraces'),
      found: sql<number>`(select count(*) from (
          select 1 from ${scanned} cross join ${traces} cross join ${spans}
          where ${isMatch} and ${and(ofTrace, isAvailable(store, project, query))} limit ${MAX_REMAINING + 1}))`.as(
        'found',
      ),
    })
    .from(scanned)
}
