import { type SQL, sql } from 'drizzle-orm'
import type { ItemDecision } from '../../domain/dataset.ts'
import type { DatasetPart } from '../../domain/dataset-version.ts'
import { MAX_LISTED_ITEMS } from '../../limits.ts'
import { rowSet } from '../core/rows.ts'
import { mayHaveTraces, type Store } from '../core/store.ts'
import { datasetEntries, datasetRemovals } from '../schema/datasets.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import type { Dataset } from './datasets.ts'

/**
 * A position in a dataset, right after an item: the item's stored step, the key of its trace, and its id. The position
 * is the same in every database, so a cursor stays valid when databases are added.
 */
export type ItemPlace = readonly [stepId: string, traceKey: number, itemId: string]

/** An item without its values, which are in `item-values.ts`. */
export interface ItemHead {
  /** The id of its span or of the imported example. */
  id: string
  /** The number of its database. */
  shard: number
  place: ItemPlace
  /** Null for an imported example. */
  traceId: string | null
  decision: ItemDecision
  split: string
  isExcluded: boolean
  /** Whether the output had changed since the decision when the version was written. */
  isStale: boolean
  /** Whether the output has changed since the decision. */
  isStaleNow: boolean
  userId: string | null
  decidedAt: number
  errorType: string | null
  promptVersionId: string | null
  inputHash: string
  note: string | null
  /** The number of its last entry, and the number of the entry that has its values. */
  sequence: number
  valuesSequence: number
}

/**
 * An item with the alternatives to its approved output, as JSON. Lists don't read them, because an item may have 160
 * KiB of them.
 */
export interface FoundHead extends ItemHead {
  alternatives: string | null
}

/**
 * Lists up to `limit` items of a dataset as of a version, newest traces first, imported examples last, without their
 * values. Examines at most `limit` items in the log, so a page may be short. Takes one query for each of the dataset's
 * stored steps in each database.
 */
export async function walkItems(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  range: { parts: readonly DatasetPart[]; after: ItemPlace | undefined; limit: number },
): Promise<{ items: ItemHead[]; nextPlace: ItemPlace | null }> {
  const { items, nextPlace } = await walkAllItems(store, dataset, range)
  return { items: await withoutSameIds(store, dataset, range.parts, items), nextPlace }
}

/**
 * Leaves out the items that `findHeads` doesn't find, because a newer trace in another database has an item with the
 * same id.
 */
async function withoutSameIds(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  parts: readonly DatasetPart[],
  items: ItemHead[],
): Promise<ItemHead[]> {
  const databases = new Set(parts.map(({ shard }) => store.in(shard)).filter(mayHaveTraces))
  const reviewed = items.flatMap(({ id, traceId }) => (traceId === null ? [] : [id]))
  if (databases.size < 2 || reviewed.length === 0) return items
  const found = await findHeads(store, dataset, parts, reviewed)
  return items.filter(({ id, traceId, place }) => traceId === null || found.get(id)?.place[1] === place[1])
}

async function walkAllItems(
  store: Store,
  { projectKey }: Pick<Dataset, 'projectKey'>,
  { parts, after, limit }: { parts: readonly DatasetPart[]; after: ItemPlace | undefined; limit: number },
): Promise<{ items: ItemHead[]; nextPlace: ItemPlace | null }> {
  const bounded = Math.min(limit, MAX_LISTED_ITEMS)
  const items: ItemHead[] = []
  let looked = 0
  for (const [stepId, logs] of Map.groupBy(parts, ({ stepId }) => stepId)) {
    if (after && stepId < after[0]) continue
    const start: ItemPlace = after && stepId === after[0] ? after : [stepId, Number.MAX_SAFE_INTEGER, '']
    const left = bounded - looked
    const found = await Promise.all(logs.map(part => readHeads(store, { projectKey, ...part }, start, left)))
    const rows = found.flat().toSorted(newestFirst).slice(0, left)
    looked += rows.length
    items.push(...rows.flatMap(toHead))
    const last = rows.at(-1)
    if (last && looked === bounded) return { items, nextPlace: [stepId, last.traceKey, last.id] }
  }
  return { items, nextPlace: null }
}

const newestFirst = (one: HeadRow, other: HeadRow): number =>
  other.traceKey - one.traceKey || (one.id > other.id ? -1 : 1)

/**
 * Lists up to `limit` items that `findIn` finds, examining `step` items at a time. Stops after examining
 * `MAX_LISTED_ITEMS` items, so a page may be short.
 */
