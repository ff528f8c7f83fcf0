import { and, asc, desc, eq, gte, ne, or, type SQL, sql } from 'drizzle-orm'
import type { PayloadMode } from '../domain/span.ts'
import { MAX_COUNTED_TRACES, MAX_REMAINING, MAX_SCANNED_TRACES, SHUFFLED_TRACES } from '../limits.ts'
import { readPlain } from './database.ts'
import type { Project } from './projects.ts'
import { isFree, isToReview, ofTrace } from './reviewable.ts'
import { isNegative, isOpenForReview, reviews, spans, traces } from './schema.ts'
import { findSpans, type LocatedSpan } from './span-detail.ts'
import type { Store } from './store.ts'
import { inProject, matches, standsAt, type Time, type TraceFilter, type TracePosition } from './trace-filter.ts'

/**
 * Orders of the queue, which are orders of traces; the spans of one stand together, as its detail has them. `negative`: those
 * with negative feedback first, then the others, the newest first.
 */
export const QUEUE_ORDERS = ['oldest', 'newest', 'negative', 'random'] as const
export type QueueOrder = (typeof QUEUE_ORDERS)[number]

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

/** A page of the queue, how much is left in all, and what was done today. */
export interface QueuePage {
  spans: LocatedSpan[]
  nextPlace: QueuePlace | null
  /** Up to 10,000. */
  remaining: number
  /** Whether there may be more. */
  remainingIsMinimum: boolean
  /** Spans that each reviewer reviewed since midnight, UTC. */
  today: { userId: string; reviewed: number }[]
}

/**
 * A page of a project's unreviewed spans with an output, in two round trips (a random order begins with up to two more), and
 * reads of R2. It looks at 5,000 traces at
 * most: it may be short although more follow.
 */
export async function readQueue(
  store: Store,
  project: Project,
  query: QueueQuery,
  { limit, after, mode }: { limit: number; after: QueuePlace | undefined; mode: PayloadMode },
): Promise<QueuePage> {
  const first = after?.stretch ?? (await firstStretch(store, project, query))
  const stretches = query.order === 'negative' && first.key === 0 ? [first, { ...first, key: 1 }] : [first]
  const [counted, today, ...found] = await readPlain(store.database, [
    countRemaining(store, project, query),
    reviewedSince(store, project, query.now - (query.now % DAY_MS)),
    ...stretches.map(stretch =>
      candidates(store, project, query, stretch, limit, after?.stretch === stretch ? after : undefined),
    ),
  ])
  const { places, resumeAt } = placesIn(stretches, found, limit)
  const details = await findSpans(
    store,
    places.map(({ spanId }) => spanId),
    mode,
  )
  const remaining = counted[0]?.found ?? 0
  return {
    // An output may have been reviewed, or taken back by a null, since the places were read.
    spans: places
      .flatMap(({ spanId }) => details.get(spanId) ?? [])
      .filter(({ output, review }) => output.text !== 'null' && !review),
    nextPlace: resumeAt ?? (await nextStretch(store, project, query, first)),
    remaining: Math.min(remaining, MAX_REMAINING),
    remainingIsMinimum: remaining > MAX_REMAINING || counted[0]?.looked === MAX_COUNTED_TRACES,
    today: today.toSorted((left, right) => right.reviewed - left.reviewed),
  }
}

const DAY_MS = 86_400_000

/**
 * The first stretch of an order. A random one shuffles 5,000 traces at a time: where there are more, it begins at a time
 * drawn between the first and the last of them, goes back in time, and on from the newest.
 */
async function firstStretch(store: Store, project: Project, query: QueueQuery): Promise<Stretch> {
  if (query.order !== 'random') return { key: 0, ...ALL }
  const key = 1 + Math.floor(Math.random() * (SHUFFLE_PRIME - 1))
  const newest = await shuffledFrom(store, project, query, { key, ...ALL })
  if (newest.until.timestamp === EARLIEST.timestamp) return newest
  const [from, to] = await Promise.all([asc, desc].map(order => edgeOf(store, project, query, order)))
  const start = (from ?? 0) + Math.ceil(Math.random() * ((to ?? 0) - (from ?? 0)))
  return shuffledFrom(store, project, query, { key, from: { timestamp: start, id: '' }, until: EARLIEST, start })
}

