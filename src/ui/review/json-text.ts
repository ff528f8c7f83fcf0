import type { Json } from '../api/wire.ts'

/** A value as editors show it. */
export const textOf = (value: Json): string => JSON.stringify(value, undefined, 2)

/** Parses a string as JSON. Returns the value or the parser's error. */
export function parsedJson(text: string): { value: Json } | { fault: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

/** Whether two JSON values are equal. The order of an object's fields doesn't matter. */
export function isSameValue(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (left === undefined || right === undefined || Array.isArray(left) !== Array.isArray(right)) return false
  const [old, fresh] = [new Map(Object.entries(left)), new Map(Object.entries(right))]
  return (
    old.size === fresh.size && [...old].every(([name, value]) => fresh.has(name) && isSameValue(value, fresh.get(name)))
  )
}
