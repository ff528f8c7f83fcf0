import { LENGTH_A_TURN } from '../limits.ts'

/**
 * Work in pieces: wherever it yields, somebody else may have a turn. One isolate serves many requests with one thread, so
 * whatever takes long must yield, or all others wait for it.
 */
export type Work<Result> = Generator<void, Result>

/** Does the work and lets other requests of the isolate have a turn between its pieces. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await giveTurn()
  }
}

/** Does the work without a pause. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Resolves after what waits already: a timer that is due comes behind requests that have arrived. */
export const giveTurn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0))

/**
 * What a task makes of each item, in their order: `size` of them are begun at once, then others have a turn. All at once they
 * would run as one piece, however often each of them waits for something that is there.
 */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  size: number,
  task: (item: Item, index: number) => Promise<Result>,
  weightOf?: (item: Item) => number,
): Promise<Result[]> {
  const results: Result[] = []
  for (const some of inPieces(items, size, weightOf)) {
    const start = results.length
    if (start > 0) await giveTurn()
    results.push(...(await Promise.all(some.map((item, index) => task(item, start + index)))))
  }
  return results
}

/** Gives a turn whenever what it was called for is longer, together, than `LENGTH_A_TURN`: before each text is worked on. */
export function turnsByLength(): (length: number) => Promise<void> {
  let sum = 0
  return async length => {
    sum += length
    if (sum <= LENGTH_A_TURN) return
    sum = length
    await giveTurn()
  }
}

/** The items in order, at a time at most `size` of them, or fewer that weigh as much; one at least. */
export function* inPieces<Item>(
  items: readonly Item[],
  size: number,
  weightOf: (item: Item) => number = () => 1,
): Generator<Item[]> {
  let piece: Item[] = []
  let weight = 0
  for (const item of items) {
    const added = weightOf(item)
    if (piece.length > 0 && weight + added > size) {
      yield piece
      piece = []
      weight = 0
    }
    piece.push(item)
    weight += added
  }
  if (piece.length > 0) yield piece
}
