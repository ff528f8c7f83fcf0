import type { Json, JsonObject } from '../../domain/json.ts'

/*
 * Embedding vectors are as large as a page of text and tell a reader nothing, so they're never stored.
 */

/** Shorter lists of numbers may be meant for a reader. */
const MIN_DIMENSIONS = 4
/** How many levels deep to look for vectors. Providers put them at the third level. */
const MAX_DEPTH = 8

const FIELDS = /^(?:embeddings?|vectors?|dense_vector|sparse_vector)$/i

const isVector = (value: Json): value is number[] =>
  Array.isArray(value) && value.length >= MIN_DIMENSIONS && value.every(item => typeof item === 'number')

/** Whether a value is nothing but an embedding, as functions return it: many fractions between -1 and 1. */
export const isEmbedding = (value: Json): boolean =>
  isVector(value) && value.length >= 16 && value.every(item => Math.abs(item) <= 1 && !Number.isInteger(item))

/** The output of an embedding call as `{count, dimensions}`, or undefined if it has no vectors. */
export function vectorsIn(output: Json): JsonObject | undefined {
  let count = 0
  let dimensions: number | undefined
  const visit = (value: Json, isField: boolean, depth: number): void => {
    if (isVector(value)) {
      count++
      dimensions ??= value.length
      // Some clients ask for vectors as base64.
    } else if (isField && typeof value === 'string') count++
    else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      if (Array.isArray(value)) for (const item of value) visit(item, isField, depth + 1)
      else for (const [field, item] of Object.entries(value)) visit(item, FIELDS.test(field), depth + 1)
    }
  }
  visit(output, false, 0)
  return count === 0 ? undefined : { count, ...(dimensions !== undefined && { dimensions }) }
}

const hasVectors = (value: Json, depth: number): boolean => {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false
  if (Array.isArray(value)) return value.some(item => hasVectors(item, depth + 1))
  for (const field of Object.keys(value)) {
    const item = value[field] ?? null
    if (typeof item !== 'object' || item === null) continue
    if (Array.isArray(item) && FIELDS.test(field) && (isVector(item) || item.some(isVector))) return true
    if (hasVectors(item, depth + 1)) return true
  }
  return false
}

/** The value without the vectors in it. Returns the same value if it has none. */
export function withoutVectors(value: Json, depth = 0): Json {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (!hasVectors(value, depth)) return value
  if (Array.isArray(value)) return value.map(item => withoutVectors(item, depth + 1))
  const entries = Object.entries(value)
  const kept = entries
    .filter(
      ([field, item]) => !(FIELDS.test(field) && (isVector(item) || (Array.isArray(item) && item.some(isVector)))),
    )
    .map(([field, item]) => [field, withoutVectors(item, depth + 1)] as const)
  return Object.fromEntries(kept)
}
