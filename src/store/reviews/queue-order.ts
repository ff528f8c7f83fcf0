import { and, asc, desc, type SQL, sql } from 'drizzle-orm'
import { SHUFFLED_TRACES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import type { Store } from '../core/store.ts'
import { isNegative, isOpenForReview, traces } from '../schema/traces.ts'
import { inProject, standsAt, type Time, type TraceFilter, type TracePosition } from '../traces/trace-filter.ts'

/**
 * Orders of the queue, which are orders of traces; the spans of one stand together, as its detail has them. `negative`: those
 * with negative feedback first, then the others, the newest first.
 */
export const QUEUE_ORDERS = ['oldest', 'newest', 'negative', 'random'] as const
type QueueOrder = (typeof QUEUE_ORDERS)[number]

/** What is asked of a project's queue. */
export interface QueueQuery {
  /** `stepId` and `promptVersionId` are asked of the spans themselves. */
  filter: TraceFilter
  order: QueueOrder
  /** Who asks: what others hold is left out. */
  holder: string
  now: number
}

/** Where a span stands in the queue. */
export interface QueuePlace {
  stretch: Stretch
  /** What its trace is sorted by in this stretch, then by its id: a time, or a place in a shuffled order. */
  at: number
  traceUuid: string
  /** Then the root, 0, before the others, 1, by their times and ids. */
  rank: number
  timestamp: number
  spanId: string
}

/** A part of a project's traces, in one order; the queue is one or several of them, one after the other. */
export interface Stretch {
  /** Of the order `negative`: 0, those with negative feedback; 1, the others. Of `random`: what shuffles; else 0. */
  key: number
  /** Of `random`: the traces before `from` down to `until`, by time. */
  from: TracePosition
  until: TracePosition
  /** Of `random`: when it began, before which traces come first. */
  start: number
}

const LATEST: TracePosition = { timestamp: Number.MAX_SAFE_INTEGER, id: '' }
const EARLIEST: TracePosition = { timestamp: Number.MIN_SAFE_INTEGER, id: '' }
const ALL = { from: LATEST, until: EARLIEST, start: LATEST.timestamp }

/**
 * The first stretch of an order. A random one shuffles 5,000 traces at a time: where there are more, it begins at a time
 * drawn between the first and the last of them, goes back in time, and on from the newest.
 */
export async function firstStretch(store: Store, project: Project, query: QueueQuery): Promise<Stretch> {
  if (query.order !== 'random') return { key: 0, ...ALL }
  const key = 1 + Math.floor(Math.random() * (SHUFFLE_PRIME - 1))
  const newest = await shuffledFrom(store, project, query, { key, ...ALL })
  if (newest.until.timestamp === EARLIEST.timestamp) return newest
  const [from, to] = await Promise.all([asc, desc].map(order => edgeOf(store, project, query, order)))
  const start = (from ?? 0) + Math.ceil(Math.random() * ((to ?? 0) - (from ?? 0)))
  return shuffledFrom(store, project, query, { key, from: { timestamp: start, id: '' }, until: EARLIEST, start })
}

/** The stretches that one page may come from: a first one that few traces are in, and the one after it. */
export const stretchesFrom = (first: Stretch, { order }: QueueQuery): Stretch[] =>
  order === 'negative' && first.key === 0 ? [first, { ...first, key: 1 }] : [first]

/** Where the queue goes on after the stretches of a page that are through; null where it ends. */
export async function nextStretch(
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
  const stretch = await shuffledFrom(store, project, query, { key, ...rest, start })
  return { stretch, at: -1, traceUuid: '', rank: 0, timestamp: 0, spanId: '' }
}

/** The newest part of a stretch that is shuffled at once. Its bounds stay, so that what is reviewed meanwhile moves none across. */
async function shuffledFrom(store: Store, project: Project, query: QueueQuery, whole: Stretch): Promise<Stretch> {
  const { time, where, from } = inProject(store, project, query.filter, undefined, time =>
    isOpenWithin(query, time, whole),
  )
  const [last] = await from(store.database.select({ timestamp: traces.timestamp, id: traces.id }))
    .where(where)
    .orderBy(desc(time), desc(traces.id))
    .limit(1)
    .offset(SHUFFLED_TRACES - 1)
  return { ...whole, until: last ?? whole.until }
}

/** The time of the first or the last trace that is open for review. */
async function edgeOf(store: Store, project: Project, query: QueueQuery, order: typeof asc) {
  const { time, where, from } = inProject(store, project, query.filter, undefined, () => isOpen(query))
  const [edge] = await from(store.database.select({ timestamp: traces.timestamp }))
    .where(where)
    .orderBy(order(time))
    .limit(1)
  return edge?.timestamp
}

/**
 * Whether a trace may have something to review. Where other spans than a pipeline's steps are asked for, too, any trace may:
 * they do not keep one open.
 */
export const isOpen = ({ filter: { kind } }: QueueQuery): SQL => (kind === 'all' ? sql`true` : isOpenForReview)

/** Whether a trace is of the stretch of a random order, and open for review. */
const isOpenWithin = (query: QueueQuery, time: Time, { from, until }: Stretch) =>
  and(isOpen(query), standsAt(time, '<', from), standsAt(time, '>=', until))

/** A prime that a product of two smaller numbers leaves exact. */
const SHUFFLE_PRIME = 1_000_003

/**
 * A place in a shuffled order: multiplying by a factor moves every remainder of a prime to another place. Of cubes, for the
 * keys of traces that came together follow one another, and would go on doing so, a step apart.
 */
const shuffled = (factor: number): SQL<number> => {
  const prime = sql.raw(String(SHUFFLE_PRIME))
  const remainder = sql`(${traces.key} % ${prime})`
  const cube = sql`(${remainder} * ${remainder} % ${prime} * ${remainder} % ${prime})`
  return sql<number>`(${cube} * ${factor} % ${prime})`
}

/** The traces of a stretch that are open for review, from a place on: where to read, what they are to be, and their order. */
export function tracesOf(
  store: Store,
  project: Project,
  query: QueueQuery,
  stretch: Stretch,
  after: QueuePlace | undefined,
) {
  const { filter, order } = query
  const { key } = stretch
  const place = after && { timestamp: after.at, id: after.traceUuid }
  if (order === 'random') {
    const by = shuffled(key)
    const found = inProject(store, project, filter, undefined, time =>
      and(isOpenWithin(query, time, stretch), place && sql`(${by}, ${traces.id}) >= (${place.timestamp}, ${place.id})`),
    )
    return { ...found, by, direction: asc }
  }
  const found = inProject(store, project, filter, undefined, time =>
    and(
      order === 'negative' ? partOf(query, key) : isOpen(query),
      place && standsAt(time, order === 'oldest' ? '>=' : '<=', place),
    ),
  )
  return { ...found, by: found.time, direction: order === 'oldest' ? asc : desc }
}

/** The two parts of the order `negative`. The plus keeps an index out of it: few traces have negative feedback. */
const partOf = (query: QueueQuery, key: number): SQL =>
  key === 0 ? sql`${isNegative} and +${isOpen(query)}` : sql`${isOpen(query)} and ${traces.isNegative} = 0`
