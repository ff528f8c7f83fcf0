import * as v from 'valibot'
import { sha256Hex } from '../domain/hash.ts'
import { PAGE_DEFAULT_LIMIT, PAGE_MAX_LIMIT } from '../limits.ts'
import { badRequest } from './errors.ts'

/** The query parameters of a list. */
export const pageParametersOf = (defaultLimit: number, maxLimit: number) => ({
  limit: v.optional(
    v.pipe(
      v.string(),
      v.check(
        value => /^[1-9]\d{0,4}$/.test(value) && Number(value) <= maxLimit,
        `must be a whole number from 1 to ${maxLimit}`,
      ),
      v.metadata({ description: `Items a page, 1 to ${maxLimit}, default ${defaultLimit}` }),
      v.transform(Number),
    ),
    String(defaultLimit),
  ),
  cursor: v.optional(v.pipe(v.string(), v.metadata({ description: 'The cursor that the page before ended with' }))),
})

export const pageParameters = pageParametersOf(PAGE_DEFAULT_LIMIT, PAGE_MAX_LIMIT)

/** What a page answers beside its list. */
export const NextCursor = v.nullable(v.string())

/** Where an item stands in its list: the values that the list is sorted by. */
export type Place = readonly (string | number)[]

/** Some of a list's items, and where the next ones begin; null where nothing is left. */
export interface Page<Item> {
  items: Item[]
  nextPlace: Place | null
}

/** A list that is read page by page. */
interface Paged<Item> {
  /** The list's name and whose it is: a cursor of another list or tenant is none of this one's. */
  list: readonly string[]
  query: { limit: number; cursor?: string | undefined }
  /** Reads up to `limit` items that follow the place `after`, or the first ones. */
  read: (limit: number, after: Place | undefined) => Promise<Page<Item>>
  /** The types of a place's values, which a forged cursor need not have. */
  place: readonly ('string' | 'number')[]
}

/** One page of a list and the cursor of the next one, null on the last. 400 for a cursor that this list did not give. */
export async function pageOf<Item>({
  list,
  query,
  place,
  read,
}: Paged<Item>): Promise<{ items: Item[]; nextCursor: string | null }> {
  const after = query.cursor === undefined ? undefined : await decodeCursor(list, place, query.cursor)
  const { items, nextPlace } = await read(query.limit, after)
  return { items, nextCursor: nextPlace && (await encodeCursor(list, nextPlace)) }
}

/** A page of what was found: `limit` items of which one more was asked for, which tells whether a next page exists. */
export function firstOf<Item>(found: readonly Item[], limit: number, placeOf: (item: Item) => Place): Page<Item> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, nextPlace: found.length > items.length && last ? placeOf(last) : null }
}

const TAG_LENGTH = 16

/** Ties a cursor to its list. It guards no data: each page's query is bound to its tenant anyway. */
const tag = async (list: readonly string[], payload: string): Promise<string> =>
  (await sha256Hex(JSON.stringify([...list, payload]))).slice(0, TAG_LENGTH)

async function encodeCursor(list: readonly string[], place: Place): Promise<string> {
  // Base64 takes one byte a character.
  const payload = JSON.stringify(place).replace(
    /[^ -~]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
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
