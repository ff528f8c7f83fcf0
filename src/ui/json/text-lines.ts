/** Longer lines are split, because browsers lay out a line as a whole. */
const MAX_LINE_LENGTH = 2_000

/** A part of a string that is shown as one line. */
export interface TextLine {
  text: string
  /** Where it starts in the string. */
  start: number
}

/** A string's lines, with long ones split. */
export function linesOf(text: string): TextLine[] {
  const lines: TextLine[] = []
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline === -1 ? text.length : newline
    for (let from = start; from === start || from < end; ) {
      const to = splitAt(text, Math.min(from + MAX_LINE_LENGTH, end), end)
      lines.push({ text: text.slice(from, to), start: from })
      from = to === from ? end + 1 : to
    }
    start = end + 1
  }
  return lines
}

/** Moves a split that would divide a surrogate pair. */
const splitAt = (text: string, at: number, end: number): number =>
  at < end && /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at

/** A part of a string that matches a search. */
export interface Match {
  start: number
  end: number
}

/** Enough matches to step through, and few enough to keep in memory. */
export const MAX_MATCHES = 10_000

/** Finds a string in another, ignoring case. */
export function matchesIn(text: string, wanted: string): Match[] {
  if (wanted === '') return []
  const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu')
  const matches: Match[] = []
  for (const { index, 0: found } of text.matchAll(pattern)) {
    matches.push({ start: index, end: index + found.length })
    if (matches.length === MAX_MATCHES) break
  }
  return matches
}

/** The index of the last item that starts at or before a place; -1 if none does. */
export function lastAtOrBefore(items: readonly { start: number }[], place: number): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((items[middle]?.start ?? 0) <= place) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** A part of a line. `match` is the index of the match that the part belongs to, if there is one. */
export interface LinePart {
  text: string
  match: number | undefined
}

/** Splits a line at its matches. A match may begin or end in another line. */
export function partsOf({ text, start }: TextLine, matches: readonly Match[]): LinePart[] {
  const end = start + text.length
  const parts: LinePart[] = []
  let at = start
  // Matches don't overlap, so only the last one that starts before the line can reach into it.
  for (let index = Math.max(0, lastAtOrBefore(matches, start)); index < matches.length; index++) {
    const match = matches[index]
    if (!match || match.start >= end) break
    const [from, to] = [Math.max(match.start, start), Math.min(match.end, end)]
    if (to <= from) continue
    if (from > at) parts.push({ text: text.slice(at - start, from - start), match: undefined })
    parts.push({ text: text.slice(from - start, to - start), match: index })
    at = to
  }
  if (at < end) parts.push({ text: text.slice(at - start), match: undefined })
  return parts
}
