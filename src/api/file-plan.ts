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

/* Builds a file of many items: chooses its items first, then reads them in parts while the client receives the file. */

/** An item to export. */
export interface Planned<Place> {
  /** Its place in the list. */
  place: Place
  /** The cost of reading it: the bytes of its values, from the sizes in their rows, and the number of values in R2. */
  size: { bytes: number; objects: number }
}

/**
 * Chooses the items of one file before any of them is read, because the response's headers, which are sent first, say
 * where the next file begins. A file ends when it reaches the limit on items or bytes, but it has at least one item if
 * any are left.
 */
export async function planFile<Item extends Planned<Place>, Place>(
  store: Store,
  after: Place | undefined,
  findNext: (after: Place | undefined, limit: number) => Promise<{ items: Item[]; nextPlace: Place | null }>,
  stepItems = FILE_STEP_ITEMS,
): Promise<{ planned: Item[]; nextPlace: Place | null }> {
  const planned: Item[] = []
  let [place, bytes, objects] = [after, 0, 0]
  for (let looked = stepItems; ; looked += stepItems) {
    const { items, nextPlace } = await findNext(place, stepItems)
    for (const item of items) {
      const last = planned.at(-1)
      bytes += item.size.bytes
      objects += item.size.objects
      if (last && (bytes > MAX_FILE_BYTES || objects > MAX_FILE_OBJECTS)) return { planned, nextPlace: last.place }
      planned.push(item)
    }
    // A shorter file is better than a 503.
    const isSlow = store.deadline.remainingMs() < STORE_ATTEMPT_MS
    if (!nextPlace || looked >= MAX_FILE_ITEMS || isSlow) return { planned, nextPlace }
    place = nextPlace
  }
}

/**
 * Reads planned items in parts that fit into memory. `read` may leave items at the end of a part for the next call. The
 * `count` that it returns says how many items it has read.
 */
export async function* readInParts<Item extends Planned<unknown>, Shown>(
  planned: readonly Item[],
  read: (part: readonly Item[], isFirst: boolean) => Promise<{ items: Shown[]; count: number }>,
): AsyncGenerator<Shown[], void> {
  let isFirst = true
  for (const part of inPieces(planned, FILE_PART_BYTES, ({ size }) => size.bytes, FILE_STEP_ITEMS)) {
    for (let left = part; left.length > 0; ) {
      const { items, count } = await read(left, isFirst)
      isFirst = false
      yield items
      left = left.slice(count)
      await giveTurn()
    }
  }
}

/** All parts, beginning with the one that was read before the response began. */
export async function* startingWith<Item>(first: Item, rest: AsyncIterable<Item>): AsyncGenerator<Item> {
  yield first
  yield* rest
}
