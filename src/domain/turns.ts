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

/** Resolves after what waits already: a timer that is due comes behind requests that have arrived. */
export const giveTurn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0))

/** The items in order, at most `size` of them at a time. */
export function* inPieces<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size)
}