/** Where the queue goes on after a stretch that is through; null where it ends. */
async function nextStretch(
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
async function shuffledFrom(store: Store, project: Project, { filter }: QueueQuery, whole: Stretch): Promise<Stretch> {
  const { time, where, from } = inProject(store, project, filter, undefined, time => isOpenWithin(time, whole))
  const [last] = await from(store.database.select({ timestamp: traces.timestamp, id: traces.id }))
    .where(where)
    .orderBy(desc(time), desc(traces.id))
    .limit(1)
    .offset(SHUFFLED_TRACES - 1)
  return { ...whole, until: last ?? whole.until }
}

/** The time of the first or the last trace that is open for review. */
async function edgeOf(store: Store, project: Project, { filter }: QueueQuery, order: typeof asc) {
  const { time, where, from } = inProject(store, project, filter, undefined, () => isOpenForReview)
  const [edge] = await from(store.database.select({ timestamp: traces.timestamp }))
    .where(where)
    .orderBy(order(time))
    .limit(1)
  return edge?.timestamp
}

/** Whether a trace is of the stretch of a random order, and open for review. */
const isOpenWithin = (time: Time, { from, until }: Stretch) =>
  and(isOpenForReview, standsAt(time, '<', from), standsAt(time, '>=', until))

/** A prime that a product of two smaller numbers leaves exact. */
const SHUFFLE_PRIME = 1_000_003

/** A place in a shuffled order: multiplying by a factor moves every remainder of a prime to another place. */
const shuffled = (factor: number): SQL<number> =>
  sql<number>`((${traces.key} % ${SHUFFLE_PRIME}) * ${factor} % ${SHUFFLE_PRIME})`

/** Traces of a stretch, in its order, those first that have spans to review: as JSON, `[isRoot, timestamp, id]` of each span. */
function candidates(
  store: Store,
  project: Project,
  query: QueueQuery,
  stretch: Stretch,
  limit: number,
  after: QueuePlace | undefined,
) {
  const { from, by, where } = tracesOf(store, project, query, stretch, after)
  const ordered = query.order === 'oldest' || query.order === 'random' ? asc : desc
  const order = sql.join([ordered(by), ordered(traces.id)], sql`, `)
  const position = sql<number>`row_number() over (order by ${order})`.as('position')
  const scanned = from(store.database.select({ key: traces.key, at: sql<number>`${by}`.as('at'), position }))
    .where(where)
    .orderBy(order)
    .limit(MAX_SCANNED_TRACES)
    .as('scanned')
  const isMatch = matches(project, ofTraces(query)) ?? sql`true`
  const rest =
    after &&
    sql`(${traces.id} <> ${after.traceUuid}
    or (1 - ${spans.isRoot}, ${spans.timestamp}, ${spans.id}) > (${after.rank}, ${after.timestamp}, ${after.spanId}))`
  const isCandidate = and(ofTrace, isOffered(query), rest)
  // Sorted before they are gathered: an aggregate takes rows as they come.
  const spansOf = sql<string>`(
    select json_group_array(json_array(scanned_spans.is_root, scanned_spans.timestamp, scanned_spans.id)) from (
      select ${spans.isRoot}, ${spans.timestamp}, ${spans.id} from ${spans} where ${isCandidate}
      order by ${spans.isRoot} desc, ${spans.timestamp}, ${spans.id} limit ${limit + 1}) as scanned_spans)`
  const hasCandidate = sql`exists (select 1 from ${spans} where ${isCandidate})`
  // In the order of `scanned`, as the list of traces.
  return store.database
    .select({
      at: sql<number>`${scanned.at}`.as('at'),
      traceUuid: sql<string>`${traces.id}`.as('traceUuid'),
      position: sql<number>`${scanned.position}`.as('position'),
      spans: sql<string>`iif(${isMatch}, ${spansOf}, '[]')`.as('spans'),
    })
    .from(scanned)
    .crossJoin(traces)
    .where(and(eq(traces.key, scanned.key), or(and(isMatch, hasCandidate), eq(scanned.position, MAX_SCANNED_TRACES))))
    .limit(limit + 1)
}

/** The traces of a stretch that are open for review, and by what they are sorted. */
function tracesOf(
  store: Store,
  project: Project,
  { filter, order }: QueueQuery,
  stretch: Stretch,
  after: QueuePlace | undefined,
) {
  const { key } = stretch
  const place = after && { timestamp: after.at, id: after.traceUuid }
  if (order === 'random') {
    const by = shuffled(key)
    const found = inProject(store, project, filter, undefined, time =>
      and(isOpenWithin(time, stretch), place && sql`(${by}, ${traces.id}) >= (${place.timestamp}, ${place.id})`),
    )
    return { ...found, by }
  }
  const found = inProject(store, project, filter, undefined, time =>
    and(
      order === 'negative' ? PARTS[key === 0 ? 0 : 1] : isOpenForReview,
      place && standsAt(time, order === 'oldest' ? '>=' : '<=', place),
    ),
  )
  return { ...found, by: found.time }
}

/** The two parts of the order `negative`. The plus keeps an index out of it: few traces have negative feedback. */
const PARTS = [
  sql`${isNegative} and +${isOpenForReview}`,
  sql`${isOpenForReview} and ${traces.isNegative} = 0`,
] as const

const ofTraces = ({ filter }: QueueQuery): TraceFilter => ({
  ...filter,
  stepId: undefined,
  promptVersionId: undefined,
})

/** Whether a span is to be reviewed, by the one who asks if by anybody, and of the step and version that are asked for. */
const isOffered = ({ filter: { stepId, promptVersionId }, holder, now }: QueueQuery): SQL | undefined =>
  and(
    isToReview,
    isFree(holder, now),
    stepId === undefined ? undefined : eq(spans.stepId, stepId),
    promptVersionId === undefined ? undefined : eq(spans.promptVersionId, promptVersionId),
  )

/** A row of `candidates`. */
interface CandidateRow {
  at: number
  traceUuid: string
  position: number
  spans: string
}

/** The places of up to `limit` spans, and where to go on, if not in the next stretch. */
function placesIn(
  stretches: readonly Stretch[],
  found: readonly (readonly CandidateRow[])[],
  limit: number,
): { places: QueuePlace[]; resumeAt: QueuePlace | undefined } {
  const places: QueuePlace[] = []
  for (const [index, stretch] of stretches.entries()) {
    const rows = found[index] ?? []
    for (const { at, traceUuid, spans } of rows) {
      const listed: [isRoot: number, timestamp: number, id: string][] = JSON.parse(spans)
      for (const [isRoot, timestamp, spanId] of listed) {
        places.push({ stretch, at, traceUuid, rank: 1 - isRoot, timestamp, spanId })
      }
    }
    if (places.length > limit) return { places: places.slice(0, limit), resumeAt: places[limit - 1] }
    const lastScanned = rows.find(({ position }) => position === MAX_SCANNED_TRACES)
    if (lastScanned) {
      const { at, traceUuid } = lastScanned
      return { places, resumeAt: { stretch, at, traceUuid, rank: 2, timestamp: 0, spanId: '' } }
    }
  }
  return { places, resumeAt: undefined }
}

/** Counts the spans of the whole queue, up to one more than is told, and the traces that were looked at for it. */
function countRemaining(store: Store, project: Project, query: QueueQuery) {
  const { from, time, where } = inProject(store, project, query.filter, undefined, () => isOpenForReview)
  const scanned = from(store.database.select({ key: traces.key }))
    .where(where)
    .orderBy(desc(time), desc(traces.id))
    .limit(MAX_COUNTED_TRACES)
    .as('scanned')
  const isMatch = sql`${traces.key} = ${scanned.key} and ${matches(project, ofTraces(query)) ?? sql`true`}`
  return store.database
    .select({
      looked: sql<number>`count(*)`.as('looked'),
      found: sql<number>`(select count(*) from (
        select 1 from ${scanned} cross join ${traces} cross join ${spans}
        where ${isMatch} and ${and(ofTrace, isOffered(query))} limit ${MAX_REMAINING + 1}))`.as('found'),
    })
    .from(scanned)
}

/** How many spans each reviewer accepted or corrected since a time. */
const reviewedSince = ({ database }: Store, project: Project, since: number) =>
  database
    .select({
      userId: sql<string>`${reviews.userId}`.as('userId'),
      reviewed: sql<number>`count(distinct ${reviews.traceKey} || '/' || ${reviews.spanId})`.as('reviewed'),
    })
    .from(reviews)
    .where(and(eq(reviews.projectKey, project.key), gte(reviews.createdAt, since), ne(reviews.decision, 'reset')))
    .groupBy(reviews.userId)
