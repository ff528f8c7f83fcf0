import type { PayloadMode } from '../../domain/span.ts'
import type { SoughtText } from '../../domain/text-search.ts'
import { MAX_SEARCHED_TRACES } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, type ReadAcross, readShards } from '../core/across.ts'
import type { Store } from '../core/store.ts'
import {
  type DecisionFilter,
  type DecisionPlace,
  decisionOrder,
  findDecisionsIn,
  type ListedDecision,
  showDecisions,
} from '../reviews/decided-spans.ts'
import type { LocatedSpan } from '../spans/located-spans.ts'
import { findPlaces, type SpanFilter, showPlaces } from '../spans/span-list.ts'
import { type ListedPlace, type SpanPlace, spanOrder } from '../spans/spans-in-traces.ts'
import { type Heads, readHeads } from './heads.ts'
import { type FoundPage, type Group, mergeFound, SearchPage, type Unsearched } from './page.ts'
import { commentsOf, type TextMatch, textsOf } from './texts.ts'

/** A page of a span search. */
interface FoundSpans<Place> extends Unsearched {
  spans: (LocatedSpan & { matches: readonly TextMatch[] })[]
  nextPlace: Place | null
}

/** A matching span without its values, and its matches. */
type Hit<Item> = InShard<Item> & { matches: readonly TextMatch[] }

/** Like `FoundSpans`, without the spans' values. */
interface Hits<Item, Place> extends Unsearched {
  items: Hit<Item>[]
  nextPlace: Place | null
}

interface PageQuery<Place> {
  limit: number
  after: Place | undefined
}

/** How many spans are searched at a time. Twice as many would rarely fit in a round trip. */
const SPANS_AT_ONCE = 200

/**
 * A page of the spans that `listSpans` would list and that contain the sought text. Looks at the spans of up to 500
 * traces or 8 MiB of values in each database, so `spans` may be short even if more spans follow.
 */
export async function searchSpans(
  store: Store,
  project: Project,
  filter: SpanFilter,
  sought: SoughtText,
  { mode, ...page }: PageQuery<SpanPlace> & { mode: PayloadMode },
): Promise<FoundSpans<SpanPlace>> {
  const { items, nextPlace, ...unsearched } = await findSpanHits(store, project, filter, sought, page)
  const shown = await showPlaces(store, items, mode)
  return { ...shownHits(items, shown, nextPlace), ...unsearched }
}

/** Like `searchSpans`, without the values of the spans. */
export async function findSpanHits(
  store: Store,
  project: Project,
  filter: SpanFilter,
  sought: SoughtText,
  page: PageQuery<SpanPlace>,
  across: ReadAcross = readShards,
): Promise<Hits<ListedPlace, SpanPlace>> {
  const pages = await across(store, shard => findSpanHitsIn(shard, project, filter, sought, page))
  return mergeFound(pages, { limit: page.limit, placeOf: (place): SpanPlace => place, compare: spanOrder(true) })
}

async function findSpanHitsIn(
  store: Store,
  project: Project,
  filter: SpanFilter,
  sought: SoughtText,
  { limit, after }: PageQuery<SpanPlace>,
): Promise<FoundPage<Hit<ListedPlace>, SpanPlace>> {
  const page = new SearchPage<ListedPlace, SpanPlace>(store, sought, limit)
  const traces = new Set<number>()
  let end = after
  let hasMore = true
  while (hasMore && traces.size < MAX_SEARCHED_TRACES && page.goesOn()) {
    const found = await findPlaces(store, project, filter, { limit: SPANS_AT_ONCE, after: end })
    const places = withinTraces(found.places, traces)
    await searchIn(store, project, page, places)
    hasMore = found.hasMore || places.length < found.places.length
    end = hasMore ? places.at(-1) : found.end
  }
  return foundOf(store, page, limit, end)
}

/** The results of a page. If the page had room for more, the search continues at `goesOnAt`. */
function foundOf<Item extends Place, Place>(
  { shard }: Store,
  { hits, isOver, end, missed }: SearchPage<Item, Place>,
  limit: number,
  goesOnAt: Place | null | undefined,
): FoundPage<Hit<Item>, Place> {
  const items = [...hits].slice(0, limit).map(([item, matches]) => ({ ...item, shard, matches }))
  const last = hits.size > limit ? items.at(-1) : undefined
  return { items, nextPlace: last ?? (isOver ? end : goesOnAt) ?? null, missed }
}

/**
 * The first places, up to a total of 500 traces, including those already in `traces`. Adds the new traces to `traces`.
 */
