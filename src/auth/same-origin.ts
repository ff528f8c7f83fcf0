import { forbidden } from '../http/errors.ts'

/**
 * Lets a request pass that a page of this very origin sent. A browser adds cookies to what any page sends, so for a request
 * that they let in, and that changes something, the page counts, too. 403 where it is another's, or the request does not say.
 */
export function requireSameOrigin({ headers, url }: Request): void {
  const origin = headers.get('origin')
  const isOwn = origin === null ? headers.get('sec-fetch-site') === 'same-origin' : origin === new URL(url).origin
  if (!isOwn) throw forbidden("Without an API key in a header, only this origin's own pages may do this: see `Origin`")
}
