import { Unanswered } from '../../domain/failures.ts'
import { newId } from '../../domain/ids.ts'
import { cutStrings } from '../../domain/json.ts'
import type { PayloadMode } from '../../domain/span.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import {
  INLINE_BYTES,
  KEPT_BYTES,
  MAX_DETAIL_OBJECTS,
  MAX_PAGE_VALUE_BYTES,
  MAX_PARALLEL_CALLS,
  PREVIEW_BYTES,
} from '../../limits.ts'
import { withRetry } from '../core/deadline.ts'
import type { Store } from '../core/store.ts'
import { liveTraceKeys } from './live.ts'

/** A value as stored in a row: its JSON, or the first bytes of its JSON and a reference to the whole value in R2. */
export interface StoredValue {
  text: string
  /**
   * `<object>:<offset>:<length>`, with offset and length in bytes. The object's name is unique within its trace. Null
   * if `text` is the whole value.
   */
  ref: string | null
}

/**
 * The R2 folder for an owner's values. For a trace, it's the trace's key. For values that don't belong to a trace, it's
 * a name with a slash. For each kind of folder, the orphan sweep checks the rows that may refer to it.
 */
export type Folder = number | `imports/${string}` | `experiments/${string}`

/** A new value, as JSON, to store under a trace. */
export interface NewValue {
  traceUuid: string
  json: string
}

/**
 * A value with its place. For a value in R2, `traceKey` is the key of the trace whose folder contains it. Only that
 * trace's rows may refer to it.
 */
export interface PlacedValue extends StoredValue {
  traceKey: number | null
}

/** The place of each new value. Leaves out large values whose trace doesn't exist. */
export type Placement = ReadonlyMap<NewValue, PlacedValue>

/**
 * Stores large values before the rows that refer to them, in one R2 object per trace. Small values go into their rows.
 * If no row ever refers to an object, the orphan sweep deletes it.
 */
export async function placeValues(store: Store, values: readonly NewValue[]): Promise<Placement> {
  const placement = new Map<NewValue, PlacedValue>()
  const large: NewValue[] = []
  for (const value of values) {
    if (needsObject(value.json)) large.push(value)
    else placement.set(value, { text: value.json, ref: null, traceKey: null })
  }
  if (large.length === 0) return placement
  const traceKeys = await liveTraceKeys(store, [...uuidsOf(large)])
  const known = large.flatMap(value => {
    const traceKey: number | undefined = traceKeys.get(value.traceUuid)
    return traceKey === undefined ? [] : [{ value, folder: traceKey, json: value.json }]
  })
  for (const [{ value, folder }, stored] of await placeUnder(store, known)) {
    placement.set(value, { ...stored, traceKey: folder })
  }
  return placement
}

const uuidsOf = (values: readonly NewValue[]) => new Set(values.map(({ traceUuid }) => traceUuid))

/** Like `placeValues`, but in the given folders. */
export async function placeUnder<Value extends { folder: Folder; json: string }>(
  store: Store,
  values: readonly Value[],
): Promise<ReadonlyMap<Value, StoredValue>> {
  const placement = new Map<Value, StoredValue>()
  for (const value of values) {
    if (!needsObject(value.json)) placement.set(value, { text: value.json, ref: null })
  }
  const large = Map.groupBy(
    values.filter(value => !placement.has(value)),
    ({ folder }) => folder,
  )
  await eachInParallel(large, async ([folder, values]) => {
    // Each attempt uses a new name, so none overwrites another's object.
    const name = newId()
    // Rows of traces keep more of each value than other rows, because searches read only the values of traces.
    const keptBytes = typeof folder === 'number' ? KEPT_BYTES : PREVIEW_BYTES
    const parts = values.map(({ json }) => new TextEncoder().encode(json))
    const object = await new Blob(parts).arrayBuffer()
    await withRetry(store.deadline, () => store.payloads.put(objectKey(store, folder, name), object))
    let offset = 0
    for (const [index, value] of values.entries()) {
      const length = parts[index]?.byteLength ?? 0
      placement.set(value, { text: cutText(value.json, keptBytes), ref: `${name}:${offset}:${length}` })
      offset += length
    }
  })
  return placement
}

