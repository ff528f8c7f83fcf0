import { BOOKMARK_HEADER, formatBookmark, parseBookmark } from '../../domain/bookmark.ts'

/*
 * The bookmark of the newest data that this browser has seen, for deployments that read from replicas. It's kept in
 * browser storage, so that reloads and other tabs don't see older data either.
 */

const KEPT = 'countersign.bookmark'

/** The headers for a request whose response must not be older than the bookmark. */
export function bookmarkHeaders(): Record<string, string> {
  const kept = localStorage.getItem(KEPT)
  return kept !== null && parseBookmark(kept) ? { [BOOKMARK_HEADER]: kept } : {}
}

/** Keeps a response's bookmark, unless a concurrent response had a newer one. */
export function keepBookmark({ headers }: Response): void {
  const received = headers.get(BOOKMARK_HEADER)
  if (received === null) return
  const kept = localStorage.getItem(KEPT)
  const newest = parseBookmark(kept === null ? received : `${kept}, ${received}`) ?? parseBookmark(received)
  if (newest) localStorage.setItem(KEPT, formatBookmark(newest))
}
