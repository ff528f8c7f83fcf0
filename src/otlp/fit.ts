import type { Json, JsonObject } from '../domain/json.ts'
import { utf8Length } from '../domain/text.ts'
import { MAX_ERROR_PATH_LENGTH, MAX_JSON_DEPTH, MAX_NAMED_TRUNCATIONS } from '../limits.ts'

/** A cut in a value, to report to the sender. */
interface Cut {
  /** The dotted path in the value; '' for the whole value. */
  path: string
  /** The size of its JSON before the cut. */
  bytes: number
}

export interface Fitted {
  value: Json
  /** The first cuts. Empty if the value is unchanged. */
  cuts: Cut[]
}

/** The minimum size of a part. A shorter part would be meaningless. */
const MIN_PART_BYTES = 64
/** A list or object that must be smaller than this is replaced by the start of its JSON text. */
const MIN_CONTAINER_BYTES = 256

/**
 * Truncates a value so that its JSON takes at most `maxBytes` (at least 256) and respects the depth limit of values.
 * The largest parts lose the most, and small ones stay whole. A truncated string ends with a marker that gives the full
 * size, such as `Once upon… [cut, 123456 bytes]`. Parts that are nested too deeply become JSON text.
 */
export function fitted(value: Json, maxBytes: number): Fitted {
  // Nearly every value is far smaller than the limit. This estimate shows that it fits without serializing anything.
  if (largestJson(value, maxBytes, 0) <= maxBytes) return { value, cuts: [] }
  const cuts: Cut[] = []
  const shallow = nestsTooDeep(value, 0) ? flattened(value, 0, '', cuts) : value
  if (utf8Length(JSON.stringify(shallow)) <= maxBytes) return { value: shallow, cuts }
  const sizes = new Map<Json, number>()
  return { value: cutTo(shallow, maxBytes, '', { cuts, sizes }), cuts }
}

/**
 * An upper bound on the value's JSON size in bytes. Infinity if the value is nested too deeply. Stops as soon as it
 * exceeds `enough`.
 */
function largestJson(value: Json, enough: number, depth: number): number {
  // A character may become a six-byte escape.
  if (typeof value === 'string') return 6 * value.length + 2
  if (typeof value !== 'object' || value === null) return 25
  if (depth >= MAX_JSON_DEPTH) return Number.POSITIVE_INFINITY
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += largestJson(item, enough, depth + 1) + 1
      if (bytes > enough) return bytes
    }
    return bytes
  }
  for (const field of Object.keys(value)) {
    bytes += 6 * field.length + 4 + largestJson(value[field] ?? null, enough, depth + 1)
    if (bytes > enough) return bytes
  }
  return bytes
}

function nestsTooDeep(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth >= MAX_JSON_DEPTH) return true
  const parts = Array.isArray(value) ? value : Object.values(value)
  return parts.some(part => nestsTooDeep(part, depth + 1))
}

function flattened(value: Json, depth: number, path: string, cuts: Cut[]): Json {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_JSON_DEPTH) {
    const text = JSON.stringify(value)
    addCut(cuts, path, utf8Length(text))
    return text
  }
  if (Array.isArray(value)) return value.map((item, index) => flattened(item, depth + 1, within(path, index), cuts))
  const entries = Object.entries(value).map(([field, item]) => {
    return [field, flattened(item, depth + 1, within(path, field), cuts)] as const
  })
  return Object.fromEntries(entries)
}

/** The state of one `fitted` call. */
interface Cutting {
  cuts: Cut[]
  /** The sizes of lists and objects, so they aren't measured again at each level. */
  sizes: Map<Json, number>
}

function cutTo(value: Json, maxBytes: number, path: string, cutting: Cutting): Json {
  const bytes = sizeOf(value, cutting.sizes)
  if (bytes <= maxBytes) return value
  if (typeof value !== 'object' || value === null || maxBytes < MIN_CONTAINER_BYTES) {
    addCut(cutting.cuts, path, bytes)
    return cutJsonText(typeof value === 'string' ? value : JSON.stringify(value), bytes, maxBytes)
  }
  const entries: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  const overhead = (key: string | number): number => (typeof key === 'number' ? 1 : utf8Length(JSON.stringify(key)) + 2)
  const share = shareOf(entries, overhead, maxBytes - 2, cutting.sizes)
  if (share >= MIN_PART_BYTES) {
    return collected(
      value,
      entries.map(([key, item]) => [key, cutTo(item, share, within(path, key), cutting)]),
    )
  }
  return beginningOf(value, entries, overhead, maxBytes, path, cutting)
}