/** Whether a value's JSON is too large for its row. */
const needsObject = (json: string): boolean => json.length * 3 > INLINE_BYTES && utf8Length(json) > INLINE_BYTES

/** A value as shown in a response: its JSON or a preview, which is also JSON. */
export interface ShownValue {
  text: string
  isWhole: boolean
}

/** A stored value as a query returned it. `isCut` means that `text` is only the beginning of the row's text. */
export interface FoundValue extends StoredValue {
  folder: Folder
  isCut?: boolean
}

/**
 * How to show values: as requested, or `brief` if there are too many or they're too large. `brief` previews each value
 * over 256 bytes.
 */
export type ShownMode = PayloadMode | 'brief'

/**
 * Prepares stored values for a response. `full` shows whole values, and fetches those in R2 a few at a time. Values
 * beyond `maxBytes` or 1,000 fetches become previews. `preview` cuts strings at 256 bytes and shows the beginning of a
 * value in R2 as a string. For each value over 256 bytes, `brief` shows only the beginning, as a string. Returns
 * undefined if an object is gone, which happens if the trace is purged in the meantime.
 */
export async function showValues(
  store: Store,
  values: readonly FoundValue[],
  mode: ShownMode,
  maxBytes: number = MAX_PAGE_VALUE_BYTES,
): Promise<ReadonlyMap<FoundValue, ShownValue> | undefined> {
  const shown = new Map<FoundValue, ShownValue>()
  const inline = values.filter(({ ref }) => ref === null)
  for (const value of inline) {
    shown.set(value, value.isCut ? previewOf(value) : showText(value.text, mode))
  }
  let bytes = inline.reduce((sum, value) => sum + lengthOf(value), 0)
  const fetched: FoundValue[] = []
  for (const value of values.filter(({ ref }) => ref !== null)) {
    bytes += lengthOf(value)
    if (mode === 'full' && bytes <= maxBytes && fetched.length < MAX_DETAIL_OBJECTS) fetched.push(value)
    else shown.set(value, previewOf(value))
  }
  for (const [value, text] of await fetchValues(store, fetched)) shown.set(value, whole(text))
  return values.every(value => shown.has(value)) ? shown : undefined
}

/**
 * Fetches the JSON of values in R2. Reads adjacent values in an object with a single request. Leaves out values whose
 * object is gone.
 */
export async function fetchValues(
  store: Store,
  values: readonly FoundValue[],
): Promise<ReadonlyMap<FoundValue, string>> {
  const texts = new Map<FoundValue, string>()
  await eachInParallel(rangesOf(values), async ({ folder, name, offset, length, values }) => {
    const range = { offset, length }
    const found = await withRetry(store.deadline, async () =>
      (await store.payloads.get(objectKey(store, folder, name), { range }))?.bytes(),
    )
    if (!found) return
    for (const value of values) {
      const { offset: start, length } = parseRef(value.ref)
      texts.set(value, decoder.decode(found.subarray(start - offset, start - offset + length)))
    }
  })
  return texts
}

const decoder = new TextDecoder()

const whole = (text: string): ShownValue => ({ text, isWhole: true })
const previewOf = ({ text }: StoredValue): ShownValue => ({
  text: JSON.stringify(cutText(text, PREVIEW_BYTES)),
  isWhole: false,
})

/** Shows the JSON of a value as `showValues` does. */
export function showText(text: string, mode: ShownMode): ShownValue {
  if (mode === 'full') return whole(text)
  return mode === 'brief' ? toBrief(text) : withStringsCut(text)
}

/** A value of at most 256 bytes as JSON, or else the beginning of its JSON. */
export const toBrief = (text: string): ShownValue =>
  text.length > PREVIEW_BYTES || utf8Length(text) > PREVIEW_BYTES ? previewOf({ text, ref: null }) : whole(text)

function withStringsCut(text: string): ShownValue {
  // JSON this short has no string to cut.
  if (utf8Length(text) <= PREVIEW_BYTES) return whole(text)
  const value = JSON.parse(text)
  const cut = cutStrings(value, PREVIEW_BYTES)
  return cut === value ? whole(text) : { text: JSON.stringify(cut), isWhole: false }
}

