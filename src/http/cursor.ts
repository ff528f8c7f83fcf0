import * as v from 'valibot'
import { sha256Hex } from '../domain/hash.ts'
import { PAGE_DEFAULT_LIMIT, PAGE_MAX_LIMIT } from '../limits.ts'
import { badRequest } from './errors.ts'

/** The query parameters of every list. */
export const pageParameters = {
  limit: v.optional(
    v.pipe(
      v.string(),
      v.check(isPageLimit, `must be a whole number from 1 to ${PAGE_MAX_LIMIT}`),
      v.metadata({ description: `Items a page, 1 to ${PAGE_MAX_LIMIT}, default ${PAGE_DEFAULT_LIMIT}` }),
      v.transform(Number),
    ),
    String(PAGE_DEFAULT_LIMIT),
  ),
  cursor: v.optional(v.pipe(v.string(), v.metadata({ description: 'The nextCursor of the page before' }))),
}

function isPageLimit(value: string): boolean {
  return /^[1-9]\d{0,2}$/.test(value) && Number(value) <= PAGE_MAX_LIMIT
}

/** What a page answers beside its list. */
export const NextCursor = v.nullable(v.string())

/** Where an item stands in its list: the values that the list is sorted by. */
type Place = (string | number)[]

/** A list that is read page by page. */
interface Paged<Item> {
  /** The list's name and whose it is: a cursor of another list or tenant is none of this one's. */
  list: readonly string[]
  query: { limit: number; cursor?: string | undefined }
  /** Reads up to `limit` items that follow the place `after`, or the first ones. */
  read: (limit: number, after: Place | undefined) => Promise<Item[]>
  /** The types of a place's values, which a forged cursor need not have. */
  place: readonly ('string' | 'number')[]
  placeOf: (item: Item) => Place
}

/** One page of a list and the cursor of the next one, null on the last. 400 for a cursor that this list did not give. */
export async function pageOf<Item>({
  list,
  query,
  place,
  read,
  placeOf,
}: Paged<Item>): Promise<{ items: Item[]; nextCursor: string | null }> {
  const after = query.cursor === undefined ? undefined : await decodeCursor(list, place, query.cursor)
  // One item more than is shown tells whether a next page exists.
  const found = await read(query.limit + 1, after)
  const items = found.slice(0, query.limit)
  const last = items.at(-1)
  const nextCursor = found.length > items.length && last ? await encodeCursor(list, placeOf(last)) : null
  return { items, nextCursor }
}

const TAG_LENGTH = 16

/** Ties a cursor to its list. It guards no data: each page's query is bound to its tenant anyway. */
const tag = async (list: readonly string[], payload: string): Promise<string> =>
  (await sha256Hex(JSON.stringify([...list, payload]))).slice(0, TAG_LENGTH)

async function encodeCursor(list: readonly string[], place: Place): Promise<string> {
  const payload = JSON.stringify(place)
  return btoa((await tag(list, payload)) + payload)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

async function decodeCursor(list: readonly string[], place: readonly string[], cursor: string): Promise<Place> {
  try {
    const text = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
    const payload = text.slice(TAG_LENGTH)
    const values: unknown = JSON.parse(payload)
    if (text.slice(0, TAG_LENGTH) === (await tag(list, payload)) && isPlace(values, place)) return values
  } catch {
    // Not base64, not JSON or no place: all are answered below.
  }
  throw badRequest('is not a cursor of this list', 'cursor')
}

const isPlace = (values: unknown, place: readonly string[]): values is Place =>
  Array.isArray(values) &&
  values.length === place.length &&
  values.every((value, index) => typeof value === place[index] && (typeof value === 'string' || Number.isFinite(value)))
