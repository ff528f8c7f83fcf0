import { utf8Length } from '../../domain/text.ts'
import { MAX_ARRAY_BYTES } from '../../limits.ts'

/*
 * Many rows are sent to D1 as one parameter, a flat JSON array that `json_each` expands, because a statement accepts at
 * most 100 parameters. A parameter may have up to 2,000,000 bytes.
 */

/** Some of the items, with their rows as one JSON array. */
interface Chunk<Item> {
  items: Item[]
  json: string
}

/**
 * Splits items into chunks whose rows fit in one parameter. `rowOf` returns an item's row, and `extraBytes` returns the
 * size of anything else that's sent for the item.
 */
export function* chunkRows<Item>(
  items: readonly Item[],
  rowOf: (item: Item) => readonly unknown[],
  extraBytes: (item: Item) => number = () => 0,
): Generator<Chunk<Item>> {
  let chunk: Item[] = []
  let rows: string[] = []
  let size = 0
  for (const item of items) {
    const row = JSON.stringify(rowOf(item))
    const bytes = utf8Length(row) + 1 + extraBytes(item)
    if (rows.length > 0 && size + bytes > MAX_ARRAY_BYTES) {
      yield { items: chunk, json: `[${rows.join()}]` }
      chunk = []
      rows = []
      size = 0
    }
    chunk.push(item)
    rows.push(row)
    size += bytes
  }
  if (rows.length > 0) yield { items: chunk, json: `[${rows.join()}]` }
}