/** One range read from an object, and the values in it. */
interface ObjectRange {
  folder: Folder
  name: string
  offset: number
  length: number
  values: FoundValue[]
}

/**
 * The range reads for values. Merges identical ranges and, because a batch stores its values side by side, adjacent
 * ones.
 */
function rangesOf(values: readonly FoundValue[]): ObjectRange[] {
  const ranges: ObjectRange[] = []
  const placed = values.map(value => ({ value, ...parseRef(value.ref) }))
  placed.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : left.offset - right.offset))
  for (const { value, name, offset, length } of placed) {
    const last = ranges.at(-1)
    const isSame = last?.name === name && last.offset + last.length >= offset + length
    const isNext = last?.name === name && last.offset + last.length === offset
    if (isSame || isNext) {
      if (isNext) last.length += length
      last.values.push(value)
    } else {
      ranges.push({ folder: value.folder, name, offset, length, values: [value] })
    }
  }
  return ranges
}

/** The result of one read of traces. `found` is undefined if an object is gone. */
interface Reading<Found> {
  traces: readonly { id: string; key: number }[]
  found: Found | undefined
}

/**
 * Reads traces with their values. If a trace was deleted in the meantime, reads again, because a new trace may have
 * replaced it. Throws a 503 if an object is gone but its trace still exists.
 */
export async function readUntilWhole<Found>(
  store: Store,
  read: () => Promise<Reading<Found> | undefined>,
): Promise<Found | undefined> {
  for (;;) {
    const reading = await read()
    if (!reading) return undefined
    const { traces, found } = reading
    if (found !== undefined) return found
    const ids = traces.map(({ id }) => id)
    const live = await liveTraceKeys(store, ids)
    if (traces.every(({ id, key }) => live.get(id) === key)) {
      const keys = traces.map(({ key }) => key).join()
      throw new Unanswered(5, new Error(`one of the traces ${keys} refers to an R2 object that is gone`))
    }
  }
}

/** A value's length: bytes in R2, or UTF-16 code units in its row. */
export const lengthOf = ({ text, ref }: StoredValue): number => (ref === null ? text.length : parseRef(ref).length)

/** How many of these values fit in one page, or in `maxBytes`. Always at least one. */
export const countFitting = (values: readonly StoredValue[], maxBytes?: number): number =>
  countWithin(values.map(lengthOf), maxBytes)

/** How many items of these sizes fit in one page, or in `maxBytes`. Always at least one. */
export function countWithin(sizes: readonly number[], maxBytes: number = MAX_PAGE_VALUE_BYTES): number {
  let bytes = 0
  for (const [index, size] of sizes.entries()) {
    bytes += size
    if (bytes > maxBytes) return Math.max(index, 1)
  }
  return sizes.length
}

/** Deletes a folder's objects. Returns whether there may be more. */
export async function deleteValues(store: Store, folder: Folder): Promise<boolean> {
  const page = await withRetry(store.deadline, () => store.payloads.list({ prefix: prefixOf(store, folder) }))
  const keys = page.objects.map(({ key }) => key)
  if (keys.length > 0) await withRetry(store.deadline, () => store.payloads.delete(keys))
  return page.truncated
}

/** Runs a task for each item. Runs as many tasks in parallel as a Worker may have open connections. */
async function eachInParallel<Item>(items: Iterable<Item>, task: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items].values()
  const workers = Array.from({ length: MAX_PARALLEL_CALLS }, async () => {
    for (const item of queue) await task(item)
  })
  await Promise.all(workers)
}

const prefixOf = ({ organization }: Store, folder: Folder) => `${organization.id}/${folder}/`
const objectKey = (store: Store, folder: Folder, name: string) => prefixOf(store, folder) + name

function parseRef(ref: string | null): { name: string; offset: number; length: number } {
  const [name = '', offset, length] = (ref ?? '').split(':')
  return { name, offset: Number(offset), length: Number(length) }
}
