import { isJsonObject, type Json } from './json.ts'

/** Names of steps and state keys for content from a knowledge base, in a few languages. */
export const RETRIEVAL_NAMES =
  /retriev|search|fetch|find|lookup|chunk|passage|document|context|knowledge|article|pages|hits|(?<![a-z])(kb|rag|ara|s[oö]k)(?![a-z])|such|seiten|buscar|recherch|cerca|zoek|szukaj|hled|haku/iu

/** The retrieved items in a value: a list, the only list in an object, or a single document. */
export function itemsOf(value: Json): Json[] | undefined {
  if (Array.isArray(value)) return value
  if (!isJsonObject(value)) return undefined
  const lists = Object.values(value).filter(Array.isArray)
  if (lists.length === 1) return lists[0]
  return textIn(value) === undefined ? undefined : [value]
}

/** The strings in an item: itself, or its fields. */
export function textsIn(item: Json): string[] {
  if (typeof item === 'string') return [item]
  return isJsonObject(item) ? Object.values(item).filter(value => typeof value === 'string') : []
}

/** The longest string in an item. Undefined if it's no longer than a name. */
export function textIn(item: Json): string | undefined {
  const [longest = ''] = textsIn(item).toSorted((left, right) => right.length - left.length)
  return longest.length >= 20 && /\s|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Hangul}]/u.test(longest) ? longest : undefined
}
