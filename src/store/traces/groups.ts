import { desc, eq, type SQL, sql } from 'drizzle-orm'
import { comparableFields, searchableValues } from '../../domain/metadata.ts'
import { inTurns, type Work } from '../../domain/turns.ts'
import {
  LENGTH_PER_TURN,
  MAX_CHECKED_GROUPS,
  MAX_GROUPED_METADATA_BYTES,
  MAX_SCANNED_TRACES,
  MAX_SEARCHABLE_FIELDS,
  PROBED_TRACES,
} from '../../limits.ts'
import type { Project } from '../accounts/projects.ts'
import { mergePages, readShards } from '../core/across.ts'
import { isNegativeTo } from '../core/ratings.ts'
import { rowSet } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { traceFields, traces } from '../schema/traces.ts'
import { isLiveIn } from './live.ts'
import { scanTraces } from './scan.ts'
import { inProject, matches, newestFirst, positionIs, type TraceFilter, type TracePosition } from './trace-filter.ts'

/** Traces with the same value of a metadata field, such as the turns of a conversation. */
export interface TraceGroup {
  value: string
  /** The number of the group's traces that the page scanned. */
  traces: number
  /** Whether the group may have older traces, too. */
  isMinimum: boolean
  firstAt: number
  lastAt: number
  negative: number
}

/** A position in a list of groups: after some of the groups whose newest trace is `at`. */
export interface GroupPlace {
  /** The newest trace when the list was first read. Traces that arrive later don't move groups within the list. */
  until: TracePosition
  at: TracePosition
  /** How many values of the trace at `at` have been listed. */
  handled: number
}

type GroupFilter = Pick<TraceFilter, 'from' | 'to' | 'kind'>

/** A scanned trace. Its metadata is null if the list leaves out the trace. */
interface ScannedTrace extends TracePosition {
  isNegative: number
  metadata: string | null
}

/** A group of the traces that a page scanned. */
interface FoundGroup extends Omit<TraceGroup, 'isMinimum'> {
  newest: TracePosition
  /** The value's place among the values of the newest trace, counted from 1. */
  number: number
}

/**
 * A page of the groups of a project's traces. Traces with the same value at `path` form a group. Groups are sorted by
 * their newest traces, and each is listed only once. Scans at most 5,000 traces in each database and 4 MiB of metadata,
 * so `groups` may be short even if more follow. Takes two round trips.
 */
export async function listGroups(
  store: Store,
  project: Project,
  path: string,
  filter: GroupFilter,
  { limit, after }: { limit: number; after: GroupPlace | undefined },
): Promise<{ groups: TraceGroup[]; searchedTo: number | null; nextPlace: GroupPlace | null }> {
  const { scanned, last } = await scan(store, project, filter, after?.at)
  const [first] = scanned
  if (!first || !last) return { groups: [], searchedTo: null, nextPlace: null }
  const { isEnd } = last
  const until = after?.until ?? positionOf(first)
  const found = await inTurns(gather(scanned, path, after))
  // On the first page, no group has been listed yet.
  const checked = found.slice(0, after ? MAX_CHECKED_GROUPS : limit + 1)
  const listed = await findNewAcross(store, project, path, filter, { groups: checked, after, limit: limit + 1 })
  const page = listed.slice(0, limit)
  const groups = page.map(({ group: { value, traces, firstAt, lastAt, negative }, oldestAt }) => {
    const mayContinue = oldestAt === null || oldestAt < firstAt || oldestAt === last.timestamp
    return {
      value,
      traces,
      isMinimum: !isEnd && mayContinue,
      firstAt: Math.min(firstAt, oldestAt ?? firstAt),
      lastAt,
      negative,
    }
  })
  const lastGroup = listed.length > limit ? page.at(-1)?.group : checked.length < found.length && checked.at(-1)
  const nextPlace = lastGroup
    ? { until, at: lastGroup.newest, handled: lastGroup.number }
    : isEnd
      ? null
      : { until, at: positionOf(last), handled: MAX_SEARCHABLE_FIELDS }
  return { groups, searchedTo: isEnd ? null : last.timestamp, nextPlace }
}

