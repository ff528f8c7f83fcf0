/** A row of what a bounded query looked at: its place among them, and whether it is what was asked for. */
export interface ScannedRow {
  position: number
  isMatch: number
}

/**
 * The page that such rows make, up to `limit` of them, and the row after which the next one begins: its last, or the last
 * that was looked at. Null where nothing is left.
 */
export function pageOfScanned<Row extends ScannedRow>(
  rows: readonly Row[],
  limit: number,
  maxScanned: number,
): { items: Row[]; nextPlace: Row | null } {
  const matching = rows.filter(({ isMatch }) => isMatch === 1)
  const items = matching.slice(0, limit)
  const lastScanned = rows.find(({ position }) => position === maxScanned)
  return { items, nextPlace: (matching.length > limit ? items.at(-1) : lastScanned) ?? null }
}
