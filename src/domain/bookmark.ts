/**
 * In a response, this header says how recent the response is. In a request, it says how recent the response has to be.
 */
export const BOOKMARK_HEADER = 'x-d1-bookmark'

/** A point in each database's history, by the database's name. Later points sort after earlier ones. */
export type Bookmark = ReadonlyMap<string, string>

const POINT = /^([A-Za-z]\w{0,31})=([\w-]{1,128})$/

/**
 * The bookmark in a header's value. If several values are joined with commas, as HTTP joins repeated headers, the
 * newest one counts. Undefined if it's malformed.
 */
export function parseBookmark(value: string): Bookmark | undefined {
  const points = new Map<string, string>()
  for (const part of value.split(',')) {
    const [, name, point] = POINT.exec(part.trim()) ?? []
    if (name === undefined || point === undefined) return undefined
    if (point > (points.get(name) ?? '')) points.set(name, point)
  }
  return points
}

export const formatBookmark = (bookmark: Bookmark): string =>
  [...bookmark].map(([name, point]) => `${name}=${point}`).join(', ')
