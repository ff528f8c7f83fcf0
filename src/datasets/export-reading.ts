import type { DatasetPart } from '../domain/dataset-version.ts'
import { giveTurn, inPieces } from '../domain/turns.ts'
import {
  FILE_PART_BYTES,
  FILE_STEP_ITEMS,
  MAX_FILE_BYTES,
  MAX_FILE_ITEMS,
  MAX_FILE_OBJECTS,
  STORE_ATTEMPT_MS,
} from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import type { Dataset } from '../store/datasets/datasets.ts'
import { type ItemSize, measureItems } from '../store/datasets/item-sizes.ts'
import { type DatasetItem, readItems } from '../store/datasets/item-values.ts'
import { findHeads, type ItemHead, type ItemPlace, walkItems } from '../store/datasets/items.ts'

/** An item to export. */
interface Planned {
  head: ItemHead
  size: ItemSize
}

/**
 * Chooses the items of one file before any of them is read, because the response's headers already say where the next
 * file begins. A file ends at a number of items and of bytes, but has at least one item if any is left.
 */
export async function planFile(
  store: Store,
  dataset: Dataset,
  { parts, after, isWanted }: FileRange,
): Promise<{ planned: Planned[]; nextPlace: ItemPlace | null }> {
  const planned: Planned[] = []
  let [place, bytes, objects] = [after, 0, 0]
  for (let looked = FILE_STEP_ITEMS; ; looked += FILE_STEP_ITEMS) {
    const { items, nextPlace } = await walkItems(store, dataset, { parts, after: place, limit: FILE_STEP_ITEMS })
    const heads = items.filter(isWanted)
    const sizes = await measureItems(store, dataset, heads)
    for (const [index, size] of sizes.entries()) {
      const head = heads[index]
      const last = planned.at(-1)
      if (!head) continue
      bytes += size.bytes
      objects += size.objects
      if (last && (bytes > MAX_FILE_BYTES || objects > MAX_FILE_OBJECTS)) return { planned, nextPlace: last.head.place }
      planned.push({ head, size })
    }
    // A shorter file is better than a 503.
    const isSlow = store.deadline.remainingMs() < STORE_ATTEMPT_MS
    if (!nextPlace || looked >= MAX_FILE_ITEMS || isSlow) return { planned, nextPlace }
    place = nextPlace
  }
}

/** Which of a dataset's items to export. */
interface FileRange {
  parts: readonly DatasetPart[]
  after: ItemPlace | undefined
  isWanted: (head: ItemHead) => boolean
}

/**
 * Reads planned items in parts that fit into memory. Items that are deleted in the meantime are missing. Each part but
 * the first gets its own store, because a client may take minutes to read them all.
 */
export async function* readParts(
  store: Store,
  reopen: () => Store,
  dataset: Dataset,
  { parts, planned }: { parts: readonly DatasetPart[]; planned: readonly Planned[] },
): AsyncGenerator<DatasetItem[], void> {
  let isFirst = true
  for (const part of inPieces(planned, FILE_PART_BYTES, ({ size }) => size.bytes, FILE_STEP_ITEMS)) {
    let heads = part.map(({ head }) => head)
    while (heads.length > 0) {
      const read = isFirst ? readItems(store, dataset, heads, 'full') : readAgain(reopen, dataset, parts, heads)
      isFirst = false
      const { items, count } = await read
      yield items
      heads = heads.slice(count)
      await giveTurn()
    }
  }
}

/** Reads items. If that fails, tries again with the items that are left: an object may be gone with its trace. */
async function readAgain(
  reopen: () => Store,
  dataset: Dataset,
  parts: readonly DatasetPart[],
  heads: readonly ItemHead[],
): Promise<{ items: DatasetItem[]; count: number }> {
  try {
    return await readItems(reopen(), dataset, heads, 'full')
  } catch {
    const store = reopen()
    const found = await findHeads(
      store,
      dataset,
      parts,
      heads.map(({ id }) => id),
    )
    const left = heads.filter(({ id }) => found.has(id))
    const { items, count } = await readItems(store, dataset, left, 'full')
    const last = left[count]
    return { items, count: last ? heads.indexOf(last) : heads.length }
  }
}
