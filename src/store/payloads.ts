import { newId } from '../domain/ids.ts'
import type { Json } from '../domain/json.ts'
import { utf8Length } from '../domain/text.ts'
import { DISCARD_PATIENCE_MS, INLINE_BYTES, MAX_PARALLEL_READS, PREVIEW_BYTES } from '../limits.ts'
import { patiently, within } from './patience.ts'
import type { Store } from './store.ts'

/** A value as a row holds it: its JSON, or the JSON's first bytes and a reference to the whole in R2. */
export interface StoredValue {
  text: string
  /** `<object>:<offset>:<length>`, bytes; the object is named within its trace. Null: `text` is the whole. */
  ref: string | null
}

/** Whether a value's JSON is too large for its row. */
export const needsObject = (json: string): boolean => json.length * 3 > INLINE_BYTES && utf8Length(json) > INLINE_BYTES

export const inlineValue = (json: string): StoredValue => ({ text: json, ref: null })

/**
 * Puts a large value (as JSON) of a trace into R2 and says how its row refers to it. The object's name is new, so no
 * attempt overwrites another's. Put before the row that refers to it.
 */
export async function putValue(store: Store, traceKey: number, json: string): Promise<StoredValue> {
  const name = newId()
  const bytes = new TextEncoder().encode(json)
  await patiently(store.patience, () => store.payloads.put(objectKey(store, traceKey, name), bytes))
  return { text: preview(json), ref: `${name}:0:${bytes.byteLength}` }
}

/** Removes the object behind a reference that no row took. If that fails, it lies there until its trace is purged. */
export async function discardValue(store: Store, traceKey: number, { ref }: StoredValue): Promise<void> {
  if (ref === null) return
  const key = objectKey(store, traceKey, parseRef(ref).name)
  await within(DISCARD_PATIENCE_MS, () => store.payloads.delete(key)).catch(() => undefined)
}

/**
 * A trace's stored values, in order: those in R2 fetched, a few at a time. Undefined where an object is gone, as it is
 * when the trace is purged meanwhile.
 */
export async function readValues(
  store: Store,
  traceKey: number,
  values: readonly StoredValue[],
): Promise<Json[] | undefined> {
  const texts: (string | undefined)[] = values.map(({ text }) => text)
  const away = values.flatMap(({ ref }, index) => (ref === null ? [] : [{ index, ...parseRef(ref) }])).values()
  const readers = Array.from({ length: MAX_PARALLEL_READS }, async () => {
    for (const { index, name, offset, length } of away) {
      texts[index] = await readObject(store, objectKey(store, traceKey, name), { offset, length })
    }
  })
  await Promise.all(readers)
  const found = texts.filter(text => text !== undefined)
  return found.length === texts.length ? found.map(text => JSON.parse(text)) : undefined
}

const readObject = (store: Store, key: string, range: R2Range): Promise<string | undefined> =>
  patiently(store.patience, async () => (await store.payloads.get(key, { range }))?.text())

/** Deletes every object of a trace. Returns whether any may be left. */
export async function deleteValues(store: Store, traceKey: number): Promise<boolean> {
  const page = await patiently(store.patience, () => store.payloads.list({ prefix: tracePrefix(store, traceKey) }))
  const keys = page.objects.map(({ key }) => key)
  if (keys.length > 0) await patiently(store.patience, () => store.payloads.delete(keys))
  return page.truncated
}

/** The first bytes of a JSON text, cut between characters. */
function preview(json: string): string {
  const bytes = new TextEncoder().encode(json.slice(0, PREVIEW_BYTES)).subarray(0, PREVIEW_BYTES)
  // A character cut in two is left out rather than shown as a replacement character.
  return new TextDecoder().decode(bytes, { stream: true })
}

const tracePrefix = ({ organization }: Store, traceKey: number) => `${organization.id}/${traceKey}/`
const objectKey = (store: Store, traceKey: number, name: string) => tracePrefix(store, traceKey) + name

function parseRef(ref: string): { name: string; offset: number; length: number } {
  const [name = '', offset, length] = ref.split(':')
  return { name, offset: Number(offset), length: Number(length) }
}
