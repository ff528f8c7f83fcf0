import * as v from 'valibot'
import { sha256Hex } from '../domain/hash.ts'
import { MAX_CURSOR_LENGTH, PAGE_DEFAULT_LIMIT, PAGE_MAX_LIMIT } from '../limits.ts'
import { shownAs, wholeNumber } from './atoms.ts'
import { badRequest } from './errors.ts'

/** A positive whole number in a query. */
const limitUpTo = (max: number) =>
  v.pipe(
    v.string(),
    v.check(value => /^[1-9]\d{0,4}$/.test(value) && Number(value) <= max, `must be a whole number from 1 to ${max}`),
    v.transform(Number),
  )

/** A query parameter that limits one of a response's several lists. */
export const limitParameter = (max: number, description: string) =>
  shownAs(v.optional(limitUpTo(max)), v.optional(v.pipe(wholeNumber(1, max), v.metadata({ description }))))

/** The query parameters of a list. */
export const pageParametersOf = (defaultLimit: number, maxLimit: number) => ({
  limit: shownAs(
    v.optional(limitUpTo(maxLimit), String(defaultLimit)),
    v.optional(
      v.pipe(wholeNumber(1, maxLimit), v.metadata({ description: 'The maximum number of items per page' })),
      defaultLimit,
    ),
  ),
  cursor: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(MAX_CURSOR_LENGTH, 'is not a cursor for this list'),
      v.metadata({ description: 'The `nextCursor` of the previous page' }),
    ),
  ),
})

export const pageParameters = pageParametersOf(PAGE_DEFAULT_LIMIT, PAGE_MAX_LIMIT)

/** The other field of a page, besides its list. */
export const NextCursor = v.nullable(v.string())

/** The types of the values that a list is sorted by. A forged cursor may have other types. */
type PlaceTypes = readonly ('string' | 'number')[]

/** An item's place in its list: the values that the list is sorted by. */
type Place<Types extends PlaceTypes> = { [I in keyof Types]: Types[I] extends 'number' ? number : string }

/**
 * Some of a list's items, and the place after which the list continues. The place is null if there are no more items.
 */
interface Page<Item, Types extends PlaceTypes> {
  items: Item[]
  nextPlace: Place<Types> | null
}

/** A list to read page by page. */
interface Paged<Types extends PlaceTypes, Read extends Page<unknown, Types>> {
  /** The list's name and owner. Cursors from other lists and tenants are invalid here. */
  list: readonly string[]
  query: { limit: number; cursor?: string | undefined }
  place: Types
  /** Reads up to `limit` items after a place, or from the start of the list, and anything else that the page shows. */
  read: (limit: number, after: Place<Types> | undefined) => Promise<Read>
}

/**
 * Reads one page of a list and the cursor of the next page, or null on the last page. 400 for a cursor from another
 * list.
 */
export async function pageOf<const Types extends PlaceTypes, Read extends Page<unknown, Types>>({
  list,
  query,
  place,
  read,
}: Paged<Types, Read>): Promise<Omit<Read, 'nextPlace'> & { nextCursor: string | null }> {
  const after = query.cursor === undefined ? undefined : await decodeCursor(list, place, query.cursor)
  const { nextPlace, ...page } = await read(query.limit, after)
  return { ...page, nextCursor: nextPlace && (await encodeCursor(list, nextPlace)) }
}

/** Builds a page of `limit` items. `found` may have one more item, which shows that there's a next page. */
export function firstOf<Item, const P extends readonly (string | number)[]>(
  found: readonly Item[],
  limit: number,
  placeOf: (item: Item) => P,
): { items: Item[]; nextPlace: P | null } {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, nextPlace: found.length > items.length && last ? placeOf(last) : null }
}

/** The cursor for a place in a list, for a response with several lists. */
export const cursorOf = (list: readonly string[], place: readonly (string | number)[] | null): Promise<string> | null =>
  place && encodeCursor(list, place)

/**
 * The place that a cursor encodes. Undefined if there's no cursor. 400, naming `parameter`, if it's from another list.
 */
export const placeOf = async <const Types extends PlaceTypes>(
  list: readonly string[],
  place: Types,
  cursor: string | undefined,
  parameter: string,
): Promise<Place<Types> | undefined> =>
  cursor === undefined ? undefined : decodeCursor(list, place, cursor, parameter)

const TAG_LENGTH = 16

/** Ties a cursor to its list. It isn't a security check: each page's query is limited to its tenant anyway. */
const tag = async (list: readonly string[], payload: string): Promise<string> =>
  (await sha256Hex(JSON.stringify([...list, payload]))).slice(0, TAG_LENGTH)

async function encodeCursor(list: readonly string[], place: readonly (string | number)[]): Promise<string> {
  // `btoa` accepts only characters that fit into one byte.
  const payload = JSON.stringify(place).replace(
    /[^ -~]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return btoa((await tag(list, payload)) + payload)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

async function decodeCursor<const Types extends PlaceTypes>(
  list: readonly string[],
  place: Types,
  cursor: string,
  parameter = 'cursor',
): Promise<Place<Types>> {
  try {
    const text = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
    const payload = text.slice(TAG_LENGTH)
    const values: unknown = JSON.parse(payload)
    if (text.slice(0, TAG_LENGTH) === (await tag(list, payload)) && isPlace(values, place)) return values
  } catch {
    // If the cursor isn't base64, JSON, or a place, the error below is thrown.
  }
  throw badRequest('is not a cursor for this list', parameter)
}

const isPlace = <Types extends PlaceTypes>(values: unknown, place: Types): values is Place<Types> =>
  Array.isArray(values) &&
  values.length === place.length &&
  values.every(
    (value, index) =>
      typeof value === place[index] && (typeof value === 'string' ? value.isWellFormed() : Number.isFinite(value)),
  )
