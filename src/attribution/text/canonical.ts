import { canonicalJson, type Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'

/** Cached by object, because each object is compared with many others. Objects must not be mutated. */
const texts = new WeakMap<object, string>()

/** The `canonicalJson` of a value, cached. */
export function canonical(value: Json): string {
  const known = typeof value === 'object' && value !== null ? texts.get(value) : undefined
  const text = known ?? canonicalJson(value)
  spend(1 + text.length / 8)
  if (typeof value === 'object' && value !== null) texts.set(value, text)
  return text
}

/** Whether two values are equal as JSON. */
export const isEqual = (left: Json, right: Json): boolean =>
  left === right || (typeof left === 'object' && typeof right === 'object' && canonical(left) === canonical(right))
