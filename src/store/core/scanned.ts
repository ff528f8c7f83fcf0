/** A row that a bounded query scanned: its position in the scan, and whether it matched. */
export interface ScannedRow {
  position: number
  isMatch: number
}

/**
 * Builds a page of up to `limit` matching rows. The next page starts after `nextPlace`, which is the page's last row or
 * the last row scanned. `nextPlace` is null on the last page.
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
