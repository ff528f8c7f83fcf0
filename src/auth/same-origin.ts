import { forbidden } from '../http/errors.ts'

/**
 * Checks that a request comes from a page on this origin. Browsers add cookies to requests from any page, so a request
 * that relies on them to change something must come from this origin. 403 if it doesn't, or doesn't say.
 */
export function requireSameOrigin({ headers, url }: Request): void {
  const origin = headers.get('origin')
  const isOwn = origin === null ? headers.get('sec-fetch-site') === 'same-origin' : origin === new URL(url).origin
  if (!isOwn) throw forbidden('Without an API key in a header, only pages of this origin may do this; check `Origin`')
}
