import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { isScope, type Scope } from '../domain/api-key.ts'
import type { Env } from '../env.ts'
import {
  findApiError,
  forbidden,
  logFault,
  notAuthenticated,
  organizationRequired,
  unavailable,
} from '../http/errors.ts'
import { ACCESS_CERTS_RETRY_SECONDS, ACCESS_CERTS_TIMEOUT_MS, MAX_LISTED_MEMBERSHIPS } from '../limits.ts'
import { findMemberships, type Membership } from '../store/accounts/users.ts'
import type { Organization, UnscopedStore } from '../store/core/store.ts'
import type { Lookup } from './lookup.ts'
import { Remembered } from './remembered.ts'
import { cookieOf } from './session.ts'

/*
 * Cloudflare Access sits in front of a deployment, signs users in, and adds a signed token to each request
 * (developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json).
 */

/** A user of this deployment who signed in through Access. They have no key. */
export interface AccessUser {
  userId: string
  isAdjudicator: boolean
  organization: Organization
  scopes: readonly Scope[]
}

/** A request's Access token, if it has one. The token is in a header or in the cookie that Access's own pages set. */
export function accessTokenOf({ headers }: Request): string | undefined {
  const cookies = headers.get('cookie')
  const token =
    headers.get('cf-access-jwt-assertion') ?? (cookies === null ? null : cookieOf(cookies, 'CF_Authorization'))
  return token || undefined
}

/**
 * Returns the user that an Access token identifies, or undefined if the deployment doesn't use Access. 401 if the token
 * has an invalid signature, is for another application, or isn't valid now, or if the user belongs to several
 * organizations and `x-org-slug` names none; 403 if no user has the email; 503 if Access's keys or D1 can't be reached.
 */
export async function authenticateAccess(token: string, lookup: Lookup): Promise<AccessUser | undefined> {
  const { request, env, now } = lookup
  const { ACCESS_TEAM_DOMAIN, ACCESS_AUD } = env
  if (!ACCESS_TEAM_DOMAIN || !ACCESS_AUD) return undefined
  const email = await emailIn(token, { issuer: issuerOf(ACCESS_TEAM_DOMAIN), audience: ACCESS_AUD, now })
  const found = await members.get(JSON.stringify([email, request.headers.get('x-org-slug')]), lookup)
  const [membership, another] = found ?? []
  if (!membership) throw forbidden(`Cloudflare Access signed you in as ${email}, but no user has this email`)
  if (another) throw organizationRequired()
  return { ...membership, scopes: scopesFrom(env) }
}

/**
 * Lists the organizations of the user that an Access token identifies, sorted by name. `x-org-slug` can name any of
 * them. Empty if the user belongs to none. 401 and 503 as in `authenticateAccess`, and also 401 if the deployment
 * doesn't use Access.
 */
export async function listAccessOrganizations(
  token: string | undefined,
  env: Env,
  unscoped: UnscopedStore,
  now: number,
): Promise<{ slug: string; name: string }[]> {
  const { ACCESS_TEAM_DOMAIN, ACCESS_AUD } = env
  if (!token || !ACCESS_TEAM_DOMAIN || !ACCESS_AUD) throw notAuthenticated()
  const email = await emailIn(token, { issuer: issuerOf(ACCESS_TEAM_DOMAIN), audience: ACCESS_AUD, now })
  const found = await findMemberships(unscoped, { email, organizationSlug: null, limit: MAX_LISTED_MEMBERSHIPS })
  return found
    .map(({ organization: { slug, name } }) => ({ slug, name }))
    .toSorted((left, right) => left.name.localeCompare(right.name))
}

/** Looks up by email and `x-org-slug`. Misses aren't cached, because somebody may add the user at any time. */
const members = new Remembered<readonly Membership[]>(
  async (unscoped, name) => {
    const [email, organizationSlug]: [string, string | null] = JSON.parse(name)
    const memberships = await findMemberships(unscoped, { email, organizationSlug, limit: 2 })
    return memberships.length > 0 ? memberships : undefined
  },
  { isSecret: false },
)

/** The URL of a team's Access domain, given with or without `https://`. */
const issuerOf = (teamDomain: string): string => `https://${teamDomain.trim().replace(/^https:\/\/|\/+$/g, '')}`

/** The email in a token, lowercased. 401 for a service token, which has no email. */
async function emailIn(
  token: string,
  { issuer, audience, now }: { issuer: string; audience: string; now: number },
): Promise<string> {
  try {
    const { payload } = await jwtVerify(token, certsOf(issuer), {
      issuer,
      audience,
      algorithms: ['RS256'],
      requiredClaims: ['exp'],
      currentDate: new Date(now),
    })
    if (typeof payload.email === 'string' && payload.email !== '') return payload.email.toLowerCase()
  } catch (error) {
    if (findApiError(error) || !(error instanceof errors.JOSEError)) throw error
  }
  throw notAuthenticated()
}

const certs = new Map<string, JWTVerifyGetKey>()

/** A team's Access signing keys, fetched at most once every ten minutes, except when a token names an unknown key. */
function certsOf(issuer: string): JWTVerifyGetKey {
  const known = certs.get(issuer)
  if (known) return known
  const remote = createRemoteJWKSet(new URL(`${issuer}/cdn-cgi/access/certs`), {
    timeoutDuration: ACCESS_CERTS_TIMEOUT_MS,
  })
  const getKey: JWTVerifyGetKey = async (header, token) => {
    try {
      return await remote(header, token)
    } catch (error) {
      if (TOKEN_FAULTS.some(fault => error instanceof fault)) throw error
      throw unavailable(ACCESS_CERTS_RETRY_SECONDS, error)
    }
  }
  certs.set(issuer, getKey)
  return getKey
}

/** The errors that mean that a token names no usable key. Any other error is a failure to fetch the keys. */
const TOKEN_FAULTS = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported] as const

const DEFAULT_SCOPES: readonly Scope[] = ['read', 'review']

const scopesByText = new Map<string, readonly Scope[]>()

/** The scopes of Access users. Ignores unknown words. */
function scopesFrom({ ACCESS_SCOPES = '' }: Env): readonly Scope[] {
  const words = ACCESS_SCOPES.split(/[\s,]+/).filter(Boolean)
  if (words.length === 0) return DEFAULT_SCOPES
  const known = scopesByText.get(ACCESS_SCOPES)
  if (known) return known
  const unknown = words.filter(word => !isScope(word))
  if (unknown.length > 0) logFault('access_scopes_unknown', { words: unknown.join(' ') }, 'ACCESS_SCOPES')
  const scopes = words.filter(isScope)
  scopesByText.set(ACCESS_SCOPES, scopes)
  return scopes
}
