import { Unanswered } from '../../domain/failures.ts'
import type { Store } from './store.ts'

/**
 * Reads from each database that may have the organization's traces, in parallel. A database that doesn't respond is left
 * out, and the response's header names it. Throws if none responds.
 */
export const readShards = <Found>(store: Store, read: (shard: Store) => Promise<Found>): Promise<Found[]> =>
  readEach(store, store.shards, read)

/** The same for some of the store's databases. */
export async function readEach<Found>(
  { missing }: Store,
  databases: readonly Store[],
  read: (store: Store) => Promise<Found>,
): Promise<Found[]> {
  const { found, failures } = await readSome(databases, read)
  const [first] = failures
  if (first && found.length === 0) throw first.error
  for (const { shard } of failures) missing.add(shard)
  return found
}

/** Reads from each of these databases in parallel, and tells which ones didn't respond. Throws any other error. */
export async function readSome<Found>(stores: readonly Store[], read: (store: Store) => Promise<Found>) {
  const [only] = stores
  // Reading from one database is the same as without shards, errors included.
  if (only && stores.length === 1) return { found: [await read(only)], failures: [] }
  const settled = await Promise.allSettled(stores.map(read))
  const found: Found[] = []
  const failures: { shard: number; error: unknown }[] = []
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') found.push(result.value)
    else if (isUnanswered(result.reason)) failures.push({ shard: stores[index]?.shard ?? 0, error: result.reason })
    else throw result.reason
  }
  return { found, failures }
}

/** Whether an error is a database that didn't respond. drizzle wraps its driver's errors. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof Unanswered || (error instanceof Error && error.cause !== undefined && isUnanswered(error.cause))

/** Some of a list's items, and the place where the next ones begin, as `http/cursor.ts` has it. */
interface Page<Item, Place> {
  items: Item[]
  nextPlace: Place | null
}

/**
 * Merges one page from each database into a page of the whole list. A database's next place is where it stopped looking,
 * so items past the first of these places wait for the next page. The places are the same in every database, and a
 * cursor stays valid if databases are added.
 */
export function mergePages<Item, Place extends readonly (string | number)[]>(
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
 * keys, as a query with these groups returns them. One database's list stays as it is.
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
 * The time of the last of the newest `limit` rows, by the times of the newest ones in each of several databases.
 * Undefined if there aren't more than that. Rows with the same time count as one.
 */
export function oldestOf(times: readonly (readonly number[])[], limit: number): number | undefined {
  const all = times.flat()
  return all.length > limit ? all.toSorted((one, other) => other - one)[limit - 1] : undefined
}

/** Compares places of a list that's sorted by all of its values in one direction. */
export const placeOrder =
  (direction: 'ascending' | 'descending') =>
  (one: readonly (string | number)[], other: readonly (string | number)[]): number => {
    const index = one.findIndex((value, place) => value !== other[place])
    if (index === -1) return 0
    const isFirst = (one[index] ?? '') < (other[index] ?? '')
    return isFirst === (direction === 'ascending') ? -1 : 1
  }
