import { type Planned, planFile, readInParts } from '../api/file-plan.ts'
import type { DatasetPart } from '../domain/dataset-version.ts'
import type { Store } from '../store/core/store.ts'
import type { Dataset } from '../store/datasets/datasets.ts'
import { type ItemSize, measureItems } from '../store/datasets/item-sizes.ts'
import { type DatasetItem, readItems } from '../store/datasets/item-values.ts'
import { findHeads, type ItemHead, type ItemPlace, walkItems } from '../store/datasets/items.ts'

/** An item to export. */
interface PlannedItem extends Planned<ItemPlace> {
  head: ItemHead
}

/** Chooses one file's items. Items that the export leaves out also count toward the file's limit. */
export const planItems = (store: Store, dataset: Dataset, { parts, after, isWanted }: FileRange) =>
  planFile<PlannedItem, ItemPlace>(store, after, async (after, limit) => {
    const { items, nextPlace } = await walkItems(store, dataset, { parts, after, limit })
    const heads = items.filter(isWanted)
    const sizes = await measureItems(store, dataset, heads)
    return { items: sizes.flatMap((size, index) => plannedItem(heads[index], size)), nextPlace }
  })

const plannedItem = (head: ItemHead | undefined, size: ItemSize): PlannedItem[] =>
  head ? [{ head, size, place: head.place }] : []

/** Which of a dataset's items to export. */
interface FileRange {
  parts: readonly DatasetPart[]
  after: ItemPlace | undefined
  isWanted: (head: ItemHead) => boolean
}

/**
 * Reads planned items in parts. Items that are deleted in the meantime are missing. Each part but the first gets its
 * own store, because a client may take minutes to read them all.
 */
export const readItemsInParts = (
  store: Store,
  reopen: () => Store,
  dataset: Dataset,
  { parts, planned }: { parts: readonly DatasetPart[]; planned: readonly PlannedItem[] },
): AsyncGenerator<DatasetItem[], void> =>
  readInParts(planned, (part, isFirst) => {
    const heads = part.map(({ head }) => head)
    return isFirst ? readItems(store, dataset, heads, 'full') : readAgain(reopen, dataset, parts, heads)
  })

/**
 * Reads items. If that fails, tries again with the items that are left: an object may have been deleted with its trace.
 */
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
