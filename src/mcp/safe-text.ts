import { isJsonObject, type Json } from '../domain/json.ts'
import { MAX_SHOWN_NAME_LENGTH } from '../limits.ts'

/**
 * Characters that people don't see but models and terminals read: control characters, text-direction marks, zero-width
 * spaces, and tags, which can spell whole sentences. Doesn't match the joiners and variation selectors that some
 * scripts and emoji need.
 */
const INVISIBLE = /[[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]--[\t\n\r\u200c\u200d\ufe00-\ufe0f]]/gv

/** Text with each invisible character written as `[U+202E]`. */
const withVisibleCharacters = (text: string): string =>
  text.replace(INVISIBLE, character => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return `[U+${code}]`
  })

/** A value with the invisible characters in its text and field names made visible. Truncates long field names. */
export function safeValue(value: Json): Json {
  if (typeof value === 'string') return withVisibleCharacters(value)
  if (Array.isArray(value)) return value.map(safeValue)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [shownName(name), safeValue(item)]))
}

const shownName = (name: string): string => {
  const shown = withVisibleCharacters(name.slice(0, MAX_SHOWN_NAME_LENGTH))
  return name.length > MAX_SHOWN_NAME_LENGTH ? `${shown}…` : shown
}
