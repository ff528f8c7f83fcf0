/** After this many pages in a row without a match, a list asks before it continues. */
const MAX_EMPTY_PAGES = 20

/** Whether a list has read too many pages without a match, given the pages' sizes. */
export function isTired(sizes: readonly number[]): boolean {
  const emptyPages = sizes.length - 1 - sizes.findLastIndex(size => size > 0)
  return emptyPages > 0 && emptyPages % MAX_EMPTY_PAGES === 0
}
