import { BOOKMARK_HEADER, formatBookmark, parseBookmark } from '../../domain/bookmark.ts'

/*
 * How new the data is that this browser has seen, on a deployment that reads from replicas. In browser storage, so that
 * a reload and other tabs see no older data either.
 */

const KEPT = 'countersign.bookmark'

/** The headers of a request whose response must not be older. */
export function bookmarkHeaders(): Record<string, string> {
  const kept = localStorage.getItem(KEPT)
  return kept !== null && parseBookmark(kept) ? { [BOOKMARK_HEADER]: kept } : {}
}

/** Keeps a response's bookmark, unless that of a concurrent response is newer. */
export function keepBookmark({ headers }: Response): void {
  const received = headers.get(BOOKMARK_HEADER)
  if (received === null) return
  const kept = localStorage.getItem(KEPT)
  const newest = parseBookmark(kept === null ? received : `${kept}, ${received}`) ?? parseBookmark(received)
  if (newest) localStorage.setItem(KEPT, formatBookmark(newest))
}
