import type { Json } from '../../domain/json.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import type { Work } from '../../domain/turns.ts'
import { BYTES_PER_TOKEN, LENGTH_PER_TURN } from '../../limits.ts'
import { withoutControlTokens } from './control-tokens.ts'

/** A line of JSON to show a model. Its long values may be cut or left out. */
export interface Item {
  /** The line's first fields, which are always shown. */
  head: string
  fields: Field[]
  /** 0: the disagreement itself; 1: what led to it; 2: everything else. */
  rank: Rank
  /** Within a rank, items at a smaller distance are shown first. */
  distance: number
}

export type Rank = 0 | 1 | 2

interface Field {
  name: string
  value: Json
  /** The value as JSON. */
  text: string
  bytes: number
}

/** The size in bytes that values are cut to. At 0, values are left out, and only the item's head is shown. */
type Level = number

const WHOLE: Level = Number.POSITIVE_INFINITY
const HEAD_ONLY: Level = 0
const PREVIEW: Level = 256
const LEVELS: readonly Level[] = [WHOLE, 16 * 1024, 4096, 1024, PREVIEW]

/** The lines that fit, in the order of their items, and what was left out. */
export interface Material {
  lines: string[]
  /** A phrase for each kind of omission. */
  omitted: string[]
}

/** Builds an item. Values in `long` may be cut. Leaves out fields that are undefined or null. */
export function newItem(
  named: Readonly<Record<string, Json | undefined>>,
  long: Readonly<Record<string, Json | undefined>>,
  rank: Rank,
  distance = 0,
): Item {
  const shown = Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, value] as const],
  )
  const fields = Object.entries(long).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    const text = safeJson(value)
    return { name, value, text, bytes: utf8Length(text) }
  })
  return { head: safeJson(Object.fromEntries(shown)).slice(0, -1), fields, rank, distance }
}

/**
 * Serializes a value on a single line. Escapes characters that some readers treat as line breaks, and models' control
 * tokens (`<|im_end|>`).
 */
export const safeJson = (value: Json): string =>
  withoutControlTokens(
    JSON.stringify(value).replace(
      /[\u0085\u2028\u2029]/g,
      end => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  )

/** Estimates a string's tokens, more often too high than too low. */
export const tokensOf = (text: string): number => Math.ceil(utf8Length(text) / BYTES_PER_TOKEN)

/**
 * Chooses how much of each item to show within `maxTokens`: everything, if it fits. Otherwise cuts all items of a rank
 * to the same size to fit two thirds of the remaining space, and leaves the rest to the next ranks. If a rank doesn't
 * fit even as previews, the nearest items become previews, the next ones show only their head, and the others are only
 * counted.
 */
export function* fitMaterial(items: readonly Item[], maxTokens: number): Work<Material> {
  const levels = new Map<Item, Level>()
  let left = maxTokens
  const show = (item: Item, level: Level) => {
    levels.set(item, level)
    left -= cost(item, level)
  }
  for (const rank of [0, 1, 2] as const) {
    const group = items.filter(item => item.rank === rank).sort((one, other) => one.distance - other.distance)
    // A rank that has to be cut anyway leaves some space for the next one.
    const room = rank === 2 ? left : (left * 2) / 3
    let level: Level | undefined
    for (const each of LEVELS) {
      if ((yield* total(group, each)) > (each === WHOLE ? left : room)) continue
      level = each
      break
    }
    if (level !== undefined) {
      for (const item of group) show(item, level)
      continue
    }
    let names = yield* total(group, HEAD_ONLY)
    for (const item of group) {
      names -= cost(item, HEAD_ONLY)
      if (cost(item, PREVIEW) + names <= left) show(item, PREVIEW)
      else if (cost(item, HEAD_ONLY) <= left) show(item, HEAD_ONLY)
    }
  }
  const shown = items.flatMap(item => {
    const level = levels.get(item)
    return level === undefined ? [] : { item, level }
  })
  const cut = shown.filter(({ item, level }) => level !== HEAD_ONLY && item.fields.some(({ bytes }) => bytes > level))
  const named = shown.filter(({ item, level }) => level === HEAD_ONLY && item.fields.length > 0)
  return {
    lines: shown.map(({ item, level }) => lineOf(item, level)),
    omitted: [
      ...(cut.length > 0 ? [`parts of long values in ${cut.length} lines`] : []),
      ...(named.length > 0 ? [`the values of ${named.length} lines, which show only their names`] : []),
      ...(shown.length < items.length ? [`${items.length - shown.length} more lines far from the disagreement`] : []),
    ],
  }
}

function* total(items: readonly Item[], level: Level): Work<number> {
  let [sum, length] = [0, 0]
  for (const item of items) {
    sum += cost(item, level)
    // Cutting a longer value to this level takes time.
    for (const { bytes } of item.fields) if (bytes > level) length += level
    if (length <= LENGTH_PER_TURN) continue
    length = 0
    yield
  }
  return sum
}

/** The token count of `lineOf`, calculated from stored lengths without building the line. */
function cost({ head, fields }: Item, level: Level): number {
  const shown = level === HEAD_ONLY ? [] : fields
  const lengths = shown.map(
    field => `,"${field.name}":`.length + (field.bytes <= level ? field.bytes : utf8Length(shownValue(field, level))),
  )
  const isBare = head === '{' && shown.length > 0
  const bytes = lengths.reduce((sum, length) => sum + length, utf8Length(head) + '}'.length - (isBare ? 1 : 0))
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function lineOf({ head, fields }: Item, level: Level): string {
  const shown = level === HEAD_ONLY ? [] : fields.map(field => `"${field.name}":${shownValue(field, level)}`)
  // An empty head is just the brace.
  return `${[head, ...shown].join().replace(/^\{,/, '{')}}`
}

/** The value, or only its start and end, where errors are usually reported. */
function shownValue({ value, text, bytes }: Field, level: Level): string {
  if (bytes <= level) return text
  const whole = typeof value === 'string' ? value : text
  const start = cutText(whole, Math.floor((level * 3) / 4))
  const end = whole.slice(Math.max(start.length, whole.length - Math.floor(level / 4)))
  return safeJson({ cut: `${start} [...] ${cutText(end, level)}`, bytes })
}
