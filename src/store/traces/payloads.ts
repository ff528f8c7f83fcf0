import { Unanswered } from '../../domain/failures.ts'
import { newId } from '../../domain/ids.ts'
import { cutStrings } from '../../domain/json.ts'
import type { PayloadMode } from '../../domain/span.ts'
import { cutText, utf8Length } from '../../domain/text.ts'
import {
  INLINE_BYTES,
  MAX_DETAIL_OBJECTS,
  MAX_PAGE_VALUE_BYTES,
  MAX_PARALLEL_CALLS,
  PREVIEW_BYTES,
} from '../../limits.ts'
import { withRetry } from '../core/deadline.ts'
import type { Store } from '../core/store.ts'
import { liveTraceKeys } from './live.ts'

/** A value as a row holds it: its JSON, or the JSON's first bytes and a reference to the whole in R2. */
export interface StoredValue {
  text: string
  /** `<object>:<offset>:<length>`, bytes; the object is named within its trace. Null: `text` is the whole. */
  ref: string | null
}

/** A value (as JSON) that is to be stored under a trace. */
export interface NewValue {
  traceUuid: string
  json: string
}

/** A value in its place; in R2, with the key of the trace in whose folder it lies: a row of no other one may name it. */
export interface PlacedValue extends StoredValue {
  traceKey: number | null
}

/** Where each new value lies; those are missing that are large and whose trace is not there. */
export type Placement = ReadonlyMap<NewValue, PlacedValue>

/**
 * Finds each value its place, before the rows that refer to it: small ones in their row, the large ones of each trace in
 * one object in R2. Where no row comes to name it, the sweep of orphans removes it.
 */
export async function placeValues(store: Store, values: readonly NewValue[]): Promise<Placement> {
  const placement = new Map<NewValue, PlacedValue>()
  const large = values.filter(value => needsObject(value.json))
  const traceKeys = large.length === 0 ? new Map() : await liveTraceKeys(store, [...uuidsOf(large)])
  const known = large.flatMap(value => {
    const traceKey: number | undefined = traceKeys.get(value.traceUuid)
    return traceKey === undefined ? [] : [{ value, traceKey, json: value.json }]
  })
  for (const [{ value, traceKey }, stored] of await placeUnder(store, known)) {
    placement.set(value, { ...stored, traceKey })
  }
  for (const value of values) {
    if (!needsObject(value.json)) placement.set(value, { text: value.json, ref: null, traceKey: null })
  }
  return placement
}

const uuidsOf = (values: readonly NewValue[]) => new Set(values.map(({ traceUuid }) => traceUuid))

/** Finds values that are to be stored under traces whose keys are known their places. */
export async function placeUnder<Value extends { traceKey: number; json: string }>(
  store: Store,
  values: readonly Value[],
): Promise<ReadonlyMap<Value, StoredValue>> {
  const placement = new Map<Value, StoredValue>()
  for (const value of values) {
    if (!needsObject(value.json)) placement.set(value, { text: value.json, ref: null })
  }
  const large = Map.groupBy(
    values.filter(value => !placement.has(value)),
    ({ traceKey }) => traceKey,
  )
  await eachInParallel(large, async ([traceKey, values]) => {
    // A new name, so that no attempt overwrites another's object.
    const name = newId()
    const parts = values.map(({ json }) => new TextEncoder().encode(json))
    const object = await new Blob(parts).arrayBuffer()
    await withRetry(store.deadline, () => store.payloads.put(objectKey(store, traceKey, name), object))
    let offset = 0
    for (const [index, value] of values.entries()) {
      const length = parts[index]?.byteLength ?? 0
      placement.set(value, { text: cutText(value.json, PREVIEW_BYTES), ref: `${name}:${offset}:${length}` })
      offset += length
    }
  })
  return placement
}

/** Whether a value's JSON is too large for its row. */
const needsObject = (json: string): boolean => json.length * 3 > INLINE_BYTES && utf8Length(json) > INLINE_BYTES

/** A stored value as an answer shows it: its JSON, or a preview of it, which is JSON too. */
export interface ShownValue {
  text: string
  isWhole: boolean
}

/** A trace's stored value as a query gave it. `isCut`: only the first characters of what the row holds. */
export interface FoundValue extends StoredValue {
  traceKey: number
  isCut?: boolean
}

/** How values are shown: as was asked, or where they are too many or too large for that, each over 256 bytes by its beginning. */
export type ShownMode = PayloadMode | 'brief'

