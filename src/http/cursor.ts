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
      v.transform(Number),
      v.metadata({ description: `Items a page, 1 to ${PAGE_MAX_LIMIT}, default ${PAGE_DEFAULT_LIMIT}` }),
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

/** Where a page ends: the sort values of its last item. */
export type Position = readonly (string | number)[]

/**
 * Cursors of one list. `list` names the list and whose it is: a cursor of another list or tenant is none of ours. The tag
 * keeps cursors opaque; it guards nothing, since each page's query is bound to its tenant anyway.
 */
export async function encodeCursor(list: readonly string[], position: Position): Promise<string> {
  const payload = JSON.stringify(position)
  return btoa(`${await tag(list, payload)}${payload}`)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** The position that a cursor stands for, undefined for the first page. 400 for one that this list did not give. */
export async function decodeCursor<P extends Position>(
  list: readonly string[],
  schema: v.GenericSchema<unknown, P>,
  cursor: string | undefined,
): Promise<P | undefined> {
  if (cursor === undefined) return undefined
  try {
    const text = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
    const payload = text.slice(TAG_LENGTH)
    if (text.slice(0, TAG_LENGTH) === (await tag(list, payload))) return v.parse(schema, JSON.parse(payload))
  } catch {
    // Not base64, not JSON or not a position: all are answered below.
  }
  throw badRequest('is not a cursor of this list', 'cursor')
}

const TAG_LENGTH = 16

const tag = async (list: readonly string[], payload: string): Promise<string> =>
  (await sha256Hex(JSON.stringify([...list, payload]))).slice(0, TAG_LENGTH)

/**
 * One page of a list: reads one item more than it shows, to know whether a next page exists.
 * `position` gives an item's sort values.
 */
export async function pageOf<Item>(
  list: readonly string[],
  limit: number,
  read: (limit: number) => Promise<Item[]>,
  position: (item: Item) => Position,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const found = await read(limit + 1)
  const items = found.slice(0, limit)
  const last = items.at(-1)
  const nextCursor = found.length > limit && last ? await encodeCursor(list, position(last)) : null
  return { items, nextCursor }
}
