/** A row that a bounded query scanned: its position in the scan, and whether it matched. */
export interface ScannedRow {
  position: number
  isMatch: number
}

/**
 * Builds a page of up to `limit` matching rows. `nextPlace` is the row after which the next page begins: the page's
 * last row or the last row scanned. It is null if nothing is left.
 */
export function pageFromScan<Row extends ScannedRow>(
  rows: readonly Row[],
  limit: number,
  maxScanned: number,
): { items: Row[]; nextPlace: Row | null } {
  const matching = rows.filter(({ isMatch }) => isMatch === 1)
  const items = matching.slice(0, limit)
  const lastScanned = rows.find(({ position }) => position === maxScanned)
  return { items, nextPlace: (matching.length > limit ? items.at(-1) : lastScanned) ?? null }
}
