import { Unanswered } from '../../domain/failures.ts'
import { MAX_PAGE_VALUE_BYTES, PAST_DEADLINE_RETRY_SECONDS } from '../../limits.ts'
import { within } from './deadline.ts'
import { TimedOut } from './faults.ts'
import type { Store } from './store.ts'

/** Reads from databases that may have the organization's traces: all of them, unless the caller gives specific ones. */
export type ReadAcross = <Found>(
  store: Store,
  read: (shard: Store) => Promise<Found>,
  shards?: readonly Store[],
) => Promise<Found[]>

/**
 * Reads from each database in parallel. Databases that don't respond are left out of this read and of the request's
 * later reads, and a response header lists them. Throws if none responds.
 */
export const readShards: ReadAcross = async (store, read, shards = store.shards) => {
  const { missing } = store
  const all = store.shards
  // If there's only one database, reads and their errors are the same as without shards.
  if (all.length === 1 && shards.length < 2) return Promise.all(shards.map(read))
  const { found, failures } = await readSome(
    shards.filter(({ shard }) => !missing.has(shard)),
    read,
  )
  for (const { shard } of failures) missing.add(shard)
  if (failures[0] && all.every(({ shard }) => missing.has(shard))) {
    throw failures[0].error
  }
  return found
}

/** Like `readShards`, for some of the store's databases. Throws if none of them responds. */
export async function readEach<Found>(
  store: Store,
  databases: readonly Store[],
  read: (store: Store) => Promise<Found>,
): Promise<Found[]> {
  const found = await readShards(store, read, databases)
  if (found.length === 0 && databases.length > 0)
    throw new Unanswered(PAST_DEADLINE_RETRY_SECONDS, new Error('no database responded'))
  return found
}

/** Like `readShards`, for reads that must be complete. Throws if a database doesn't respond. */
export const readAllShards: ReadAcross = (_store, read, shards = _store.shards) => Promise.all(shards.map(read))

/** Reads from each of these databases in parallel, and returns which ones didn't respond. Throws any other error. */
export async function readSome<Found>(stores: readonly Store[], read: (store: Store) => Promise<Found>) {
  const settled = await Promise.allSettled(stores.map(store => within(patienceMs(store), () => read(store))))
  const found: Found[] = []
  const failures: { shard: number; error: unknown }[] = []
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') found.push(result.value)
    else if (isUnanswered(result.reason))
      failures.push({
        shard: stores[index]?.shard ?? 0,
        error: new Unanswered(PAST_DEADLINE_RETRY_SECONDS, result.reason),
      })
    else throw result.reason
  }
  return { found, failures }
}

/** How long to wait for one of several databases. Leaves some time for the rest of the request. */
function patienceMs({ deadline }: Store): number {
  const remainingMs = deadline.remainingMs()
  return remainingMs > deadline.attemptMs ? remainingMs - deadline.attemptMs / 2 : remainingMs
}

/** Items, grouped by the store of the database that they're in. */
export interface Grouped<Item> {
  groups: ReadonlyMap<Store, Item[]>
  /** The items that may be in a database that didn't respond. */
  unplaced: readonly Item[]
  /** That database's error. */
  failure: unknown
}

/**
 * Changes lists of items one after another, each item in its database. A database that doesn't respond is left out of
 * the later lists, so only its own items stay unchanged.
 */
export class ChangesInEach {
  readonly #silent = new Set<number>()
  #failure: unknown

