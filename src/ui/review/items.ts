/** The ids of the queue in their order, with the span that the address names before them where it is none of them. */
export const itemsOf = (queued: readonly string[], named: string | null): string[] => {
  const ids = [...new Set(queued)]
  return named === null || ids.includes(named) ? ids : [named, ...ids]
}

/** The next item after one that is still to be decided, else the first one at all. */
export function nextOpen(
  ids: readonly string[],
  after: string | undefined,
  isOpen: (id: string) => boolean,
): string | undefined {
  const from = after === undefined ? 0 : ids.indexOf(after) + 1
  return ids.slice(from).find(isOpen) ?? ids.slice(0, from).find(id => id !== after && isOpen(id))
}

/** The open items that come after one, nearest first. */
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