const positionOf = ({ timestamp, id }: TracePosition): TracePosition => ({ timestamp, id })

/** The traces that a page scans, newest first, and the last of them. `isEnd` means that there are no more traces. */
async function scan(
  store: Store,
  project: Project,
  filter: GroupFilter,
  start: TracePosition | undefined,
): Promise<{ scanned: ScannedTrace[]; last: (TracePosition & { isEnd: boolean }) | undefined }> {
  const maxBytes = Math.floor(MAX_GROUPED_METADATA_BYTES / store.shards.length)
  const pages = await readShards(store, async shard => {
    const rows = await scanIn(shard, project, filter, start, maxBytes)
    const cut = rows.findIndex(({ fits }) => fits === 0)
    const items = cut < 0 ? rows : rows.slice(0, cut)
    return { items, nextPlace: (cut < 0 && rows.length < MAX_SCANNED_TRACES ? undefined : items.at(-1)) ?? null }
  })
  const limit = pages.reduce((sum, { items }) => sum + items.length, 0)
  const { items: scanned, nextPlace } = mergePages<ScannedTrace, TracePosition>(pages, {
    limit,
    placeOf: trace => trace,
    compare: newestFirst,
  })
  const last = nextPlace ?? scanned.at(-1)
  return { scanned, last: last && { ...positionOf(last), isEnd: nextPlace === null } }
}

/** The traces in one database. `fits` is 0 once their metadata exceeds `maxBytes` in total. */
function scanIn(
  store: Store,
  project: Project,
  filter: GroupFilter,
  start: TracePosition | undefined,
  maxBytes: number,
): Promise<(ScannedTrace & { fits: number })[]> {
  const { from, time, where } = inProject(
    store,
    project,
    { ...filter, fields: [] },
    undefined,
    time => start && positionIs(time, '<=', start),
  )
  const order = sql`${desc(time)}, ${desc(traces.id)}`
  const bytes = sql`sum(octet_length(${traces.metadata})) over (order by ${order} rows unbounded preceding)`
  const { scanned } = scanTraces(store, { from, where, order, value: bytes })
  const fits = sql`(${scanned.value} <= ${maxBytes} or ${scanned.position} = 1)`
  return store.database
    .select({
      id: traces.id,
      timestamp: traces.timestamp,
      isNegative: sql<number>`(${isNegativeTo(store)})`,
      fits: sql<number>`${fits}`,
      metadata: sql<string | null>`iif(${fits} and ${isListed(store, project, filter)}, ${traces.metadata}, null)`,
    })
    .from(scanned)
    .crossJoin(traces)
    .where(eq(traces.key, scanned.key))
}

const isListed = (store: Store, project: Project, { kind }: GroupFilter): SQL =>
  matches(store, project, { kind, fields: [] }) ?? sql`true`

/** Groups scanned traces by their values. Leaves out the values that earlier pages have listed for the first trace. */
function* gather(scanned: readonly ScannedTrace[], path: string, after: GroupPlace | undefined): Work<FoundGroup[]> {
  const groups = new Map<string, FoundGroup>()
  const listed = new Set<string>()
  let length = 0
  for (const { id, timestamp, metadata, isNegative } of scanned) {
    if (metadata === null) continue
    length += metadata.length
    if (length > LENGTH_PER_TURN) {
      yield
      length = 0
    }
    const values = searchableValues(JSON.parse(metadata), path)
    if (id === after?.at.id) for (const value of values.slice(0, after.handled)) listed.add(value)
    for (const [index, value] of values.entries()) {
      if (value === NO_GROUP || listed.has(value)) continue
      const group = groups.get(value)
      if (group) {
        group.traces++
        group.negative += isNegative
        group.firstAt = timestamp
      } else {
        const newest = { timestamp, id }
        const number = index + 1
        groups.set(value, {
          value,
          traces: 1,
          negative: isNegative,
          firstAt: timestamp,
          lastAt: timestamp,
          newest,
          number,
        })
      }
    }
  }
  return [...groups.values()]
}

/** A value that's null in the metadata isn't a group. */
const NO_GROUP = 'null'

const GROUPS = rowSet(['value'])

