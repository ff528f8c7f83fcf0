import { and, asc, desc, lte, or, type SQL, sql } from 'drizzle-orm'
import { SHUFFLED_TRACES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { readShards } from '../core/across.ts'
import { ASSIGNED, type Assignee } from '../core/assignees.ts'
import { named, readPlain } from '../core/database.ts'
import { isNegativeTo } from '../core/ratings.ts'
import type { Store } from '../core/store.ts'
import { reviewPolicies } from '../schema/review-policies.ts'
import { isLeftOut, isOpenForReview, mayNeedReview, traces } from '../schema/traces.ts'
import { type SpanPlace, spanOrder } from '../spans/spans-in-traces.ts'
import {
  inProject,
  newestFirst,
  positionIs,
  type Time,
  type TraceFilter,
  type TracePosition,
} from '../traces/trace-filter.ts'

/**
 * The orders of the queue. They order traces; the spans of a trace stay together, in the order in which the trace lists
 * them. `negative` puts traces with negative feedback first, then the others, each newest first. `due` is for the spans
 * that are assigned to one user: it sorts traces by the earliest due date of their spans. `mine` puts the calling
 * reviewer's spans first, by due date, then unassigned spans, oldest first, and leaves out all others.
 */
export const QUEUE_ORDERS = ['oldest', 'newest', 'negative', 'random', 'due', 'mine'] as const
type QueueOrder = (typeof QUEUE_ORDERS)[number]

/** A query on a project's queue. */
export interface QueueQuery {
  /** `stepId` and `promptVersionId` apply to the spans themselves. */
  filter: TraceFilter
  order: QueueOrder
  /** Whether to include the spans that the project's policy leaves out. */
  all: boolean
  /** The user whose assigned spans to list. If set, `filter.assigneeId` is the same user. */
  assignee: Assignee | undefined
  /** The calling reviewer. Spans that others have claimed are left out. If undefined, no spans are left out. */
  holder: string | undefined
  now: number
}

/** A span's position in the queue. Its trace is sorted by a time or by a position in a shuffled order. */
export interface QueuePlace extends SpanPlace {
  stretch: Stretch
}

/** A part of a project's traces in one order. The queue consists of one or more stretches in sequence. */
export interface Stretch {
  /**
   * For `negative`: 0 for traces with negative feedback, 1 for the others. For `mine`: 0 for the reviewer's
   * assignments, 1 for unassigned spans. For `random`: the shuffle factor. Otherwise 0.
   */
  key: number
  /** For `random`: the traces before `from`, back to `until`. */
  from: TracePosition
  until: TracePosition
  /** For `random`: the time at which the first lap began. Earlier traces come first. */
  start: number
}

const LATEST: TracePosition = { timestamp: Number.MAX_SAFE_INTEGER, id: '' }
const EARLIEST: TracePosition = { timestamp: Number.MIN_SAFE_INTEGER, id: '' }
const ALL = { from: LATEST, until: EARLIEST, start: LATEST.timestamp }

/**
 * Returns the first stretch of an order. A random order shuffles 5,000 traces at a time. If there are more, it starts
 * at a random time between the oldest and newest of them, goes back in time, and continues from the newest.
 */
export async function findFirstStretch(store: Store, project: Project, query: QueueQuery): Promise<Stretch> {
  if (query.order !== 'random') return { key: 0, ...ALL }
  const key = 1 + Math.floor(Math.random() * (SHUFFLE_PRIME - 1))
  const newest = await findShuffledStretch(store, project, query, { key, ...ALL })
  if (newest.until.timestamp === EARLIEST.timestamp) return newest
  const [oldest, latest] = await findEdges(store, project, query)
  const start = oldest + Math.ceil(Math.random() * (latest - oldest))
  return findShuffledStretch(store, project, query, { key, from: { timestamp: start, id: '' }, until: EARLIEST, start })
}

/**
 * The stretches that one page may draw from. Few traces have negative feedback or are assigned to the reviewer, so the
 * next stretch is read as well.
 */
export const stretchesFrom = (first: Stretch, { order }: QueueQuery): Stretch[] =>
  (order === 'negative' || order === 'mine') && first.key === 0 ? [first, { ...first, key: 1 }] : [first]

/** The queries that make up a queue. Only `mine` has more than one. */
export function partsOf(query: QueueQuery): [QueueQuery, ...QueueQuery[]] {
  if (query.order !== 'mine') return [query]
  const { holder } = query
  return [
    { ...query, order: 'due', assignee: holder, filter: { ...query.filter, assigneeId: holder } },
    { ...query, order: 'oldest', assignee: null },
  ]
}

/** The query for a stretch. */
export const partIn = (query: QueueQuery, { key }: Stretch): QueueQuery =>
  query.order === 'mine' ? (partsOf(query)[key] ?? query) : query

/** Whether a stretch's traces are in descending order. */
export const isNewestFirst = ({ order }: QueueQuery): boolean => order === 'newest' || order === 'negative'

/** Compares positions in the queue. */
export const queueOrder =
  (query: QueueQuery) =>
  (one: QueuePlace, other: QueuePlace): number =>
    one.stretch.key - other.stretch.key || spanOrder(isNewestFirst(query))(one, other)

/** Finds where the queue continues after a page's stretches. Null at the end of the queue. */
export async function findNextStretch(
  store: Store,
  project: Project,
  query: QueueQuery,
  { key, from, until, start }: Stretch,
): Promise<QueuePlace | null> {
  if (query.order !== 'random') return null
  const isSecondLap = from.timestamp > start || (from.timestamp === start && from.id !== '')
  const end = isSecondLap ? { timestamp: start, id: '' } : EARLIEST
  const isLapOver = until.timestamp === end.timestamp && until.id === ''
  if (isLapOver && (isSecondLap || start === LATEST.timestamp)) return null
  const rest = isLapOver ? { from: LATEST, until: { timestamp: start, id: '' } } : { from: until, until: end }
  const stretch = await findShuffledStretch(store, project, query, { key, ...rest, start })
  return { stretch, at: -1, traceUuid: '', rank: 0, timestamp: 0, spanId: '' }
}

/**
 * Finds the newest part of a stretch, small enough to be shuffled as a whole. The part's bounds stay fixed, so reviews
 * made in the meantime don't move traces across them.
 */
async function findShuffledStretch(
  store: Store,
  project: Project,
  query: QueueQuery,
  whole: Stretch,
): Promise<Stretch> {
  // Reads all databases, so that the stretch has the same bounds in each.
  const found = await readShards(store, shard =>
    readPlain(
      shard.database,
      searchedTraces(project, query).map(isSearched => {
        const { time, where, from } = inProject(shard, project, query.filter, undefined, time =>
          and(isSearched(time), isWithin(time, whole)),
        )
        return from(shard.database.select(named({ timestamp: traces.timestamp, id: traces.id })))
          .where(where)
          .orderBy(desc(time), desc(traces.id))
          .limit(1)
          .offset(SHUFFLED_TRACES - 1)
      }),
    ),
  )
  const [last] = found.flat(2).toSorted(newestFirst)
  return { ...whole, until: last ?? whole.until }
}

/** The times of the oldest and the newest trace that the queue searches. */
async function findEdges(store: Store, project: Project, query: QueueQuery): Promise<[oldest: number, newest: number]> {
  const edges = await readShards(store, shard =>
    readPlain(
      shard.database,
      searchedTraces(project, query).flatMap(isSearched =>
        [asc, desc].map(order => {
          const { time, where, from } = inProject(shard, project, query.filter, undefined, isSearched)
          return from(shard.database.select(named({ timestamp: traces.timestamp })))
            .where(where)
            .orderBy(order(time))
            .limit(1)
        }),
      ),
    ),
  )
  const times = edges.flat(2).map(({ timestamp }) => timestamp)
  // By now, there may be no traces left to search.
  return times.length === 0 ? [0, 0] : [Math.min(...times), Math.max(...times)]
}

/**
 * The traces that may have something to review, in parts that an index keeps in order: open traces and, if the query
 * asks for them or the policy has changed in the meantime, traces that the policy left out. If the query includes spans
 * that aren't steps of a pipeline, these are all traces, because such spans don't keep a trace open.
 */
export const searchedTraces = (
  { key }: Project,
  { filter: { kind, assigneeId }, all }: QueueQuery,
): ((time: Time) => SQL | undefined)[] => {
  if (kind === 'all') return [() => undefined]
  // The search starts from the user's assignments, whether or not the policy selects them.
  if (assigneeId !== undefined) return [() => mayNeedReview]
  // Unless a pass is checking the traces that were left out, this is null, and SQLite reads none of them.
  const passed = sql`(select ${reviewPolicies.passTimestamp} from ${reviewPolicies}
    where ${reviewPolicies.projectKey} = ${key} and ${reviewPolicies.isPassOverLeftOut} = 1)`
  return [() => isOpenForReview, time => and(isLeftOut, all ? undefined : lte(time, passed))]
}

/** Whether a trace is in a stretch of a random order. */
const isWithin = (time: Time, { from, until }: Stretch) =>
  and(positionIs(time, '<', from), positionIs(time, '>=', until))

/** A prime that's small enough for the product of two remainders to be exact. */
const SHUFFLE_PRIME = 1_000_003

/**
 * A trace's place in a shuffled order. Multiplication by a factor permutes the remainders modulo a prime. The keys are
 * cubed first, because traces that arrived together have consecutive keys, which would otherwise stay evenly spaced.
 */
const shuffled = (factor: number): SQL<number> => {
  const prime = sql.raw(String(SHUFFLE_PRIME))
  const remainder = sql`(${traces.key} % ${prime})`
  const cube = sql`(${remainder} * ${remainder} % ${prime} * ${remainder} % ${prime})`
  return sql<number>`(${cube} * ${factor} % ${prime})`
}

/**
 * Returns how to select a stretch's traces to search, starting from a place: the tables, the condition, and the order.
 * There may be several parts, all with the same order.
 */
export function tracesToSearch(
  store: Store,
  project: Project,
  query: QueueQuery,
  stretch: Stretch,
  after: QueuePlace | undefined,
) {
  const { filter, order } = query
  const { key } = stretch
  const place = after && { timestamp: after.at, id: after.traceUuid }
  const parts = searchedTraces(project, query)
  if (order === 'random') {
    const by = shuffled(key)
    return parts.map(isSearched => {
      const found = inProject(store, project, filter, undefined, time =>
        and(
          isSearched(time),
          isWithin(time, stretch),
          place && sql`(${by}, ${traces.id}) >= (${place.timestamp}, ${place.id})`,
        ),
      )
      return { ...found, by, direction: asc }
    })
  }
  if (order === 'due') {
    const by = sql<number>`${ASSIGNED.dueAt}`
    return parts.map(isSearched => {
      const found = inProject(store, project, filter, undefined, time =>
        and(isSearched(time), place && sql`(${by}, ${traces.id}) >= (${place.timestamp}, ${place.id})`),
      )
      return { ...found, by, direction: asc }
    })
  }
  const inOrder = (isSearched: (time: Time) => SQL | undefined) => {
    const found = inProject(store, project, filter, undefined, time =>
      and(isSearched(time), place && positionIs(time, isNewestFirst(query) ? '<=' : '>=', place)),
    )
    return { ...found, by: found.time, direction: isNewestFirst(query) ? desc : asc }
  }
  if (order !== 'negative') return parts.map(inOrder)
  const isNegative = isNegativeTo(store)
  const isOther = store.isBlind ? sql`not (${isNegative})` : sql`${traces.isNegative} = 0`
  if (key !== 0) return parts.map(isSearched => inOrder(time => and(isSearched(time), isOther)))
  // Few traces have negative feedback, so the plus keeps SQLite from using the indexes on open traces.
  return [inOrder(time => sql`(${isNegative} and +${or(...parts.map(isSearched => isSearched(time) ?? sql`true`))})`)]
}
