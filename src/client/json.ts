import { describe } from './errors.ts'
import { MAX_DEPTH } from './limits.ts'
import type { Loss } from './loss.ts'

/** A value as JSON, serialized when the pipeline recorded it: later changes to the value have no effect. */
export interface Encoded {
  json: string
  /** In UTF-8. */
  bytes: number
}

/** Why a value isn't sent. */
export type Unfit = Required<Pick<Loss, 'reason' | 'message'>>

/**
 * A value as JSON, or why the service wouldn't accept it. Never throws, although serializing may run the pipeline's
 * code.
 */
export function encode(read: () => unknown, maxBytes: number): Encoded | Unfit {
  let json: string | undefined
  try {
    json = JSON.stringify(read())
  } catch (error) {
    return { reason: 'not_serializable', message: describe(error).message }
  }
  if (json === undefined) return { reason: 'not_serializable', message: "JSON can't represent this value" }
  if (nestsTooDeep(json)) return { reason: 'not_serializable', message: `Nested deeper than ${MAX_DEPTH} levels` }
  const bytes = json.length > maxBytes ? json.length : new TextEncoder().encode(json).length
  return bytes > maxBytes ? { reason: 'too_large', message: `More than ${maxBytes} bytes as JSON` } : { json, bytes }
}

/** Scans the text from bracket to bracket. Walking the value would run its getters again. */
export function nestsTooDeep(json: string, maxDepth = MAX_DEPTH): boolean {
  if (json.length <= 2 * maxDepth) return false
  let depth = 0
  for (let index = 0; index < json.length; index++) {
    const unit = json.charCodeAt(index)
    if (unit === QUOTE) index = endOfText(json, index)
    else if (unit === BRACE || unit === BRACKET) {
      if (++depth > maxDepth) return true
    } else if (unit === BRACE_END || unit === BRACKET_END) depth--
  }
  return false
}

const [QUOTE, BACKSLASH, BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d]

/** The index of a string's closing quote: the next one with an even number of backslashes before it. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
}

/** Merges objects; later fields win. `Object.assign` would lose a field named __proto__. */
export const merged = (parts: readonly (object | undefined)[]): object =>
  Object.fromEntries(parts.flatMap(part => Object.entries({ ...part })))
