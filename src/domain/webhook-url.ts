/** Names that never lead to a public host. A name without a dot doesn't either. */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'localdomain', 'internal', 'intranet', 'lan', 'home.arpa', 'onion']

/** The hosts that a deployment may not send webhooks to. */
export interface UrlRules {
  /** The deployment's own host, with its port, if known from the request. */
  ownHost: string | undefined
  /** Whether http, IP addresses, and local names are allowed, for `npm start`. */
  allowsLocal: boolean
}

/**
 * Says why events can't be sent to a URL. Undefined if they can. Workers can't resolve names, so a public name that
 * leads to a private address passes, but Cloudflare's network doesn't reach private addresses.
 */
export function findUrlFault(text: string, { ownHost, allowsLocal }: UrlRules): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(allowsLocal && url.protocol === 'http:')) return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password'
  if (url.hash !== '') return 'must not contain a fragment (#)'
  const host = withoutDots(url.hostname)
  if (ownHost !== undefined && isOwnHost(url, ownHost, allowsLocal)) return 'must not be this service itself'
  if (allowsLocal) return undefined
  // `URL` turns every form of an IPv4 address (decimal, octal, hexadecimal, or shortened) into four numbers with dots.
  if (host.startsWith('[') || /^[\d.]+$/.test(host)) return 'must have a host name, not an IP address'
  const isPrivate = !host.includes('.') || PRIVATE_SUFFIXES.some(suffix => `.${host}`.endsWith(`.${suffix}`))
  if (isPrivate) return 'must have a public host name'
  const port = Number(url.port || 443)
  if (port !== 443 && port < 1024) return 'must use port 443, or port 1024 or higher'
  return undefined
}

/** A name with a trailing dot leads to the same host. */
const withoutDots = (hostname: string): string => hostname.replace(/\.+$/, '')

/** Locally, receivers have the same name as the service, but a different port. */
function isOwnHost(url: URL, ownHost: string, comparesPorts: boolean): boolean {
  const own = new URL(`${url.protocol}//${ownHost}`)
  if (withoutDots(url.hostname) !== withoutDots(own.hostname)) return false
  return !comparesPorts || url.port === own.port
}