/**
 * What an answer shows of stored values. `full`: the values, those in R2 fetched a few at a time; what comes after `maxBytes` or
 * 1,000 fetched values is shown as a preview. `preview`: strings past 256 bytes are cut, and a value in R2 is its JSON's
 * beginning, as a string. `brief`: so is each value over 256 bytes.
 * Undefined where an object is gone, as it is when the trace is purged meanwhile.
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
    if (value.isCut) shown.set(value, previewOf(value))
    else if (mode === 'brief') shown.set(value, briefly(value.text))
    else shown.set(value, mode === 'full' ? whole(value.text) : withStringsCut(value.text))
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

/** The JSON of values in R2, those of one object that lie side by side in one read; those are missing whose object is gone. */
export async function fetchValues(
  store: Store,
  values: readonly FoundValue[],
): Promise<ReadonlyMap<FoundValue, string>> {
  const texts = new Map<FoundValue, string>()
  await eachInParallel(rangesOf(values), async ({ traceKey, name, offset, length, values }) => {
    const range = { offset, length }
    const found = await withRetry(store.deadline, async () =>
      (await store.payloads.get(objectKey(store, traceKey, name), { range }))?.bytes(),
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

/** A value that has at most 256 bytes as JSON, or its beginning. */
export const briefly = (text: string): ShownValue =>
  text.length > PREVIEW_BYTES || utf8Length(text) > PREVIEW_BYTES ? previewOf({ text, ref: null }) : whole(text)

function withStringsCut(text: string): ShownValue {
  // So short a text holds no string to cut.
  if (utf8Length(text) <= PREVIEW_BYTES) return whole(text)
  const value = JSON.parse(text)
  const cut = cutStrings(value, PREVIEW_BYTES)
  return cut === value ? whole(text) : { text: JSON.stringify(cut), isWhole: false }
}

/** One read of an object and the values in it. */
interface ObjectRange {
  traceKey: number
  name: string
  offset: number
  length: number
  values: FoundValue[]
}

/** The reads that fetch values: those that lie side by side, as a batch puts them, and those that are the same, come in one. */
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
      ranges.push({ traceKey: value.traceKey, name, offset, length, values: [value] })
    }
  }
  return ranges
}

/** What one read of traces found; `found` is undefined where an object was gone. */
interface Reading<Found> {
  traces: readonly { id: string; key: number }[]
  found: Found | undefined
}

/**
 * What is read of traces with their values. Where one was deleted while it was read, they are read again: there may be a
 * new one in its place. 503 where an object is gone although its trace is not.
 */
export async function untilWhole<Found>(
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

/** How long a value is, in bytes of R2 or units of its row. */
export const lengthOf = ({ text, ref }: StoredValue): number => (ref === null ? text.length : parseRef(ref).length)

/** How many of these values one page gives in full, or `maxBytes` hold, one at least. */
export const countFitting = (values: readonly StoredValue[], maxBytes?: number): number =>
  countWithin(values.map(lengthOf), maxBytes)

/** How many items of these sizes one page holds, one at least. */
export function countWithin(sizes: readonly number[], maxBytes: number = MAX_PAGE_VALUE_BYTES): number {
  let bytes = 0
  for (const [index, size] of sizes.entries()) {
    bytes += size
    if (bytes > maxBytes) return Math.max(index, 1)
  }
  return sizes.length
}

/** Deletes every object of a trace. Returns whether any may be left. */
export async function deleteValues(store: Store, traceKey: number): Promise<boolean> {
  const page = await withRetry(store.deadline, () => store.payloads.list({ prefix: tracePrefix(store, traceKey) }))
  const keys = page.objects.map(({ key }) => key)
  if (keys.length > 0) await withRetry(store.deadline, () => store.payloads.delete(keys))
  return page.truncated
}

/** Runs a task for each item, as many at a time as a Worker has connections. */
async function eachInParallel<Item>(items: Iterable<Item>, task: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items].values()
  const workers = Array.from({ length: MAX_PARALLEL_CALLS }, async () => {
    for (const item of queue) await task(item)
  })
  await Promise.all(workers)
}

const tracePrefix = ({ organization }: Store, traceKey: number) => `${organization.id}/${traceKey}/`
const objectKey = (store: Store, traceKey: number, name: string) => tracePrefix(store, traceKey) + name

function parseRef(ref: string | null): { name: string; offset: number; length: number } {
  const [name = '', offset, length] = (ref ?? '').split(':')
  return { name, offset: Number(offset), length: Number(length) }
}
