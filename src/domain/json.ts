import { MAX_JSON_DEPTH } from '../limits.ts'

/** Any JSON value, as `JSON.parse` gives it. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [field: string]: Json }

/** Whether a JSON value is an object (and no array, no null). */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is wrong with a parsed value, and where (a dotted path within it). */
export interface JsonFault {
  path: string
  message: string
}

/**
 * The first thing that keeps a parsed value from being stored and given back as it was: nesting over 128, or a number
 * that overflowed to infinity, which JSON would write as null. Walks without recursion, so no depth can break it.
 */
export function findJsonFault(value: unknown): JsonFault | undefined {
  const pending: { value: unknown; path: string; depth: number }[] = [{ value, path: '', depth: 0 }]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, path, depth } = next
    if (typeof value === 'number' && !Number.isFinite(value)) return { path, message: 'is a number out of range' }
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_JSON_DEPTH) return { path: '', message: `nests deeper than ${MAX_JSON_DEPTH}` }
    for (const [key, child] of Object.entries(value)) {
      if (typeof child === 'object' || typeof child === 'number') {
        pending.push({ value: child, path: path === '' ? key : `${path}.${key}`, depth: depth + 1 })
      }
    }
  }
  return undefined
}
