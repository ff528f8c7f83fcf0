import { MAX_METADATA_BYTES } from '../limits.ts'
import type { Json, JsonObject } from './json.ts'
import { utf8Length } from './text.ts'

/** Metadata after a merge. */
interface MergedMetadata {
  metadata: JsonObject
  /** The given fields that didn't fit, in the order given. */
  leftOut: string[]
}

/**
 * Sets as many of the given fields as fit within 64 KiB of JSON. A field that doesn't fit is `leftOut`, and keeps its
 * old value. Fields that make the metadata smaller are set first, so merging the same fields again changes nothing.
 */
export function mergeMetadata(metadata: JsonObject, given: readonly (readonly [string, Json])[]): MergedMetadata {
  // Maps, because a field may be named __proto__.
  const merged = new Map([...Object.entries(metadata), ...given])
  const whole = Object.fromEntries(merged)
  if (utf8Length(JSON.stringify(whole)) <= MAX_METADATA_BYTES) return { metadata: whole, leftOut: [] }
  return mergeFitting(new Map(Object.entries(metadata)), new Map(given))
}

function mergeFitting(fields: Map<string, Json>, given: ReadonlyMap<string, Json>): MergedMetadata {
  const changes = Array.from(given, ([field, value]) => {
    const before = fields.get(field)
    return { field, value, added: bytesOf(field, value) - (before === undefined ? 0 : bytesOf(field, before)) }
  })
  // Starts at 1: two braces, minus the comma that the last field doesn't have.
  let bytes = [...fields].reduce((sum, [field, value]) => sum + bytesOf(field, value), 1)
  const leftOut = new Set<string>()
  for (const { field, value, added } of changes.toSorted(byAddedBytes)) {
    if (added > 0 && bytes + added > MAX_METADATA_BYTES) {
      leftOut.add(field)
    } else {
      bytes += added
      fields.set(field, value)
    }
  }
  return { metadata: Object.fromEntries(fields), leftOut: [...given.keys()].filter(field => leftOut.has(field)) }
}

/** The sort is stable, so fields otherwise stay in the order given. */
const byAddedBytes = (left: { added: number }, right: { added: number }): number =>
  Number(left.added > 0) - Number(right.added > 0)

/** The bytes that a field takes in an object's JSON, with its colon and a comma. */
const bytesOf = (field: string, value: Json): number => utf8Length(JSON.stringify(field) + JSON.stringify(value)) + 2