export async function walkMatching(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  {
    parts,
    after,
    limit,
    step,
  }: { parts: readonly DatasetPart[]; after: ItemPlace | undefined; limit: number; step: number },
  findIn: (heads: readonly ItemHead[]) => Promise<ItemHead[]> | ItemHead[],
): Promise<HeadPage> {
  const heads: ItemHead[] = []
  let place = after
  for (let looked = step; ; looked += step) {
    const { items, nextPlace } = await walkItems(store, dataset, { parts, after: place, limit: step })
    const matching = await findIn(items)
    const last = matching[limit - heads.length - 1]
    heads.push(...matching.slice(0, limit - heads.length))
    if (last) return { heads, nextPlace: last === items.at(-1) ? nextPlace : last.place }
    if (!nextPlace || looked >= MAX_LISTED_ITEMS) return { heads, nextPlace }
    place = nextPlace
  }
}

/** Items without their values, and the place of the next page. */
export interface HeadPage {
  heads: ItemHead[]
  nextPlace: ItemPlace | null
}

/**
 * Finds items by id, without their values. Items that aren't in the dataset at the version are missing. If several
 * databases have an item with the same id, finds the one from the newest trace.
 */
export async function findHeads(
  store: Store,
  { projectKey }: Pick<Dataset, 'projectKey'>,
  parts: readonly DatasetPart[],
  ids: readonly string[],
): Promise<Map<string, FoundHead>> {
  const imported = sql`select item.value as item_id, 0 as trace_key from json_each(${JSON.stringify(ids)}) as item`
  const reviewed = sql`select item.value, own.trace_key
    from json_each(${JSON.stringify(ids)}) as item cross join ${spans} as own where own.id = item.value`
  const found = await Promise.all(
    parts.map(part =>
      selectHeads<HeadRow & { alternatives: string | null }>(
        store,
        { projectKey, ...part },
        mayHaveTraces(store.in(part.shard)) ? sql`(${imported} union all ${reviewed})` : sql`(${imported})`,
        sql`, last.alternatives as alternatives`,
      ),
    ),
  )
  const heads = found
    .flat()
    .toSorted((one, other) => one.traceKey - other.traceKey)
    .flatMap(({ alternatives, ...row }) => toHead(row).map((head): FoundHead => ({ ...head, alternatives })))
  return new Map(heads.map(head => [head.id, head]))
}

/** The part of a dataset that a query reads. */
interface Part extends DatasetPart {
  projectKey: number
}

interface HeadRow extends Omit<ItemHead, 'place' | 'decision' | 'isExcluded' | 'isStale' | 'isStaleNow'> {
  traceKey: number
  stepId: string
  isLive: number
  decision: ItemDecision | null
  isExcluded: number
  isStale: number
  isStaleNow: number
}

function readHeads(store: Store, part: Part, [, traceKey, itemId]: ItemPlace, limit: number): Promise<HeadRow[]> {
  // Skips from item to item, no matter how many entries each item has. The bounds are expressions so that SQLite seeks
  // by both parts of the index. If they were plain columns, it would seek only by the first part and scan all of a
  // trace's items, or all imports.
  const before = (trace: SQL, item: SQL) => sql`(
    select entry.trace_key, entry.item_id, entry.sequence from ${datasetEntries} as entry
    where entry.project_key = ${part.projectKey} and entry.step_id = ${part.stepId}
      and (entry.trace_key, entry.item_id) < (${trace}, ${item})
    order by entry.trace_key desc, entry.item_id desc, entry.sequence desc limit 1)`
  const places = sql`(
    with recursive listed(trace_key, item_id, number) as (
      select chosen.trace_key, chosen.item_id, 1 from ${before(sql`${traceKey}`, sql`${itemId}`)} as chosen
      union all
      select entry.trace_key, entry.item_id, listed.number + 1 from listed cross join ${datasetEntries} as entry
      where listed.number < ${limit} and entry.project_key = ${part.projectKey} and entry.step_id = ${part.stepId}
        and (entry.trace_key, entry.item_id, entry.sequence) = ${before(sql`listed.trace_key`, sql`listed.item_id || ''`)})
    select trace_key, item_id from listed)`
  return selectHeads(store, part, places)
}

/**
 * The last entries of the items at `places` as of the part's `sequence`, with `more` columns. For items of deleted
 * traces, `isLive` is 0.
 */
