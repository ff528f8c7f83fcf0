import { CONTEXT_LENGTH, SNIPPET_LENGTH } from '../limits.ts'

/* Finds a string in values as readers see them: in the decoded strings and keys of their JSON, regardless of case. */

/** A string to find. */
export interface SoughtText {
  pattern: RegExp
  /**
   * Whether JSON might escape one of its characters. If not, a string can contain the text only if the JSON does, too.
   */
  hasEscapes: boolean
}

/**
 * A string to find regardless of case, by Unicode's simple case folding: `É` finds `é`, and `ß` finds `ẞ`, but not
 * `ss`.
 */
export const soughtText = (text: string): SoughtText => ({
  pattern: new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu'),
  hasEscapes: JSON.stringify(text).length > text.length + 2,
})

/** The text around the first match, with `…` where it's cut. Undefined if there's no match. */
export function snippetIn(text: string, { pattern }: SoughtText): string | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const [matched] = match
  const around = Math.max(CONTEXT_LENGTH, Math.floor((SNIPPET_LENGTH - matched.length) / 2))
  const end = match.index + matched.length
  const from = boundaryAfter(text, Math.max(0, Math.min(match.index - around, text.length - SNIPPET_LENGTH)))
  const to = boundaryBefore(text, Math.max(end + around, SNIPPET_LENGTH))
  const [first, last] = [Math.min(from, match.index), Math.max(to, end)]
  return `${first > 0 ? '…' : ''}${text.slice(first, last)}${last < text.length ? '…' : ''}`
}

/** Like `snippetIn`, but for the strings and keys of JSON, which may be only the beginning of a value. */
export function snippetInJson(json: string, sought: SoughtText): string | undefined {
  if (!mayContain(json, sought)) return undefined
  for (const text of stringsIn(json)) {
    const snippet = snippetIn(text, sought)
    if (snippet !== undefined) return snippet
  }
  return undefined
}

/** Whether JSON may have a string that contains the text. Only decoding all strings can tell for sure. */
export const mayContain = (json: string, { pattern, hasEscapes }: SoughtText): boolean =>
  hasEscapes || json.includes('\\u') || json.includes('\\/') || pattern.test(json)

/** The decoded strings, including keys, of a JSON text or of the beginning of one. */
export function* stringsIn(json: string): Generator<string> {
  let start = json.indexOf('"')
  while (start !== -1) {
    let end = json.indexOf('"', start + 1)
    while (end !== -1 && isEscaped(json, end)) end = json.indexOf('"', end + 1)
    yield end === -1 ? decodeBeginning(json.slice(start)) : decode(json.slice(start, end + 1))
    start = end === -1 ? -1 : json.indexOf('"', end + 1)
  }
}

/** Whether an odd number of backslashes precedes a quote. */
function isEscaped(json: string, quote: number): boolean {
  let first = quote
  while (json[first - 1] === '\\') first--
  return (quote - first) % 2 === 1
}

const decode = (literal: string): string => (literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1))

/** Decodes a string whose end is missing. Leaves out an escape that may be cut off. */
function decodeBeginning(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1)
  for (let cut = 0; cut < LONGEST_ESCAPE; cut++) {
    try {
      return JSON.parse(`${literal.slice(0, literal.length - cut)}"`)
    } catch {
      // The escape begins further left.
    }
  }
  return ''
}

const LONGEST_ESCAPE = '\\u0000'.length

/*
 * Finds where a string can be cut without splitting what readers see as one character. Looks only at the text nearby.
 */

let segmenter: Intl.Segmenter | undefined

/** The segment around a place, if the place is in the middle of one. */
function segmentAt(text: string, place: number): { start: number; end: number } | undefined {
  if (place <= 0 || place >= text.length) return undefined
  segmenter ??= new Intl.Segmenter()
  const first = Math.max(0, place - CONTEXT_LENGTH)
  const found = segmenter.segment(text.slice(first, place + CONTEXT_LENGTH)).containing(place - first)
  if (!found || found.index === place - first) return undefined
  return { start: first + found.index, end: first + found.index + found.segment.length }
}

const boundaryAfter = (text: string, place: number): number => segmentAt(text, place)?.end ?? place
const boundaryBefore = (text: string, place: number): number =>
  segmentAt(text, place)?.start ?? Math.min(place, text.length)
