import { isJsonObject, type Json } from '../domain/json.ts'
import { escapePointerStep, unescapePointerStep } from '../domain/json-pointer.ts'
import { utf8Length } from '../domain/text.ts'
import { MIN_VALUE_BYTES } from '../limits.ts'

/** Where a value was shortened, as a JSON Pointer (RFC 6901), and where it continues. */
export interface Shortened {
  path: string
  /**
   * What `total` and `continuesAt` count: the characters of a string, the items of a list, or the fields of an object.
   */
  unit: 'characters' | 'items' | 'fields'
  total: number
  continuesAt: number
}

/**
 * Shortens a value until its JSON takes up at most `maxBytes`, which must be at least `MIN_VALUE_BYTES`. Short values
 * stay whole, and long ones share the remaining space equally. `start` skips the beginning of the value itself:
 * characters, items, or fields.
 */
export function fitted(
  value: Json,
  maxBytes: number,
  { path = '', start = 0 }: { path?: string; start?: number } = {},
): { value: Json; shortened: Shortened[] } {
  const fitting = new Fitting()
  return { value: fitting.fit(value, maxBytes, path, start), shortened: fitting.shortened }
}

class Fitting {
  readonly shortened: Shortened[] = []
  readonly #sizes = new Map<object, number>()

  fit(value: Json, maxBytes: number, path: string, start = 0): Json {
    if (start === 0 && this.#sizeOf(value) <= maxBytes) return value
    if (typeof value === 'string') return this.#fitText(value, maxBytes, path, start)
    const children = childrenOf(value)
    if (!children) return value
    const unit = Array.isArray(value) ? 'items' : 'fields'
    const left = children.slice(start)
    const kept = left.slice(0, this.#fittingCount(left, maxBytes - 2))
    if (kept.length < left.length) {
      this.shortened.push({ path, unit, total: children.length, continuesAt: start + kept.length })
    }
    const spent = kept.reduce((sum, { overhead }) => sum + overhead, 0)
    const share = fairShare(
      kept.map(({ item }) => this.#sizeOf(item)),
      maxBytes - 2 - spent,
    )
    const fittedItems = kept.map(
      ({ name, item }) => [name, this.fit(item, share, `${path}/${escapePointerStep(name)}`)] as const,
    )
    return Array.isArray(value) ? fittedItems.map(([, item]) => item) : Object.fromEntries(fittedItems)
  }

  /** How many of these children fit if each gets `MIN_VALUE_BYTES`, or its own size if that's smaller. */
  #fittingCount(children: readonly Child[], maxBytes: number): number {
    let bytes = 0
    for (const [index, { item, overhead }] of children.entries()) {
      bytes += overhead + Math.min(this.#sizeOf(item), MIN_VALUE_BYTES)
      if (bytes > maxBytes) return index
    }
    return children.length
  }

  #fitText(text: string, maxBytes: number, path: string, start: number): string {
    const rest = text.slice(start)
    if (sizeOfText(rest) <= maxBytes) return rest
    let [fits, tooLong] = [0, Math.min(rest.length, maxBytes)]
    while (tooLong - fits > 1) {
      const middle = Math.floor((fits + tooLong) / 2)
      if (sizeOfText(`${rest.slice(0, middle)}…`) <= maxBytes) fits = middle
      else tooLong = middle
    }
    // Doesn't split a surrogate pair, and always advances.
    const end = /[\ud800-\udbff]$/.test(rest.slice(0, fits)) && fits > 1 ? fits - 1 : fits
    this.shortened.push({ path, unit: 'characters', total: text.length, continuesAt: start + end })
    return `${rest.slice(0, end)}…`
  }

  #sizeOf(value: Json): number {
    if (typeof value === 'string') return sizeOfText(value)
    if (typeof value !== 'object' || value === null) return String(value).length
    const known = this.#sizes.get(value)
    if (known !== undefined) return known
    const children = childrenOf(value) ?? []
    const size = children.reduce((sum, { item, overhead }) => sum + overhead + this.#sizeOf(item), 2)
    this.#sizes.set(value, size)
    return size
  }
}

interface Child {
  name: string
  item: Json
  /** The bytes around the child: its name and the separators. */
  overhead: number
}

/** The items of a list or the fields of an object. Undefined for other values. */
function childrenOf(value: Json): Child[] | undefined {
  if (Array.isArray(value)) return value.map((item, index) => ({ name: String(index), item, overhead: 1 }))
  if (!isJsonObject(value)) return undefined
  return Object.entries(value).map(([name, item]) => ({ name, item, overhead: sizeOfText(name) + 2 }))
}

const sizeOfText = (text: string): number => utf8Length(JSON.stringify(text))

/** The maximum size of each value if all values together may take up `bytes`. */
function fairShare(sizes: readonly number[], bytes: number): number {
  let [left, count] = [bytes, sizes.length]
  for (const size of sizes.toSorted((one, other) => one - other)) {
    if (size * count > left) return Math.floor(left / count)
    left -= size
    count--
  }
  return bytes
}

/** The value at a JSON Pointer, or undefined. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  if (pointer === '') return root
  if (!pointer.startsWith('/')) return undefined
  let value: Json | undefined = root
  for (const step of pointer.slice(1).split('/')) {
    const name = unescapePointerStep(step)
    if (Array.isArray(value)) value = /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined
    else value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
    if (value === undefined) return undefined
  }
  return value
}

/** The end of a value: an offset has to be less than this. */
export const lengthOf = (value: Json): number =>
  typeof value === 'string' ? value.length : (childrenOf(value)?.length ?? 0)
