import type { Json } from '../api/wire.ts'

/** A metadata field's dotted path and value. */
export interface MetadataLeaf {
  path: string
  value: string
}

/**
 * The first scalars of metadata in document order, by filter path. An array's items have the array's path.
 * Not recursive, because metadata may be deeply nested.
 */
export function metadataLeaves(metadata: Json, limit: number): MetadataLeaf[] {
  const leaves: MetadataLeaf[] = []
  const open: { path: string; value: Json }[] = [{ path: '', value: metadata }]
  for (let next = open.pop(); next && leaves.length < limit; next = open.pop()) {
    const { path, value } = next
    if (Array.isArray(value)) {
      for (const item of value.toReversed()) open.push({ path, value: item })
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value).toReversed()) {
        open.push({ path: path === '' ? name : `${path}.${name}`, value: item })
      }
    } else if (value !== '') {
      leaves.push({ path, value: String(value) })
    }
  }
  return leaves
}
