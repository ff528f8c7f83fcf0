import type { SoughtText } from '../../domain/text-search.ts'
import { MAX_SEARCHED_TRACES, SEARCHED_BYTES_AT_ONCE } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, type ReadAcross, readShards } from '../core/across.ts'
import type { Store } from '../core/store.ts'
import { newestFirst, type TraceFilter, type TracePosition } from '../traces/trace-filter.ts'
import { findListedPlaced, findSearched, type ListedTrace, type SearchedTrace } from '../traces/trace-list.ts'
import { type CommentHead, type Heads, readHeads, type SpanHead } from './heads.ts'
import { type FoundPage, type Group, mergeFound, SearchPage, sizeOfGroup, type Unsearched } from './page.ts'
import { commentsOf, type SpanTexts, type TextMatch, textsOf } from './texts.ts'

/**
 * Where a search of traces continues: after a whole trace, or within a trace, after the span with this id. Spans are in
 * the order of their ids.
 */
export interface SearchPlace extends TracePosition {
  /** '' if the search continues after the whole trace. */
  spanId: string
}

/** Compares places in a search. The places within a trace come before the place after the whole trace. */
const inOrder = (one: SearchPlace, other: SearchPlace): number =>
  newestFirst(one, other) ||
  (one.spanId === other.spanId ? 0 : other.spanId === '' || (one.spanId !== '' && one.spanId < other.spanId) ? -1 : 1)

/** A trace's place and its matches. */
type TraceHit = InShard<SearchedTrace> & { matches: readonly TextMatch[] }

/** A trace with a match. */
type FoundTrace = ListedTrace & { key: number; shard: number; matches: readonly TextMatch[] }

/** One page of a search. */
interface FoundTraces extends Unsearched {
  items: FoundTrace[]
  nextPlace: SearchPlace | null
}

/** The place after a trace's first part, which contains its root. It sorts before all ids. */
const AFTER_ROOT = '0'

/** How many traces' heads are requested at a time. More would rarely fit in a round trip. */
const TRACES_AT_ONCE = 200

interface PageQuery {
  limit: number
  after: SearchPlace | undefined
}

/**
 * A page of a project's matching traces that contain the sought text, newest first. Looks at up to 500 traces or 8 MiB
 * of values in each database, in round trips of up to 1 MiB, so `items` may be short even if more traces follow.
 */
export async function searchTraces(
  store: Store,
  project: Project,
  filter: TraceFilter,
  sought: SoughtText,
  page: PageQuery,
  across: ReadAcross = readShards,
): Promise<FoundTraces> {
  const pages = await across(store, shard => findHits(shard, project, filter, sought, page))
  const found = mergeFound(pages, { limit: page.limit, placeOf: placeAfter, compare: inOrder })
  const listed = await findListedPlaced(store, project, found.items, across)
  const items = found.items.flatMap(hit => {
    const { key, shard, matches } = hit
    const trace = listed.get(hit)
    return trace ? [{ ...trace, key, shard, matches }] : []
  })
  return { ...found, items }
}

async function findHits(
  store: Store,
  project: Project,
  filter: TraceFilter,
  sought: SoughtText,
  { limit, after }: PageQuery,
): Promise<FoundPage<TraceHit, SearchPlace>> {
  const isWithin = after !== undefined && after.spanId !== ''
  const candidates = await findSearched(store, project, filter, {
    limit: MAX_SEARCHED_TRACES,
    after,
    isInclusive: isWithin,
  })
  const page = new SearchPage<SearchedTrace, SearchPlace>(store, sought, limit)
  let rest = candidates.items
  let afterSpan = isWithin && rest[0]?.id === after.id ? after.spanId : undefined
  while (rest.length > 0 && page.goesOn()) {
    const some = rest.slice(0, afterSpan === undefined ? TRACES_AT_ONCE : 1)
    const heads = await readHeads(store, project, some, { after: afterSpan })
    await page.search(groupsOf(some.slice(0, heads.count), heads, afterSpan !== undefined), heads)
    afterSpan = heads.lastSpanId
    if (afterSpan === undefined) rest = rest.slice(heads.count)
  }
  const hits = [...page.hits].slice(0, limit)
  const items = hits.map(([trace, matches]) => ({ ...trace, shard: store.shard, matches }))
  const [last] = hits.at(-1) ?? []
  const isCut = page.hits.size > limit || (last !== undefined && page.isOver && page.end?.id === last.id)
  const end = isCut && last ? placeAfter(last) : page.isOver ? page.end : undefined
  const next = candidates.nextPlace && placeAfter(candidates.nextPlace)
  return { items, nextPlace: end ?? next, missed: page.missed.map(each => ({ ...each, item: placeAfter(each.item) })) }
}

const placeAfter = ({ timestamp, id }: TracePosition): SearchPlace => ({ timestamp, id, spanId: '' })

/**
 * Groups a trace's values: all in one group or, if there are too many, by span, in the order in which the spans are
 * read.
 */
function groupsOf(
  traces: readonly SearchedTrace[],
  { spans, observations, comments, lastSpanId }: Heads,
  isContinued: boolean,
): Group<SearchedTrace, SearchPlace>[] {
  const spansOf = Map.groupBy(spans, ({ traceKey }) => traceKey)
  const observationsOf = Map.groupBy(observations, ({ traceKey }) => traceKey)
  const ownCommentsOf = Map.groupBy(comments, ({ traceKey }) => traceKey)
  return traces.flatMap(trace => {
    const { key, rootSpanId, name } = trace
    const observed = Map.groupBy(observationsOf.get(key) ?? [], ({ spanId }) => spanId ?? rootSpanId)
    const toTexts = (head: SpanHead): SpanTexts => {
      const texts = textsOf(head, observed.get(head.id) ?? [])
      // A span whose parent hasn't arrived is right below the root.
      const placed = head.id === rootSpanId ? texts : { ...texts, parentId: head.parentId ?? rootSpanId }
      // A root's step usually has the trace's name.
      return head.stepId === name ? { ...placed, names: [] } : placed
    }
    const heads = spansOf.get(key) ?? []
    const others = heads.filter(({ id }) => id !== rootSpanId)
    const roots = heads.filter(({ id }) => id === rootSpanId)
    const first = isContinued ? [] : [ownTexts(trace, ownCommentsOf.get(key) ?? []), ...roots.map(toTexts)]
    const whole = [...first, ...others.toSorted((left, right) => left.timestamp - right.timestamp).map(toTexts)]
    const isWhole = lastSpanId === undefined && !isContinued
    const group = { item: trace, texts: whole, end: placeAfter(trace) }
    if (isWhole && sizeOfGroup(group) <= SEARCHED_BYTES_AT_ONCE) return [group]
    const parts = others.map(head => ({ texts: [toTexts(head)], spanId: head.id }))
    const all = isContinued ? parts : [{ texts: first, spanId: AFTER_ROOT }, ...parts]
    return all.map(({ texts, spanId }, index) => {
      const isEnd = index === all.length - 1 && lastSpanId === undefined
      return { item: trace, texts, end: isEnd ? placeAfter(trace) : { ...placeAfter(trace), spanId } }
    })
  })
}

/** A trace's name and comments. */
const ownTexts = ({ rootSpanId, name }: SearchedTrace, comments: readonly CommentHead[]): SpanTexts => ({
  spanId: rootSpanId,
  names: [['name', name]],
  inputs: [],
  messageCount: 0,
  state: [],
  comments: commentsOf(comments, rootSpanId),
})
