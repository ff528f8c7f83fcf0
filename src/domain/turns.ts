import { LENGTH_PER_TURN } from '../limits.ts'

/**
 * Work in pieces. At each yield, other requests can run. An isolate serves many requests on one thread, so if long work
 * doesn't yield, they all wait.
 */
export type Work<Result> = Generator<void, Result>

/** Does the work, and lets the isolate's other requests run between its pieces. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await giveTurn()
  }
}

/** Does the work without pausing. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Resolves after everything that's already waiting: a due timer runs after requests that have arrived. */
export const giveTurn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0))

/**
 * Runs a task for each item and returns the results in order. It starts `size` items at a time, then gives other
 * requests a turn. If it started them all at once, they would run without a pause, even if each awaited a resolved
 * promise.
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

/**
 * Returns a function to call with the length of each string before working on it. The function gives other requests a
 * turn whenever the lengths since the last turn exceed `LENGTH_PER_TURN`.
 */
export function turnsByLength(): (length: number) => Promise<void> {
  let sum = 0
  return async length => {
    sum += length
    if (sum <= LENGTH_PER_TURN) return
    sum = length
    await giveTurn()
  }
}

/**
 * Splits items into pieces of at most `maxItems` items with a total weight of at most `size`. By default, each item
 * weighs 1, and `maxItems` isn't limited. Each piece has at least one item.
 */
export function* inPieces<Item>(
  items: readonly Item[],
  size: number,
  weightOf: (item: Item) => number = () => 1,
  maxItems = Number.POSITIVE_INFINITY,
): Generator<Item[]> {
  let piece: Item[] = []
  let weight = 0
  for (const item of items) {
    const added = weightOf(item)
    if (piece.length > 0 && (piece.length === maxItems || weight + added > size)) {
      yield piece
      piece = []
      weight = 0
    }
    piece.push(item)
    weight += added
  }
  if (piece.length > 0) yield piece
}
