import { utf8Length } from '../domain/hash.ts'
import { newId } from '../domain/ids.ts'
import { INLINE_BYTES, MAX_PARALLEL_READS, PREVIEW_BYTES } from '../limits.ts'
import { patiently } from './patience.ts'
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
 * Puts large values (as JSON) of one trace into one R2 object and says how their rows refer to it. The object's name is
 * new, so no attempt overwrites another's. Put before the rows that refer to it.
 */
export async function putValues(store: Store, traceKey: number, values: readonly string[]): Promise<StoredValue[]> {
  const name = newId()
  const encoded = values.map(json => new TextEncoder().encode(json))
  const stored: StoredValue[] = []
  let offset = 0
  for (const [index, bytes] of encoded.entries()) {
    stored.push({ text: preview(values[index] ?? ''), ref: `${name}:${offset}:${bytes.byteLength}` })
    offset += bytes.byteLength
  }
  const body = await new Blob(encoded).arrayBuffer()
  await patiently(store.patience, () => store.payloads.put(objectKey(store, traceKey, name), body))
  return stored
}

/** Removes the object behind a reference that no row took. A failure leaves an orphan, which the sweep removes. */
export async function discardValue(store: Store, traceKey: number, { ref }: StoredValue): Promise<void> {
  if (ref === null) return
  const { name } = parseRef(ref)
  await store.payloads.delete(objectKey(store, traceKey, name)).catch(() => undefined)
}

/** The JSON texts of a trace's stored values, in order: R2 values fetched, a few at a time, others as they are. */
export async function readValues(store: Store, traceKey: number, values: readonly StoredValue[]): Promise<string[]> {
  const texts = values.map(({ text }) => text)
  const away = values.flatMap(({ ref }, index) => (ref === null ? [] : [{ index, ...parseRef(ref) }]))
  const queue = away.values()
  const readers = Array.from({ length: Math.min(MAX_PARALLEL_READS, away.length) }, async () => {
    for (const { index, name, offset, length } of queue) {
      const key = objectKey(store, traceKey, name)
      texts[index] = await patiently(store.patience, async () => {
        const object = await store.payloads.get(key, { range: { offset, length } })
        if (!object) throw new Error('a row refers to an R2 object that is gone')
        return object.text()
      })
    }
  })
  await Promise.all(readers)
  return texts
}

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