interface NewGroup {
  group: FoundGroup
  /** The time of its oldest trace. Null if none of the probed traces is listed. */
  oldestAt: number | null
}

/** The groups that earlier pages haven't listed, in the order of the list, up to a limit. */
async function findNewAcross(
  store: Store,
  project: Project,
  path: string,
  filter: GroupFilter,
  query: { groups: readonly FoundGroup[]; after: GroupPlace | undefined; limit: number },
): Promise<NewGroup[]> {
  const [only] = store.shards
  if (only && store.shards.length === 1) {
    const found = await findNew(only, project, path, filter, query)
    return found.map(({ group, oldestAt }) => ({ group, oldestAt }))
  }
  // A group that's new in one database may have been listed because of a trace in another database, so each database
  // looks up all groups.
  const { groups, limit } = query
  const found = await readShards(store, shard =>
    findNew(shard, project, path, filter, { ...query, limit: groups.length }),
  )
  const lookedUp = found.map(rows => new Map(rows.map(row => [row.group, row])))
  return groups
    .flatMap(group => {
      const rows = lookedUp.flatMap(each => each.get(group) ?? [])
      if (rows.length < lookedUp.length) return []
      const times = rows.flatMap(({ oldestAt }) => oldestAt ?? [])
      const isUnknown = rows.some(({ oldestAt, isProbed }) => oldestAt === null && !isProbed)
      return { group, oldestAt: isUnknown || times.length === 0 ? null : Math.min(...times) }
    })
    .slice(0, limit)
}

/** Like `findNewAcross`, in one database. Also says whether all of a group's traces were probed. */
async function findNew(
  store: Store,
  project: Project,
  path: string,
  filter: GroupFilter,
  { groups, after, limit }: { groups: readonly FoundGroup[]; after: GroupPlace | undefined; limit: number },
): Promise<(NewGroup & { isProbed: boolean })[]> {
  if (groups.length === 0) return []
  const fields = await comparableFields(groups.map(({ value }) => ({ path, value })))
  /** The group's traces in a range of times, oldest first. */
  const probed = (from: number | undefined, to: number | undefined) => sql`(
    select probed.timestamp as at, probed.trace_key from ${traceFields} as probed
    where probed.project_key = ${project.key} and probed.path = ${path} and probed.value = ${GROUPS.row.value}
      ${from === undefined ? sql`` : sql`and probed.timestamp >= ${from}`}
      ${to === undefined ? sql`` : sql`and probed.timestamp <= ${to}`}
    order by probed.timestamp limit ${PROBED_TRACES}
  ) as scanned`
  const tracesOf = (
    from: number | undefined,
    to: number | undefined,
    ...conditions: (SQL | undefined)[]
  ) => sql`${probed(from, to)} cross join ${traces}
    where ${traces.key} = scanned.trace_key
      and ${isLiveIn(store, project, isListed(store, project, filter), ...conditions)}`
  const time = traces.timestamp
  const isListedAlready =
    after &&
    sql`exists (select 1 from ${tracesOf(
      after.at.timestamp,
      after.until.timestamp,
      positionIs(time, '>', after.at),
      positionIs(time, '<=', after.until),
    )})`
  // `json_each` reads the groups in their order, so only those up to the limit are looked up. A sort would need all
  // groups.
  const isProbed =
    store.shards.length === 1
      ? sql`1`
      : sql`(select count(*) from ${probed(filter.from, undefined)}) < ${PROBED_TRACES}`
  const rows = await store.database.all<{ place: number; oldestAt: number | null; isProbed: number }>(sql`
    select item.key as place, ${isProbed} as isProbed,
      (select at from ${tracesOf(filter.from, undefined)} order by at limit 1) as oldestAt
    from ${GROUPS.from(GROUPS.encodeAll(fields.map(({ value }) => ({ value }))))}
    where ${isListedAlready ? sql`not ${isListedAlready}` : sql`true`}
    limit ${limit}`)
  return rows.flatMap(({ place, oldestAt, isProbed }) => {
    const group = groups[place]
    return group ? [{ group, oldestAt, isProbed: isProbed === 1 }] : []
  })
}
