import type { Json } from '../domain/json.ts'
import { cutText, utf8Length } from '../domain/text.ts'
import type { Work } from '../domain/turns.ts'
import { BYTES_PER_TOKEN, LENGTH_PER_TURN } from '../limits.ts'
import { quotedJson } from './quoted-text.ts'

/** A line of JSON. Its long values may be truncated. */
interface Line {
  /** The first fields, which are always shown. */
  head: string
  fields: Field[]
  /** Whether to truncate values to plain text, without saying how long they were. */
  isQuote: boolean
}

interface Field {
  name: string
  value: Json
  /** The value as JSON. */
  text: string
  bytes: number
}

/** A line to show a model. */
export interface Item extends Line {
  /** The short line to show if there's no space for the full one. An item without an outline may be left out. */
  outline?: Line
  /** 0: what the question is about; 1: what led to it; 2: everything else. */
  rank: Rank
  /** Within a rank, items at a smaller distance are shown first. */
  distance: number
}

export type Rank = 0 | 1 | 2

/** The sizes in bytes that values may be truncated to. */
const LEVELS = [Number.POSITIVE_INFINITY, 16 * 1024, 4096, 1024, 256] as const
const PREVIEW = 256
/** The sizes for the quotes in an outline. */
export const LONGEST_QUOTE = 512
const QUOTES = [LONGEST_QUOTE, 384, 256, 192, 128, 96, 64, 48] as const
const SHORTEST_QUOTE = 24
/** The share of the space that outlines may take, and the share if their quotes have the shortest length. */
const OUTLINE_SHARE = 1 / 2
const SHORTEST_OUTLINE_SHARE = 3 / 4

/** The lines that fit, in the order of their items, and what was left out. */
export interface Material {
  lines: string[]
  /** A phrase for each kind of omission. */
  omitted: string[]
}

/** Builds a line. Values in `long` may be truncated. Leaves out fields that are undefined or null. */
export function newLine(
  named: Readonly<Record<string, Json | undefined>>,
  long: Readonly<Record<string, Json | undefined>>,
  isQuote = false,
): Line {
  const shown = Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, value] as const],
  )
  const fields = Object.entries(long).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    const text = quotedJson(value)
    return { name, value, text, bytes: utf8Length(text) }
  })
  return { head: quotedJson(Object.fromEntries(shown)).slice(0, -1), fields, isQuote }
}

/**
 * Chooses how much of each item to show within `maxTokens`. If everything fits, shows all items in full. Otherwise,
 * first shows an outline of every item that has one, because a cause can be anywhere. The outlines have the longest
 * quotes with which they fit in half the space. Then goes through the ranks: shows all items of a rank in full or, if
 * they don't fit, truncates all their values to the same size, which leaves a third of the remaining space for the next
 * ranks. If they don't fit even at the smallest size, shows only the nearest items, at that size. `outlinedAs` is the
 * plural of what the outlines are about.
 */
export function* fitMaterial(items: readonly Item[], maxTokens: number, outlinedAs = 'steps'): Work<Material> {
  const shown = new Map<Item, { line: Line; level: number; cost: number }>()
  let left = maxTokens
  /** The number of extra tokens that it takes to show an item this way. */
  const added = (item: Item, line: Line, level: number) => cost(line, level) - (shown.get(item)?.cost ?? 0)
  const show = (item: Item, line: Line, level: number) => {
    left -= added(item, line, level)
    shown.set(item, { line, level, cost: cost(line, level) })
  }
  const near = items.toSorted((one, other) => one.rank - other.rank || one.distance - other.distance)
  const outlined = near.flatMap(item => (item.outline ? { item, outline: item.outline } : []))
  const outlines = outlined.map(({ outline }) => outline)
  const quote = yield* firstThat(QUOTES, outlines, total => total <= maxTokens * OUTLINE_SHARE)
  for (const { item, outline } of outlined) {
    const fits = quote !== undefined || left - cost(outline, SHORTEST_QUOTE) >= maxTokens * (1 - SHORTEST_OUTLINE_SHARE)
    if (fits) show(item, outline, quote ?? SHORTEST_QUOTE)
  }
  for (const rank of [0, 1, 2] as const) {
    const group = near.filter(item => item.rank === rank)
    const space = left + group.reduce((sum, item) => sum + (shown.get(item)?.cost ?? 0), 0)
    // A rank that has to be truncated anyway leaves some space for the next one.
    const room = rank === 2 ? space : space - left / 3
    const level = yield* firstThat(LEVELS, group, (total, level) => total <= (level === LEVELS[0] ? space : room))
    for (const item of group)
      if (level !== undefined || added(item, item, PREVIEW) <= left) show(item, item, level ?? PREVIEW)
  }
  const all = items.flatMap(item => {
    const as = shown.get(item)
    return as ? { ...as, isOutline: as.line !== item } : []
  })
  const cut = all.filter(({ line, level, isOutline }) => !isOutline && line.fields.some(({ bytes }) => bytes > level))
  const outlinedOnly = all.filter(({ isOutline }) => isOutline).length
  return {
    lines: all.map(({ line, level }) => textOf(line, level)),
    omitted: [
      ...(cut.length > 0 ? [`parts of long values in ${cut.length} lines`] : []),
      ...(outlinedOnly > 0 ? [`everything but a quote of the output in ${outlinedOnly} ${outlinedAs}`] : []),
      ...(all.length < items.length ? [`${items.length - all.length} more lines that are less relevant`] : []),
    ],
  }
}

/** The first of these levels at which the lines' total token count is accepted. */
function* firstThat(
  levels: readonly number[],
  lines: readonly Line[],
  accepts: (total: number, level: number) => boolean,
): Work<number | undefined> {
  for (const level of levels) {
    let [total, length] = [0, 0]
    for (const line of lines) {
      total += cost(line, level)
      // Truncating a longer value to this level takes time.
      for (const { bytes } of line.fields) if (bytes > level) length += level
      if (length <= LENGTH_PER_TURN) continue
      length = 0
      yield
    }
    if (accepts(total, level)) return level
  }
  return undefined
}

/** The token count of `textOf`, calculated from stored lengths without building the text. */
function cost({ head, fields, isQuote }: Line, level: number): number {
  const lengths = fields.map(field => {
    const length = field.bytes <= level ? field.bytes : utf8Length(shownValue(field, level, isQuote))
    return `,"${field.name}":`.length + length
  })
  const isBare = head === '{' && fields.length > 0
  const bytes = lengths.reduce((sum, length) => sum + length, utf8Length(head) + '}'.length - (isBare ? 1 : 0))
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function textOf({ head, fields, isQuote }: Line, level: number): string {
  const shown = fields.map(field => `"${field.name}":${shownValue(field, level, isQuote)}`)
  // An empty head is just the opening brace.
  return `${[head, ...shown].join().replace(/^\{,/, '{')}}`
}

/** The value, or only its beginning and end, where errors are usually reported. */
function shownValue({ value, text, bytes }: Field, level: number, isQuote: boolean): string {
  if (bytes <= level) return text
  const cut = excerpt(typeof value === 'string' ? value : text, level)
  return quotedJson(isQuote ? cut : { cut, bytes })
}

/** The beginning and the end of a string that's longer than `maxBytes`. */
export function excerpt(text: string, maxBytes: number): string {
  const start = cutText(text, Math.floor((maxBytes * 3) / 4))
  if (start.length === text.length) return text
  const end = text.slice(Math.max(start.length, text.length - Math.floor(maxBytes / 4)))
  return `${start} [...] ${cutText(end, maxBytes)}`
}
