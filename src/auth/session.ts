import { SESSION_SECONDS } from '../limits.ts'
import { findSession, type SessionCredential } from '../store/accounts/sessions.ts'
import { hashKey, isToken } from './keys.ts'
import type { Lookup } from './lookup.ts'
import { Remembered } from './remembered.ts'

const sessions = new Remembered(async (unscoped, secret) => findSession(unscoped, await hashKey(secret)), {
  isSecret: true,
})

/**
 * The session with this secret, live or not. Undefined if there's none. 503 if D1 doesn't respond and this isolate
 * hasn't seen the session before.
 */
export const sessionOf = (secret: string, lookup: Lookup): Promise<SessionCredential | undefined> =>
  sessions.get(secret, lookup)

/** Ends a session in this isolate immediately. Other isolates check D1 again within 30 seconds. */
export const forgetSession = (secret: string): void => sessions.end(secret)

/** The secret of a request's session, if its cookie has one. */
export function sessionSecretOf(request: Request): string | undefined {
  const cookies = request.headers.get('cookie')
  if (cookies === null) return undefined
  const value = cookieOf(cookies, cookieName(request))
  return value !== undefined && isToken(value) ? value : undefined
}

/** The value of the first cookie with this name. */
export function cookieOf(cookies: string, name: string): string | undefined {
  const prefix = `${name}=`
  const cookie = cookies.split(';').find(each => each.trimStart().startsWith(prefix))
  return cookie?.trim().slice(prefix.length)
}

/**
 * The `Set-Cookie` header that sets a session, or clears it if `secret` is null. Scripts can't read the cookie, and
 * other sites can't send it.
 */
export function sessionCookie(request: Request, secret: string | null): string {
  const lifetime = secret === null ? 0 : SESSION_SECONDS
  const attributes = `Path=/; Max-Age=${lifetime}; HttpOnly; SameSite=Strict`
  return `${cookieName(request)}=${secret ?? ''}; ${attributes}${isSecure(request) ? '; Secure' : ''}`
}

/**
 * The `__Host-` prefix keeps the domain's other hosts from setting the cookie. Browsers accept it only over https,
 * which localhost doesn't use.
 */
const cookieName = (request: Request): string => (isSecure(request) ? '__Host-countersign' : 'countersign')

const isSecure = ({ url }: Request): boolean => url.startsWith('https:')