function withinTraces(places: readonly ListedPlace[], traces: Set<number>): ListedPlace[] {
  const within: ListedPlace[] = []
  for (const place of places) {
    if (!traces.has(place.traceKey) && traces.size === MAX_SEARCHED_TRACES) break
    traces.add(place.traceKey)
    within.push(place)
  }
  return within
}

/** Like `searchSpans`, for the spans that `listDecidedSpans` would list. Looks at up to 500 decisions. */
export async function searchDecidedSpans(
  store: Store,
  project: Project,
  filter: DecisionFilter,
  sought: SoughtText,
  { mode, ...page }: PageQuery<DecisionPlace> & { mode: PayloadMode },
): Promise<FoundSpans<DecisionPlace>> {
  const { items, nextPlace, ...unsearched } = await findDecisionHits(store, project, filter, sought, page)
  const shown = await showDecisions(store, project, items, mode)
  return { ...shownHits(items, shown, nextPlace), ...unsearched }
}

/** Like `searchDecidedSpans`, without the values of the spans. */
export async function findDecisionHits(
  store: Store,
  project: Project,
  filter: DecisionFilter,
  sought: SoughtText,
  { limit, after }: PageQuery<DecisionPlace>,
  across: ReadAcross = readShards,
): Promise<Hits<ListedDecision, DecisionPlace>> {
  const pages = await across(store, async shard => {
    const page = new SearchPage<ListedDecision, DecisionPlace>(shard, sought, limit)
    const query = { limit: MAX_SEARCHED_TRACES, after, isCounted: false }
    const found = await findDecisionsIn(shard, project, filter, query)
    await searchIn(shard, project, page, found.items)
    return foundOf(shard, page, limit, found.nextPlace)
  })
  return mergeFound(pages, { limit, placeOf: (place): DecisionPlace => place, compare: decisionOrder })
}

/** A span to search. */
interface Candidate {
  traceKey: number
  rootSpanId: string
  spanId: string
}

/** Searches spans in order until the page has to end. */
async function searchIn<Item extends Candidate & Place, Place>(
  store: Store,
  project: Project,
  page: SearchPage<Item, Place>,
  candidates: readonly Item[],
): Promise<void> {
  let rest = candidates
  while (rest.length > 0 && page.goesOn()) {
    const some = rest.slice(0, SPANS_AT_ONCE)
    const rootOf = new Map(some.map(({ traceKey, rootSpanId }) => [traceKey, rootSpanId]))
    const traces = [...rootOf].map(([key, rootSpanId]) => ({ key, rootSpanId }))
    const heads = await readHeads(store, project, traces, { only: some })
    const read = new Set(traces.slice(0, heads.count).map(({ key }) => key))
    const unread = some.findIndex(({ traceKey }) => !read.has(traceKey))
    const complete = unread === -1 ? some : some.slice(0, unread)
    await page.search(groupsOf(complete, heads), heads)
    rest = rest.slice(complete.length)
  }
}

/** Each span's values, with the comments on it. */
function groupsOf<Item extends Candidate & Place, Place>(
  candidates: readonly Item[],
  { spans, observations, comments }: Heads,
): Group<Item, Place>[] {
  const rootOf = new Map(candidates.map(({ traceKey, rootSpanId }) => [traceKey, rootSpanId]))
  const keyOf = (traceKey: number, spanId: string | null) => `${traceKey}/${spanId ?? rootOf.get(traceKey)}`
  const headOf = new Map(spans.map(head => [keyOf(head.traceKey, head.id), head]))
  const observed = Map.groupBy(observations, ({ traceKey, spanId }) => keyOf(traceKey, spanId))
  const commented = Map.groupBy(comments, ({ traceKey, spanId }) => keyOf(traceKey, spanId))
  return candidates.map(candidate => {
    const { traceKey, spanId, rootSpanId } = candidate
    const key = keyOf(traceKey, spanId)
    const head = headOf.get(key)
    const texts = head && textsOf(head, observed.get(key) ?? [])
    const all = texts && { ...texts, comments: commentsOf(commented.get(key) ?? [], rootSpanId) }
    return { item: candidate, texts: all ? [all] : [], end: candidate }
  })
}

/** The hits' spans that were shown, with their matches, and the place to continue from. */
function shownHits<Item extends { matches: readonly TextMatch[] }, Place>(
  hits: readonly (Item & Place)[],
  { shown, count }: { shown: readonly { item: Item; shown: LocatedSpan }[]; count: number },
  nextPlace: Place | null,
): Omit<FoundSpans<Place>, keyof Unsearched> {
  const last = count < hits.length ? hits[count - 1] : undefined
  const spans = shown.map(({ item: { matches }, shown: span }) => ({ ...span, matches }))
  return { spans, nextPlace: last ?? nextPlace }
}
