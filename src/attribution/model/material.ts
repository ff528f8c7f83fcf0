import type { Json } from '../../domain/json.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import type { Work } from '../../domain/turns.ts'
import { BYTES_A_TOKEN, LENGTH_A_TURN } from '../../limits.ts'
import { withoutControlTokens } from './control-tokens.ts'

/** Something that a model is shown: a line of JSON, whose long values may be cut, or left out. */
export interface Item {
  /** What is shown in any case, as the line's first fields. */
  head: string
  fields: Field[]
  /** 0: what the disagreement is about; 1: what led to it; 2: the rest. */
  rank: Rank
  /** Within its rank, the nearer the sooner it is shown. */
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

/** What a value is cut to, in bytes; at 0 it is left out, and the item is there by name alone. */
type Level = number

const WHOLE: Level = Number.POSITIVE_INFINITY
const BY_NAME: Level = 0
const PREVIEW: Level = 256
const LEVELS: readonly Level[] = [WHOLE, 16 * 1024, 4096, 1024, PREVIEW]

/** Lines that fit, in the order of their items, and what is not in them. */
export interface Material {
  lines: string[]
  /** A clause for each kind of loss. */
  omitted: string[]
}

/** An item with these fields, of which `long` may be cut. What is undefined or null says nothing and is not shown. */
export function newItem(
  named: Readonly<Record<string, Json | undefined>>,
  long: Readonly<Record<string, Json | undefined>>,
  rank: Rank,
  distance = 0,
): Item {
  const said = Object.entries(named).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, value] as const],
  )
  const fields = Object.entries(long).flatMap(([name, value]) => {
    if (value === undefined || value === null) return []
    const text = safeJson(value)
    return { name, value, text, bytes: utf8Length(text) }
  })
  return { head: safeJson(Object.fromEntries(said)).slice(0, -1), fields, rank, distance }
}

/**
 * JSON on one line, whoever reads it: without the characters that some take for a line's end, nor what models of some
 * families take for the end of a message (`<|im_end|>`).
 */
export const safeJson = (value: Json): string =>
  withoutControlTokens(
    JSON.stringify(value).replace(
      /[\u0085\u2028\u2029]/g,
      end => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  )

/** About how many tokens a text is: rather too many than too few. */
export const tokensOf = (text: string): number => Math.ceil(utf8Length(text) / BYTES_A_TOKEN)

/**
 * Chooses how much of each item is shown, in `maxTokens`: all of it where there is room. Else items of a rank are cut
 * alike, to two thirds of what is left, and those of the next one fit into the rest. Where there is no room for previews
 * of a whole rank, the nearest are previews, the next are there by name alone, and the last are counted.
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
    // What has to be cut anyhow leaves something to what comes after it.
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
    let names = yield* total(group, BY_NAME)
    for (const item of group) {
      names -= cost(item, BY_NAME)
      if (cost(item, PREVIEW) + names <= left) show(item, PREVIEW)
      else if (cost(item, BY_NAME) <= left) show(item, BY_NAME)
    }
  }
  const shown = items.flatMap(item => {
    const level = levels.get(item)
    return level === undefined ? [] : { item, level }
  })
  const cut = shown.filter(({ item, level }) => level !== BY_NAME && item.fields.some(({ bytes }) => bytes > level))
  const named = shown.filter(({ item, level }) => level === BY_NAME && item.fields.length > 0)
  return {
    lines: shown.map(({ item, level }) => lineOf(item, level)),
    omitted: [
      ...(cut.length > 0 ? [`parts of long values in ${cut.length} lines`] : []),
      ...(named.length > 0 ? [`the values of ${named.length} lines, which are there by name alone`] : []),
      ...(shown.length < items.length ? [`${items.length - shown.length} more lines, far from the disagreement`] : []),
    ],
  }
}

function* total(items: readonly Item[], level: Level): Work<number> {
  let [sum, length] = [0, 0]
  for (const item of items) {
    sum += cost(item, level)
    // What is too long is cut anew for each level.
    for (const { bytes } of item.fields) if (bytes > level) length += level
    if (length <= LENGTH_A_TURN) continue
    length = 0
    yield
  }
  return sum
}

/** The tokens of `lineOf`, without writing it: what is whole is as long as it was measured once. */
function cost({ head, fields }: Item, level: Level): number {
  const shown = level === BY_NAME ? [] : fields
  const lengths = shown.map(
    field => `,"${field.name}":`.length + (field.bytes <= level ? field.bytes : utf8Length(shownValue(field, level))),
  )
  const isBare = head === '{' && shown.length > 0
  const bytes = lengths.reduce((sum, length) => sum + length, utf8Length(head) + '}'.length - (isBare ? 1 : 0))
  return Math.ceil(bytes / BYTES_A_TOKEN)
}

function lineOf({ head, fields }: Item, level: Level): string {
  const shown = level === BY_NAME ? [] : fields.map(field => `"${field.name}":${shownValue(field, level)}`)
  // A head of no fields is the brace alone.
  return `${[head, ...shown].join().replace(/^\{,/, '{')}}`
}

/** The value, or its beginning and end: errors are told at either. */
function shownValue({ value, text, bytes }: Field, level: Level): string {
  if (bytes <= level) return text
  const whole = typeof value === 'string' ? value : text
  const start = cutText(whole, Math.floor((level * 3) / 4))
  const end = whole.slice(Math.max(start.length, whole.length - Math.floor(level / 4)))
  return safeJson({ cut: `${start} [...] ${cutText(end, level)}`, bytes })
}