  /**
   * Changes one list, in all databases in parallel. Returns the results of those that responded. Throws if none of the
   * organization's databases is left.
   */
  async change<Item, Result>(
    { groups, unplaced, failure }: Grouped<Item>,
    change: (store: Store, items: readonly Item[]) => Promise<Result>,
  ): Promise<Result[]> {
    const lists = [...groups].filter(([{ shard }]) => !this.#silent.has(shard))
    const settled = await Promise.allSettled(lists.map(([store, items]) => change(store, items)))
    if (unplaced.length > 0) this.#failure ??= failure
    return settled.flatMap((result, index) => {
      if (result.status === 'fulfilled') return [result.value]
      const store = lists[index]?.[0]
      if (store) this.#silent.add(store.shard)
      this.#failure ??= result.reason
      const isLeft = store?.shards.some(({ shard }) => !this.#silent.has(shard))
      if (!isLeft || !isUnanswered(result.reason)) throw result.reason
      return []
    })
  }

  /** Throws if a database didn't respond. */
  requireAll(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}

/**
 * Changes items, each in its database, in parallel. Throws if a database didn't respond, but only after the changes in
 * the others.
 */
export async function changeEach<Item, Result>(
  grouped: Grouped<Item>,
  change: (store: Store, items: readonly Item[]) => Promise<Result>,
): Promise<Result[]> {
  const changes = new ChangesInEach()
  const results = await changes.change(grouped, change)
  changes.requireAll()
  return results
}

/**
 * Changes items, each in its database, in parallel, and refuses those whose database didn't respond. Throws if none
 * responded.
 */
export async function changeSome<Item>(
  { groups, unplaced, failure }: Grouped<Item>,
  change: (store: Store, items: readonly Item[]) => Promise<unknown>,
  refuse: (items: readonly Item[], error: unknown) => void,
): Promise<void> {
  const lists = [...groups]
  const settled = await Promise.allSettled(lists.map(([store, items]) => change(store, items)))
  const refused = unplaced.length > 0 ? [{ items: unplaced, error: failure }] : []
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') continue
    if (!isUnanswered(result.reason)) throw result.reason
    refused.push({ items: lists[index]?.[1] ?? [], error: result.reason })
  }
  if (refused[0] && settled.every(({ status }) => status === 'rejected')) throw refused[0].error
  for (const { items, error } of refused) refuse(items, error)
}

/** Whether an error means that a database didn't respond. drizzle wraps its driver's errors. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof Unanswered ||
  error instanceof TimedOut ||
  (error instanceof Error && error.cause !== undefined && isUnanswered(error.cause))

/** An item of a list, with the number of its database. */
export type InShard<Item> = Item & { shard: number }

/** Adds the number of their database to each of these items. */
export const inShard = <Item>({ shard }: Store, items: readonly Item[]): InShard<Item>[] =>
  items.map(item => ({ ...item, shard }))

/**
 * Reads more about a list's items, each in its database, in parallel. If a database doesn't respond, `across`
 * determines whether to leave it out or to throw.
 */
export async function readPlaced<Item extends { shard: number }, Found>(
  store: Store,
  items: readonly Item[],
  read: (shard: Store, items: readonly Item[]) => Promise<Found>,
  across: ReadAcross = readShards,
): Promise<Found[]> {
  const groups = Map.groupBy(items, ({ shard }) => shard)
  const shards = [...groups.keys()].map(store.in)
  return shards.length === 0 ? [] : across(store, shard => read(shard, groups.get(shard.shard) ?? []), shards)
}

/** Items as a page shows them. */
interface ShownItems<Item, Shown> {
  /** What to show of each item. Items that no longer exist are left out. */
  shown: ReadonlyMap<Item, Shown>
  /** How many of the given items were read. The rest don't fit. */
  count: number
}

/**
 * Shows as many of a list's items as fit on a page, each read in its database. `show` gets a database's items and the
 * maximum number of bytes to show, and `sizeOf` measures what it shows. Returns what to show, and how many of the given
 * items that covers.
 */
export async function showPlaced<Item extends { shard: number }, Shown>(
  store: Store,
  items: readonly Item[],
  show: (shard: Store, items: readonly Item[], maxBytes: number) => Promise<ShownItems<Item, Shown>>,
  sizeOf: (shown: Shown) => number,
  across: ReadAcross = readShards,
): Promise<{ shown: { item: Item; shown: Shown }[]; count: number }> {
  const databases = new Set(items.map(({ shard }) => shard)).size
  // Together, the databases' values must fit into memory.
  const maxBytes = Math.floor(MAX_PAGE_VALUE_BYTES / Math.max(databases, 1))
  const shown = new Map<Item, Shown>()
  const left = new Set<Item>()
  await readPlaced(
    store,
    items,
    async (shard, own) => {
      const page = await show(shard, own, maxBytes)
      for (const [item, value] of page.shown) shown.set(item, value)
      for (const item of own.slice(page.count)) left.add(item)
    },
    across,
  )
  let bytes = 0
  const end = items.findIndex((item, index) => {
    const value = shown.get(item)
    // A single item may take up more than its database's share of the page.
    if (value !== undefined && databases > 1) bytes += sizeOf(value)
    return left.has(item) || (bytes > MAX_PAGE_VALUE_BYTES && index > 0)
  })
  const fitting = end === -1 ? items : items.slice(0, end)
  return {
    shown: fitting.flatMap(item => {
      const value = shown.get(item)
      return value === undefined ? [] : [{ item, shown: value }]
    }),
    count: fitting.length,
  }
}

/** Some of a list's items, and the place where the next ones begin. */
interface Page<Item, Place> {
  items: Item[]
  nextPlace: Place | null
}

/**
 * Merges one page from each database into a page of the whole list. A database's next place is where it stopped
 * looking, so items past the first of these places wait for the next page. A place means the same thing in every
 * database, so a cursor stays valid if databases are added.
 */
export function mergePages<Item, Place>(
  pages: readonly Page<Item, Place>[],
  {
    limit,
    placeOf,
    compare,
  }: { limit: number; placeOf: (item: Item) => Place; compare: (one: Place, other: Place) => number },
): Page<Item, Place> {
  const [only] = pages
  if (only && pages.length === 1) return only
  const [end = null] = pages.flatMap(({ nextPlace }) => (nextPlace ? [nextPlace] : [])).toSorted(compare)
  const found = pages
    .flatMap(({ items }) => items)
    .filter(item => end === null || compare(placeOf(item), end) <= 0)
    .toSorted((one, other) => compare(placeOf(one), placeOf(other)))
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, nextPlace: found.length > items.length && last ? placeOf(last) : end }
}

/**
 * Merges lists of sums from several databases: `sum` adds up the rows with the same key. The result is sorted by the
 * keys, as a query with these groups returns them. A list from a single database is returned unchanged.
 */
export function sumRows<Row>(
  lists: readonly (readonly Row[])[],
  keyOf: (row: Row) => readonly (string | number)[],
  sum: (rows: readonly [Row, ...Row[]]) => Row,
): readonly Row[] {
  const [only] = lists
  if (only && lists.length === 1) return only
  const compare = placeOrder('ascending')
  const groups = Map.groupBy(lists.flat(), row => JSON.stringify(keyOf(row)))
  return [...groups.values()]
    .flatMap(([first, ...others]) => (first ? sum([first, ...others]) : []))
    .toSorted((one, other) => compare(keyOf(one), keyOf(other)))
}

/** Returns a function that adds up these fields of rows that are otherwise the same. */
export const sumOf =
  <Field extends string>(...fields: readonly Field[]) =>
  <Row extends Record<Field, number>>(rows: readonly [Row, ...Row[]]): Row => {
    const sum = { ...rows[0] }
    for (const field of fields) Object.assign(sum, { [field]: rows.reduce((total, row) => total + row[field], 0) })
    return sum
  }

/**
 * The time of the oldest of the newest `limit` rows, given the times of the newest rows in each of several databases.
 * Undefined if there aren't more than `limit` rows. Rows may have the same time, so more than `limit` rows may be at or
 * after the returned time.
 */
export function oldestOf(times: readonly (readonly number[])[], limit: number): number | undefined {
  const all = times.flat()
  return all.length > limit ? all.toSorted((one, other) => other - one)[limit - 1] : undefined
}

/** Compares places in a list that's sorted by all of their values in the same direction. */
export const placeOrder =
  (direction: 'ascending' | 'descending') =>
  (one: readonly (string | number)[], other: readonly (string | number)[]): number => {
    const index = one.findIndex((value, place) => value !== other[place])
    if (index === -1) return 0
    const isFirst = (one[index] ?? '') < (other[index] ?? '')
    return isFirst === (direction === 'ascending') ? -1 : 1
  }