/**
 * The maximum number of bytes per entry at which all entries fit. Smaller entries leave their unused space to the
 * others.
 */
function shareOf(
  entries: readonly [string | number, Json][],
  overhead: (key: string | number) => number,
  maxBytes: number,
  sizes: Map<Json, number>,
): number {
  // There are so many entries that none of them fits, so don't sort them.
  if (entries.length * 2 > maxBytes) return 0
  let left = maxBytes
  for (const [key] of entries) left -= overhead(key)
  const ascending = Float64Array.from(entries, ([, item]) => sizeOf(item, sizes)).sort()
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (size > share) return Math.floor(share)
    left -= size
  }
  return maxBytes
}

/** The entries that fit, followed by a marker with the number of missing entries. */
function beginningOf(
  value: Json[] | JsonObject,
  entries: readonly [string | number, Json][],
  overhead: (key: string | number) => number,
  maxBytes: number,
  path: string,
  cutting: Cutting,
): Json {
  const bytes = sizeOf(value, cutting.sizes)
  addCut(cutting.cuts, path, bytes)
  const kept: [string | number, Json][] = []
  // Reserve space for the marker's key and text.
  let left = maxBytes - 2 - MIN_PART_BYTES
  for (const [key, item] of entries) {
    const part = cutTo(item, MIN_PART_BYTES, within(path, key), { ...cutting, cuts: [] })
    left -= overhead(key) + sizeOf(part, cutting.sizes)
    if (left < 0) break
    kept.push([key, part])
  }
  const marker = `[cut, ${entries.length - kept.length} more, ${bytes} bytes]`
  return collected(value, [...kept, Array.isArray(value) ? [kept.length, `… ${marker}`] : ['…', marker]])
}

const collected = (like: Json[] | JsonObject, entries: [string | number, Json][]): Json =>
  Array.isArray(like) ? entries.map(([, item]) => item) : Object.fromEntries(entries)

/** Truncates a string so that its JSON, including the marker, takes at most `maxBytes`. */
function cutJsonText(text: string, bytes: number, maxBytes: number): string {
  const marker = `… [cut, ${bytes} bytes]`
  // Quotes and marker. The rest is counted by character, because escapes take more space in JSON.
  let left = maxBytes - 2 - utf8Length(marker)
  let end = 0
  while (end < text.length) {
    const code = text.codePointAt(end) ?? 0
    left -= jsonWidth(code)
    if (left < 0) break
    end += code > 0xffff ? 2 : 1
  }
  return text.slice(0, end) + marker
}

/** How many bytes a character takes in the output of `JSON.stringify`. */
function jsonWidth(code: number): number {
  if (code === 0x22 || code === 0x5c) return 2
  // Backspace, tab, line feed, form feed, and carriage return have short escapes.
  if (code < 0x20) return code >= 0x08 && code <= 0x0d && code !== 0x0b ? 2 : 6
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  if (code >= 0xd800 && code <= 0xdfff) return 6
  return code > 0xffff ? 4 : 3
}

const jsonLength = (text: string): number => utf8Length(JSON.stringify(text))

function sizeOf(value: Json, sizes: Map<Json, number>): number {
  if (typeof value === 'string') return jsonLength(value)
  if (typeof value !== 'object' || value === null) return String(value).length
  const known = sizes.get(value)
  if (known !== undefined) return known
  // The brackets, minus the comma after the last item.
  let bytes = 1
  if (Array.isArray(value)) for (const item of value) bytes += sizeOf(item, sizes) + 1
  else for (const [field, item] of Object.entries(value)) bytes += jsonLength(field) + 2 + sizeOf(item, sizes)
  const whole = Math.max(bytes, 2)
  sizes.set(value, whole)
  return whole
}

function addCut(cuts: Cut[], path: string, bytes: number): void {
  if (cuts.length < MAX_NAMED_TRUNCATIONS) cuts.push({ path, bytes })
}

/** Truncates the path, which may be as long as the value. */
const within = (path: string, step: string | number): string =>
  (path === '' ? String(step) : `${path}.${step}`).slice(0, MAX_ERROR_PATH_LENGTH)
