/** The queue's IDs in order. If the URL's span isn't in the queue, it comes first. */
export const itemsOf = (queued: readonly string[], named: string | null): string[] => {
  const ids = [...new Set(queued)]
  return named === null || ids.includes(named) ? ids : [named, ...ids]
}

/** The next open item after the given one, or else the first open item. */
export function nextOpen(
  ids: readonly string[],
  after: string | undefined,
  isOpen: (id: string) => boolean,
): string | undefined {
  const from = after === undefined ? 0 : ids.indexOf(after) + 1
  return ids.slice(from).find(isOpen) ?? ids.slice(0, from).find(id => id !== after && isOpen(id))
}

/** The open items after the given one, nearest first. */
export const openAfter = (
  ids: readonly string[],
  after: string | undefined,
  isOpen: (id: string) => boolean,
  limit: number,
): string[] =>
  ids
    .slice(after === undefined ? 0 : ids.indexOf(after) + 1)
    .filter(isOpen)
    .slice(0, limit)
