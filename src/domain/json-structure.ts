const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

/**
 * Whether a JSON text nests deeper than `maxDepth` or has more than `maxItems` items: objects, lists, and commas. Makes
 * one pass and stops at the first excess, because `JSON.parse` could need gigabytes. The text doesn't have to be valid.
 */
export function findExcess(
  text: string,
  maxDepth: number,
  maxItems = Number.POSITIVE_INFINITY,
): 'depth' | 'items' | undefined {
  let depth = 0
  let items = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) {
      index = endOfString(text, index)
    } else if (unit === COMMA) {
      if (++items > maxItems) return 'items'
    } else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > maxDepth) return 'depth'
      if (++items > maxItems) return 'items'
    } else if (unit === 0x7d || unit === 0x5d) {
      depth--
    }
  }
  return undefined
}

/** The index of the quote that closes the string opened at `start`, or the text's length if none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let firstBackslash = end
    while (text.charCodeAt(firstBackslash - 1) === BACKSLASH) firstBackslash--
    if ((end - firstBackslash) % 2 === 0) return end
  }
  return text.length
}
