import { MAX_JSON_DEPTH } from '../limits.ts'
import { cutText, utf8Length } from './text.ts'

/** Any JSON value, as `JSON.parse` returns it. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [field: string]: Json }

/** Whether a JSON value is an object, not an array or null. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A stored value as JSON text, written into a response as it is, without parsing. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** `JSON.stringify` calls this. A replacer that sees every value would be far slower. */
  toJSON(): string {
    return takePieces([this.text])
  }
}

/** Records the pieces for the current place in `JSON.stringify`, and returns the marker for it. */
function takePieces(pieces: readonly string[]): string {
  if (!taken || !marker) throw new Error('only jsonPieces can write stored JSON')
  taken.push(pieces)
  return marker
}

/** A value already written as JSON before the rest of its response. `shape` only carries the type; it's never set. */
export class WrittenJson<Shape> {
  declare readonly shape: Shape
  readonly #pieces: readonly string[]
  /** UTF-8 bytes. */
  readonly bytes: number

  constructor(value: Shape) {
    const pieces = jsonPieces(value)
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    // Joins small pieces to keep their number low, but doesn't copy large ones.
    this.#pieces = length <= MAX_JOINED_LENGTH ? [pieces.join('')] : pieces
    this.bytes = this.#pieces.reduce((sum, piece) => sum + utf8Length(piece), 0)
  }

  toJSON(): string {
    return takePieces(this.#pieces)
  }
}

const MAX_JOINED_LENGTH = 16 * 1024

/**
 * Stands in for stored JSON while a value is written. Generated on first use: Workers have no randomness at module
 * load.
 */
let marker: string | undefined
/** The pieces that `jsonPieces` has found so far. */
let taken: (readonly string[])[] | undefined

/** Writes a value as JSON in pieces: each `JsonText` in it is its own piece, and each `WrittenJson` adds its pieces. */
export function jsonPieces(value: unknown): string[] {
  // No client ever sees the marker, so no string in the value contains it.
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
 * A value's JSON with sorted object fields: the same for values that are equal as JSON, and different for all others.
 * `visit` is called for each value before it's written, and may throw to stop.
 */
export const canonicalJson = (value: Json, visit?: (value: Json) => void): string =>
  [...canonicalPieces(value, visit)].join('')

/** Like `canonicalJson`, but in pieces of about 64 KiB, each written on demand. */
export function* canonicalPieces(value: Json, visit?: (value: Json) => void): Generator<string> {
  // Collects parts to join them later: a string that grows by millions of additions takes many times as much memory.
  let parts: string[] = []
  let length = 0
  const write = (part: string): void => {
    parts.push(part)
    length += part.length
  }
  /** Open lists and objects, the outermost first. */
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

/** Truncates a value's strings to `maxBytes` of UTF-8. Returns the value itself if no string is longer. */
export function cutStrings(value: Json, maxBytes: number): Json {
  if (typeof value === 'string') return utf8Length(value) > maxBytes ? cutText(value, maxBytes) : value
  if (typeof value !== 'object' || value === null) return value
  const items = Object.entries(value)
  const cut = items.map(([field, item]) => [field, cutStrings(item, maxBytes)] as const)
  if (cut.every(([, item], index) => item === items[index]?.[1])) return value
  return Array.isArray(value) ? cut.map(([, item]) => item) : Object.fromEntries(cut)
}

/** A fault in a value, and the fields and indexes that lead to it. The path is undefined if it would be too long. */
export interface JsonFault {
  path: (string | number)[] | undefined
  message: string
}

/**
 * Finds the first fault that would keep a parsed value from being stored and read back unchanged: nesting deeper than
 * 128 levels, or a number that overflowed to infinity, which JSON writes as null. Allocates almost nothing: a value may
 * have millions of items.
 */
export function findJsonFault(value: unknown, depth = 0): JsonFault | undefined {
  if (typeof value === 'number' && !Number.isFinite(value)) return { path: [], message: 'is a number out of range' }
  if (typeof value !== 'object' || value === null) return undefined
  // Checked before going deeper, which bounds the recursion.
  if (depth === MAX_JSON_DEPTH) return { path: undefined, message: `nests deeper than ${MAX_JSON_DEPTH} levels` }
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
