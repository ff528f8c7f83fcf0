import { and, eq, or, type SQL, sql } from 'drizzle-orm'
import { MAX_SCANNED_TRACES, SORTED_STEP_TRACES, STORE_ATTEMPT_MS } from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { type InShard, inShard, readShards } from '../core/across.ts'
import { traceCost } from '../core/model-calls.ts'
import type { Store } from '../core/store.ts'
import { traces } from '../schema/traces.ts'
import { scanByTime } from './scan.ts'
import { newestFirst, type TraceFilter, type TracePosition } from './trace-filter.ts'
import { countFitting, findListedPlaced, type ListedTrace } from './trace-list.ts'

export const TRACE_ORDERS = ['duration', 'cost'] as const

export type TraceOrder = (typeof TRACE_ORDERS)[number]

/**
 * The value to sort by, and how many traces' values one statement reads. To compute a cost, the statement reads the
 * rows of all of the trace's model calls. Other requests have to wait in the meantime.
 */
const ORDERS: Record<TraceOrder, { value: SQL; step: number }> = {
  duration: { value: sql`${traces.durationMs}`, step: MAX_SCANNED_TRACES },
  cost: { value: traceCost, step: SORTED_STEP_TRACES },
}

/** A trace's place in a sorted list. Traces without a value come last. */
interface Ranked extends TracePosition {
  value: number
}

/** A place to continue from. `newest` excludes traces that arrive after the first page was read. */
export interface SortedPlace extends Ranked {
  newest: TracePosition
}

const NO_VALUE = -1

interface SortedPage {
  items: ListedTrace[]
  nextPlace: SortedPlace | null
  /** How many traces were sorted, and whether no other traces match. */
  sorted: number
  isAll: boolean
}

/** A page of a project's matching traces, greatest value first, from each database's newest 5,000 traces. */
export async function listSorted(
  store: Store,
  project: Project,
  filter: TraceFilter,
  { order, limit, after }: { order: TraceOrder; limit: number; after: SortedPlace | undefined },
): Promise<SortedPage> {
  const values = await readShards(store, shard => readValues(shard, project, filter, order, after?.newest))
  const found = values.flatMap(each => each.found)
  const [newest] = values.flatMap(each => each.newest ?? []).toSorted(newestFirst)
  const left = found.sort(byRank).filter(trace => !after || byRank(trace, after) > 0)
  const page = left.slice(0, limit)
  const listed = await findListedPlaced(store, project, page)
  // A trace that was deleted in the meantime is missing.
  const shown = page.flatMap(place => {
    const trace = listed.get(place)
    return trace ? [{ place, trace }] : []
  })
  const fitting = shown.slice(0, countFitting(shown.map(({ trace }) => trace)))
  const last = fitting.length < shown.length ? fitting.at(-1)?.place : page.at(-1)
  const hasMore = last !== undefined && left.at(-1) !== last
  return {
    items: fitting.map(({ trace }) => trace),
    nextPlace: hasMore && newest ? { ...last, newest } : null,
    sorted: found.length,
    isAll: values.every(each => each.isAll),
  }
}

const byRank = (left: Ranked, right: Ranked): number => right.value - left.value || newestFirst(left, right)

/** Reads the values of a database's newest 5,000 traces that are no newer than `newest`. */
async function readValues(
  store: Store,
  project: Project,
  filter: TraceFilter,
  order: TraceOrder,
  newest: TracePosition | undefined,
) {
  const { value, step } = ORDERS[order]
  const { nameContains } = filter
  const found: InShard<Ranked & { key: number }>[] = []
  let page: { after: TracePosition | undefined; isInclusive: boolean } = { after: newest, isInclusive: true }
  let first: TracePosition | undefined
  for (let looked = step; ; looked += step) {
    const { scanned, place, isMatch } = scanByTime(store, project, filter, { ...page, maxScanned: step })
    const rows = await store.database
      .select({
        key: traces.key,
        id: traces.id,
        timestamp: traces.timestamp,
        name: traces.name,
        value: sql<number>`coalesce(${value}, ${NO_VALUE})`,
        ...place,
      })
      .from(scanned)
      .crossJoin(traces)
      .where(and(eq(traces.key, scanned.key), or(isMatch, sql`${scanned.position} in (1, ${step})`)))
    first ??= rows.find(({ position }) => position === 1)
    const matching = rows.filter(({ isMatch, name }) => isMatch === 1 && (nameContains?.pattern.test(name) ?? true))
    found.push(...inShard(store, matching))
    const last = rows.find(({ position }) => position === step)
    // A shorter list is better than a 503.
    const isSlow = store.deadline.remainingMs() < STORE_ATTEMPT_MS
    if (!last || looked >= MAX_SCANNED_TRACES || isSlow) return { found, newest: newest ?? first, isAll: !last }
    page = { after: last, isInclusive: false }
  }
}
