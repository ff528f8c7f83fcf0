import { canonicalJson, type Json } from '../../domain/json.ts'
import { spend } from '../effort.ts'

/** By value, which nobody changes: each is compared with many others. */
const texts = new WeakMap<object, string>()

/** `canonicalJson` of a value, written once. */
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
