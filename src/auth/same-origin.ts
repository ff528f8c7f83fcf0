import { forbidden } from '../http/errors.ts'

/**
 * Checks that a request comes from a page on this origin. Browsers add cookies to requests from any page, so a request
 * that relies on them to change something must come from this origin. 403 if it doesn't, or if its origin is unknown.
 */
export function requireSameOrigin(request: Request): void {
  const { headers } = request
  const isOwn = headers.has('origin') ? isOwnOrigin(request) : headers.get('sec-fetch-site') === 'same-origin'
  if (!isOwn) throw forbidden('Without an API key in a header, only pages from this origin may do this; check `Origin`')
}

/** Checks that a request doesn't come from a page on another origin. 403 if it does. Programs send no `Origin`. */
export function requireNoOtherOrigin(request: Request): void {
  if (request.headers.has('origin') && !isOwnOrigin(request)) {
    throw forbidden('Pages from other origins may not call this; check `Origin`')
  }
}

const isOwnOrigin = ({ headers, url }: Request): boolean => headers.get('origin') === new URL(url).origin