async function selectHeads<Row extends HeadRow = HeadRow>(
  store: Store,
  { projectKey, shard, stepId, sequence }: Part,
  places: SQL,
  more: SQL = sql``,
): Promise<Row[]> {
  const own = store.in(shard)
  const ofTrace = mayHaveTraces(own) ? OF_TRACE : IMPORTED
  return own.database.all<Row>(sql`
    select ${shard} as shard, last.item_id as id, last.trace_key as traceKey, last.step_id as stepId,
      ${ofTrace.fields}, last.decision as decision, last.split as split, last.is_excluded as isExcluded, last.is_stale as isStale,
      last.user_id as userId, last.decided_at as decidedAt, last.error_type as errorType,
      last.prompt_version_id as promptVersionId, last.input_hash as inputHash, last.note as note,
      last.sequence as sequence, last.values_sequence as valuesSequence${more}
    from ${places} as listed cross join ${datasetEntries} as last
    ${ofTrace.join(store)}
    where last.project_key = ${projectKey} and last.step_id = ${stepId} and last.trace_key = listed.trace_key
      and last.item_id = listed.item_id and last.sequence = (
        select max(entry.sequence) from ${datasetEntries} as entry
        where entry.project_key = ${projectKey} and entry.step_id = ${stepId} and entry.trace_key = listed.trace_key
          and entry.item_id = listed.item_id and entry.sequence <= ${sequence})`)
}

/** The fields that come from an item's trace. */
const OF_TRACE = {
  fields: sql`${traces.id} as traceId,
    (last.trace_key = 0 or ${traces.deletedAt} is null and ${traces.key} is not null) as isLive,
    coalesce((select ${spans.isStale} from ${spans}
      where ${spans.id} = last.reviewed_id and ${spans.traceKey} = last.trace_key), 0) as isStaleNow`,
  join: ({ organization }: Store) =>
    sql`left join ${traces} on ${traces.key} = last.trace_key and ${traces.organizationKey} = ${organization.key}`,
}

/** The same fields for imported examples. */
const IMPORTED: typeof OF_TRACE = { fields: sql`null as traceId, 1 as isLive, 0 as isStaleNow`, join: () => sql`` }

const toHead = ({
  traceKey,
  stepId,
  isLive,
  decision,
  isExcluded,
  isStale,
  isStaleNow,
  ...row
}: HeadRow): ItemHead[] =>
  isLive === 0 || decision === null
    ? []
    : [
        {
          ...row,
          place: [stepId, traceKey, row.id],
          decision,
          isExcluded: isExcluded === 1,
          isStale: isStale === 1,
          isStaleNow: isStaleNow === 1,
        },
      ]

const PLACES = rowSet(['number', 'stepId', 'traceKey', 'itemId', 'sequence', 'valuesSequence'])

/**
 * Reads the values of items from the databases that the items are in. In the query, `entries` joins the entries that
 * have the values of `heads`, under the alias `entry`. `number` is the item's index in `heads`. `ofLast` reads from the
 * item's last entry, under the alias `last`.
 */
export async function selectValues<Row extends { number: number }>(
  store: Store,
  dataset: Pick<Dataset, 'projectKey'>,
  heads: readonly ItemHead[],
  queryFor: (values: ReturnType<typeof valuesOf>) => SQL,
): Promise<Row[]> {
  const groups = [...Map.groupBy(heads.entries(), ([, { shard }]) => shard)]
  const rows = await Promise.all(
    groups.map(([shard, numbered]) => store.in(shard).database.all<Row>(queryFor(valuesOf(dataset, numbered)))),
  )
  return rows.flat()
}

function valuesOf({ projectKey }: Pick<Dataset, 'projectKey'>, heads: readonly [number: number, head: ItemHead][]) {
  const { row } = PLACES
  const places = heads.map(
    ([
      number,
      {
        place: [stepId, traceKey, itemId],
        sequence,
        valuesSequence,
      },
    ]) => {
      return { number, stepId, traceKey, itemId, sequence, valuesSequence }
    },
  )
  const isOf = (alias: string, sequence: SQL) => {
    const entry = sql.raw(alias)
    return sql`${entry}.project_key = ${projectKey} and ${entry}.step_id = ${row.stepId}
      and ${entry}.trace_key = ${row.traceKey} and ${entry}.item_id = ${row.itemId} and ${entry}.sequence = ${sequence}`
  }
  return {
    number: row.number,
    entries: sql`${PLACES.from(PLACES.encodeAll(places))} cross join ${datasetEntries} as entry
      where ${isOf('entry', row.valuesSequence)}`,
    ofLast: (value: SQL) => sql`(select ${value} from ${datasetEntries} as last where ${isOf('last', row.sequence)})`,
  }
}

/** How many items a version has lost because their traces were deleted. */
export async function countRemoved(
  store: Store,
  { projectKey }: Pick<Dataset, 'projectKey'>,
  parts: readonly DatasetPart[],
): Promise<number> {
  const counts = await Promise.all(
    parts.map(({ shard, stepId, sequence }) =>
      store.in(shard).database.$count(
        datasetRemovals,
        sql`${datasetRemovals.projectKey} = ${projectKey} and ${datasetRemovals.stepId} = ${stepId}
          and ${datasetRemovals.added} <= ${sequence}
          and (${datasetRemovals.ended} is null or ${datasetRemovals.ended} > ${sequence})`,
      ),
    ),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
