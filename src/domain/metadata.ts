import { MAX_FIELD_PATH_BYTES, MAX_FIELD_VALUE_BYTES, MAX_SEARCHABLE_FIELDS } from '../limits.ts'
import { sha256Hex } from './hash.ts'
import type { Json, JsonObject } from './json.ts'
import { utf8Length } from './text.ts'

/** A metadata leaf as the search compares it. */
export interface SearchableField {
  path: string
  value: string
}

interface SearchableFields {
  fields: SearchableField[]
  /** Why some leaves are not searchable; empty where all are. */
  warnings: string[]
}

/**
 * The searchable leaves of metadata: scalars by their dotted path and as text (`42`, `true`), scalars in an array by the
 * array's path. The first 64 in document order count, of those with paths of at most 256 bytes.
 */
export async function searchableFields(metadata: JsonObject): Promise<SearchableFields> {
  const leaves = [...leavesOf(metadata, [])]
  const short = leaves.filter(({ path }) => utf8Length(path) <= MAX_FIELD_PATH_BYTES)
  const kept = short.slice(0, MAX_SEARCHABLE_FIELDS)
  const fields = await Promise.all(kept.map(async ({ path, value }) => ({ path, value: await comparable(value) })))
  const distinct = new Map(fields.map(field => [fieldKey(field), field]))
  const warnings: string[] = []
  if (short.length > kept.length) {
    warnings.push(`metadata: only the first ${MAX_SEARCHABLE_FIELDS} of ${short.length} values are searchable`)
  }
  if (leaves.length > short.length) {
    warnings.push(`metadata: values with a path over ${MAX_FIELD_PATH_BYTES} bytes are not searchable`)
  }
  return { fields: [...distinct.values()], warnings }
}

/** One text for each different field. */
export const fieldKey = ({ path, value }: SearchableField): string => JSON.stringify([path, value])

/** What a search for `value` compares. Long values are hashed, so that an index row stays small. */
export async function comparable(value: string): Promise<string> {
  // D1 would turn each half of a broken surrogate pair into three replacement characters.
  const text = value.toWellFormed()
  // A value that looks like a hash is hashed too, so that it cannot be taken for what it is the hash of.
  const isHashed = utf8Length(text) > MAX_FIELD_VALUE_BYTES || text.startsWith(HASH_PREFIX)
  return isHashed ? HASH_PREFIX + (await sha256Hex(text)) : text
}

const HASH_PREFIX = 'sha256:'

function* leavesOf(value: Json, path: readonly string[]): Generator<SearchableField> {
  if (typeof value !== 'object' || value === null) {
    yield { path: path.join('.').toWellFormed(), value: String(value) }
  } else if (Array.isArray(value)) {
    for (const item of value) yield* leavesOf(item, path)
  } else {
    for (const [field, child] of Object.entries(value)) yield* leavesOf(child, [...path, field])
  }
}
