import { MAX_DIFF_PATH_LENGTH } from '../limits.ts'
import { isJsonObject, type Json } from './json.ts'

/** A place where two JSON values differ. */
export interface JsonChange {
  /** Fields and indexes joined with dots: `properties.answer.type`, `required.1`; '' for the whole value. */
  path: string
  op: 'add' | 'remove' | 'change'
  /** Null if absent. */
  before: Json
  after: Json
}

/**
 * Lists the places where two JSON values differ. The order of an object's fields doesn't matter. A value that is added
 * or removed with everything in it is one place, and so is any difference below a very long path.
 */
export const diffJson = (before: Json, after: Json): JsonChange[] => [...changesAt('', before, after)]

function* changesAt(path: string, before: Json, after: Json): Generator<JsonChange> {
  if (before === after) return
  const isSameKind = (isJsonObject(before) && isJsonObject(after)) || (Array.isArray(before) && Array.isArray(after))
  if (!isSameKind) return yield { path, op: 'change', before, after }
  const within = changesWithin(path, before, after)
  // Each place below would repeat the path.
  if (path.length <= MAX_DIFF_PATH_LENGTH) yield* within
  else if (!within.next().done) yield { path, op: 'change', before, after }
}

function* changesWithin(path: string, before: object, after: object): Generator<JsonChange> {
  const pathOf = (field: string) => (path === '' ? field : `${path}.${field}`)
  const [old, fresh] = [new Map<string, Json>(Object.entries(before)), new Map<string, Json>(Object.entries(after))]
  for (const [field, value] of old) {
    const counterpart = fresh.get(field)
    if (counterpart !== undefined) yield* changesAt(pathOf(field), value, counterpart)
    else yield { path: pathOf(field), op: 'remove', before: value, after: null }
  }
  for (const [field, value] of fresh) {
    if (!old.has(field)) yield { path: pathOf(field), op: 'add', before: null, after: value }
  }
}
