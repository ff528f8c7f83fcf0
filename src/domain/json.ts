import { MAX_JSON_DEPTH } from '../limits.ts'
import { cutText, utf8Length } from './text.ts'

/** Any JSON value, as `JSON.parse` gives it. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [field: string]: Json }

/** Whether a JSON value is an object (and no array, no null). */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A value as JSON text, on its way from the store to a response: written out as it lies, never parsed. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Called by `JSON.stringify`, far faster than a replacer that looks at every value. */
  toJSON(): string {
    return takePieces([this.text])
  }
}

/** Notes what stands at the place that `JSON.stringify` is at, and marks the place. */
function takePieces(pieces: readonly string[]): string {
  if (!taken || !marker) throw new Error('stored JSON is written by jsonPieces alone')
  taken.push(pieces)
  return marker
}

/** A value that was written out as JSON before the rest of a response is; no value ever has the field `shape`, its type. */
export class WrittenJson<Shape> {
  declare readonly shape: Shape
  readonly #pieces: readonly string[]
  /** Of UTF-8. */
  readonly bytes: number

  constructor(value: Shape) {
    const pieces = jsonPieces(value)
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    // Small pieces together, so that they are few; large ones as they lie, for they are not to be copied.
    this.#pieces = length <= MAX_JOINED_LENGTH ? [pieces.join('')] : pieces
    this.bytes = this.#pieces.reduce((sum, piece) => sum + utf8Length(piece), 0)
  }

  toJSON(): string {
    return takePieces(this.#pieces)
  }
}

const MAX_JOINED_LENGTH = 16 * 1024

/** What stands in the place of a text while a value is written; drawn when first needed, for not before may it be. */
let marker: string | undefined
/** What `jsonPieces` has met while it runs. */
let taken: (readonly string[])[] | undefined

/** A value as JSON, in pieces: each `JsonText` in it is a piece of its own, and each `WrittenJson` its pieces. */
export function jsonPieces(value: unknown): string[] {
  // No client ever sees the marker, so no string in the value holds it.
  marker ??= crypto.randomUUID()
  const met: (readonly string[])[] = []
  taken = met
  try {
    const skeleton = JSON.stringify(value)
    if (met.length === 0) return [skeleton]
    return skeleton.split(`"${marker}"`).flatMap((piece, index) => [piece, ...(met[index] ?? [])])
  } finally {
    taken = undefined
  }
}

/**
 * A value's JSON with the fields of each object in order: equal for values that are equal as JSON, and for no others.
 * `visit` is called for each value in it before it is written, and may end that by throwing.
 */
export const canonicalJson = (value: Json, visit?: (value: Json) => void): string =>
  [...canonicalPieces(value, visit)].join('')

/** The same in pieces of some 64 KiB. Each is written when it is asked for. */
export function* canonicalPieces(value: Json, visit?: (value: Json) => void): Generator<string> {
  // Joined rather than added to one text: what that would hold for each of millions of parts is many times as large.
  let parts: string[] = []
  let length = 0
  const write = (part: string): void => {
    parts.push(part)
    length += part.length
  }
  /** The lists and objects that are begun, the outermost first. */
  const begun: { items: readonly Json[]; fields: readonly string[] | undefined; next: number }[] = []
  const begin = (value: Json): void => {
    visit?.(value)
    if (Array.isArray(value)) {
      write('[')
      begun.push({ items: value, fields: undefined, next: 0 })
    } else if (isJsonObject(value)) {
      write('{')
      const fields = Object.keys(value).sort()
      begun.push({ items: fields.map(field => value[field] ?? null), fields, next: 0 })
    } else write(typeof value === 'string' ? JSON.stringify(value) : String(value))
  }
  begin(value)
  for (let inner = begun.at(-1); inner; inner = begun.at(-1)) {
    const { items, fields, next } = inner
    if (next === items.length) {
      write(fields ? '}' : ']')
      begun.pop()
      continue
    }
    if (next > 0) write(',')
    if (fields) write(`${JSON.stringify(fields[next])}:`)
    inner.next++
    begin(items[next] ?? null)
    if (length < PIECE_LENGTH) continue
    yield parts.join('')
    parts = []
    length = 0
  }
  yield parts.join('')
}

const PIECE_LENGTH = 64 * 1024

/** The value with its strings cut to `maxBytes` of UTF-8; the value itself where none is longer. */
export function cutStrings(value: Json, maxBytes: number): Json {
  if (typeof value === 'string') return utf8Length(value) > maxBytes ? cutText(value, maxBytes) : value
  if (typeof value !== 'object' || value === null) return value
  const items = Object.entries(value)
  const cut = items.map(([field, item]) => [field, cutStrings(item, maxBytes)] as const)
  if (cut.every(([, item], index) => item === items[index]?.[1])) return value
  return Array.isArray(value) ? cut.map(([, item]) => item) : Object.fromEntries(cut)
}

/** What is wrong with a value, and where in it: the fields and indexes that lead there, unless they are too many to tell. */
export interface JsonFault {
  path: (string | number)[] | undefined
  message: string
}

/**
 * The first thing that keeps a parsed value from being stored and given back as it was: nesting over 128, or a number
 * that overflowed to infinity, which JSON would write as null. Allocates next to nothing: a value may have millions of
 * items.
 */
export function findJsonFault(value: unknown, depth = 0): JsonFault | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return { path: [], message: 'is a number out of range' }
  if (typeof value !== 'object' || value === null) return undefined
  // Checked before going deeper, so that the recursion is as bounded as the value.
  if (depth === MAX_JSON_DEPTH) return { path: undefined, message: `nests deeper than ${MAX_JSON_DEPTH}` }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const fault = findJsonFault(item, depth + 1)
      if (fault) return within(index, fault)
    }
    return undefined
  }
  for (const field of Object.keys(value)) {
    const fault = findJsonFault(Reflect.get(value, field), depth + 1)
    if (fault) return within(field, fault)
  }
  return undefined
}

const within = (step: string | number, { path, message }: JsonFault): JsonFault => ({
  path: path && [step, ...path],
  message,
})
