import type { Json } from '../api/wire.ts'

/** A value as an editor shows it. */
export const textOf = (value: Json): string => JSON.stringify(value, undefined, 2)

/** What a text says as JSON, or in the parser's words why it says nothing. */
export function parsedJson(text: string): { value: Json } | { fault: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) }
  }
}

/** Whether two values are the same JSON: the order of an object's fields is no difference. */
export function isSameValue(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (left === undefined || right === undefined || Array.isArray(left) !== Array.isArray(right)) return false
  const [old, fresh] = [new Map(Object.entries(left)), new Map(Object.entries(right))]
  return (
    old.size === fresh.size && [...old].every(([name, value]) => fresh.has(name) && isSameValue(value, fresh.get(name)))
  )
}
