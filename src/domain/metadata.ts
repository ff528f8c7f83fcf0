import {
  MAX_FIELD_PATH_BYTES,
  MAX_FIELD_VALUE_BYTES,
  MAX_METADATA_BYTES,
  MAX_NAMED_FIELDS,
  MAX_SEARCHABLE_FIELDS,
} from '../limits.ts'
import { sha256Hex } from './hash.ts'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { cutText, utf8Length } from './text.ts'

/** A metadata leaf as search compares it. */
export interface SearchableField {
  path: string
  value: string
}

/**
 * The searchable leaves of metadata: scalars by dotted path and as text (`42`, `true`), scalars in an array by the
 * array's path. Only leaves with paths of at most 256 bytes count, and only the first 64 of them in document order.
 */
export async function searchableFields(metadata: JsonObject): Promise<SearchableField[]> {
  const fields = await comparableFields(countLeaves(metadata).kept)
  return [...new Map(fields.map(field => [fieldKey(field), field])).values()]
}

/** The distinct values at this path that a search can match. */
export const searchableValues = (metadata: JsonObject, path: string): string[] => {
  const values = countLeaves(metadata).kept.filter(leaf => leaf.path === path)
  return [...new Set(values.map(({ value }) => value.toWellFormed()))]
}

/** Warns about metadata fields that were left out because they didn't fit. Empty if none were. */
export function leftWarnings(left: readonly string[]): string[] {
  if (left.length === 0) return []
  const named = left.slice(0, MAX_NAMED_FIELDS).map(field => JSON.stringify(cutText(field, MAX_FIELD_PATH_BYTES)))
  const others = left.length > named.length ? ` and ${left.length - named.length} more` : ''
  return [`metadata: limited to ${MAX_METADATA_BYTES} bytes in total; left out ${named.join(', ')}${others}`]
}

/** Warns about metadata leaves that aren't searchable. Empty if all are. */
export function searchWarnings(metadata: JsonObject): string[] {
  const { kept, shortPaths, longPaths } = countLeaves(metadata)
  const warnings: string[] = []
  if (shortPaths > kept.length) {
    warnings.push(`metadata: only the first ${MAX_SEARCHABLE_FIELDS} of ${shortPaths} values are searchable`)
  }
  if (longPaths > 0) {
    warnings.push(`metadata: values with a path over ${MAX_FIELD_PATH_BYTES} bytes are not searchable`)
  }
  return warnings
}

function countLeaves(metadata: JsonObject) {
  const kept: SearchableField[] = []
  let shortPaths = 0
  let longPaths = 0
  for (const { path, value } of leavesOf(metadata, '')) {
    if (path === TOO_LONG) longPaths++
    else if (++shortPaths <= MAX_SEARCHABLE_FIELDS) kept.push({ path, value })
  }
  return { kept, shortPaths, longPaths }
}

/** A string that identifies a field. */
export const fieldKey = ({ path, value }: SearchableField): string => JSON.stringify([path, value])

/** Filters in the form that search compares. */
export const comparableFields = (filters: readonly SearchableField[]): Promise<SearchableField[]> =>
  Promise.all(filters.map(async ({ path, value }) => ({ path, value: await comparable(value) })))

/** The form in which search compares a value. Long values are hashed, which keeps index rows small. */
async function comparable(value: string): Promise<string> {
  // D1 would turn each half of a broken surrogate pair into three replacement characters.
  const text = value.toWellFormed()
  // A value that looks like a hash is also hashed, so it can't match the value with that hash.
  const isHashed = utf8Length(text) > MAX_FIELD_VALUE_BYTES || text.startsWith(HASH_PREFIX)
  return isHashed ? HASH_PREFIX + (await sha256Hex(text)) : text
}

const HASH_PREFIX = 'sha256:'

/**
 * Replaces a path that's too long to search by. Building such paths could take gigabytes, even for 64 KiB of metadata.
 */
const TOO_LONG = Symbol('path too long')

interface Leaf {
  path: string | typeof TOO_LONG
  value: string
}

function* leavesOf(object: JsonObject, prefix: string | typeof TOO_LONG): Generator<Leaf> {
  for (const [field, value] of Object.entries(object)) {
    yield* leavesAt(value, prefix === TOO_LONG ? TOO_LONG : boundedPath(prefix, field))
  }
}

function* leavesAt(value: Json, path: string | typeof TOO_LONG): Generator<Leaf> {
  if (Array.isArray(value)) for (const item of value) yield* leavesAt(item, path)
  else if (isJsonObject(value)) yield* leavesOf(value, path === TOO_LONG ? TOO_LONG : `${path}.`)
  else yield { path, value: String(value) }
}

function boundedPath(prefix: string, field: string): string | typeof TOO_LONG {
  if (field.length > MAX_FIELD_PATH_BYTES) return TOO_LONG
  const path = (prefix + field).toWellFormed()
  return utf8Length(path) <= MAX_FIELD_PATH_BYTES ? path : TOO_LONG
}
