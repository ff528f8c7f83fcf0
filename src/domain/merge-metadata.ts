import { MAX_METADATA_BYTES } from '../limits.ts'
import type { Json, JsonObject } from './json.ts'
import { utf8Length } from './text.ts'

/** Metadata with more fields. */
interface MergedMetadata {
  metadata: JsonObject
  /** The given fields that didn't fit, in their order. */
  left: string[]
}

/**
 * Sets the given fields as far as the whole has at most 64 KiB as JSON. A field that doesn't fit is `left`: what was there
 * under its name stays. Fields that make the whole smaller go first, so the same fields, given again, change nothing.
 */
export function mergeMetadata(metadata: JsonObject, given: readonly (readonly [string, Json])[]): MergedMetadata {
  // Maps: a field may be named __proto__.
  const merged = new Map([...Object.entries(metadata), ...given])
  const whole = Object.fromEntries(merged)
  if (utf8Length(JSON.stringify(whole)) <= MAX_METADATA_BYTES) return { metadata: whole, left: [] }
  return mergeWhatFits(new Map(Object.entries(metadata)), new Map(given))
}

function mergeWhatFits(fields: Map<string, Json>, given: ReadonlyMap<string, Json>): MergedMetadata {
  const changes = Array.from(given, ([field, value]) => {
    const before = fields.get(field)
    return { field, value, added: bytesOf(field, value) - (before === undefined ? 0 : bytesOf(field, before)) }
  })
  // The braces, less the comma that the last field lacks.
  let bytes = [...fields].reduce((sum, [field, value]) => sum + bytesOf(field, value), 1)
  const left = new Set<string>()
  for (const { field, value, added } of changes.toSorted(shrinkingFirst)) {
    if (added > 0 && bytes + added > MAX_METADATA_BYTES) {
      left.add(field)
    } else {
      bytes += added
      fields.set(field, value)
    }
  }
  return { metadata: Object.fromEntries(fields), left: [...given.keys()].filter(field => left.has(field)) }
}

/** The sort is stable: otherwise the order in which the fields were given counts. */
const shrinkingFirst = (left: { added: number }, right: { added: number }): number =>
  Number(left.added > 0) - Number(right.added > 0)

/** What a field takes in an object's JSON, with its colon and a comma. */
const bytesOf = (field: string, value: Json): number => utf8Length(JSON.stringify(field) + JSON.stringify(value)) + 2
