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
 * Cloudflare Access stands before a deployment, asks people who they are, and adds to each request what it found, signed
 * (developers.cloudflare.com/cloudflare-one/access-controls/applications/http-apps/authorization-cookie/validating-json).
 */

/** Somebody whom Access let in and the deployment knows: a user, without a key. */
export interface AccessUser {
  userId: string
  organization: Organization
  scopes: readonly Scope[]
}

/** What Access says of a request, if anything: in a header, or in the cookie that its own pages set. */
export function accessTokenOf({ headers }: Request): string | undefined {
  const cookies = headers.get('cookie')
  const token =
    headers.get('cf-access-jwt-assertion') ?? (cookies === null ? null : cookieOf(cookies, 'CF_Authorization'))
  return token || undefined
}

/**
 * The user of whom a token of Access speaks; undefined where the deployment has no Access. 401 for a token that Access did
 * not sign, for this application and for now, and where the user is of several organizations and `x-org-slug` names none;
 * 403 where no user has the e-mail; 503 where Access's keys, or D1, cannot be asked.
 */
export async function authenticateAccess(token: string, lookup: Lookup): Promise<AccessUser | undefined> {
  const { request, env, now } = lookup
  const { ACCESS_TEAM_DOMAIN, ACCESS_AUD } = env
  if (!ACCESS_TEAM_DOMAIN || !ACCESS_AUD) return undefined
  const email = await emailIn(token, { issuer: issuerOf(ACCESS_TEAM_DOMAIN), audience: ACCESS_AUD, now })
  const found = await members.get(JSON.stringify([email, request.headers.get('x-org-slug')]), lookup)
  const [membership, another] = found ?? []
  if (!membership) throw forbidden(`No user here has the e-mail ${email}, by which Cloudflare Access knows you`)
  if (another) throw organizationRequired()
  return { ...membership, scopes: scopesFrom(env) }
}

/**
 * The organizations of which the person is a user of whom a token of Access speaks, by name: those that `x-org-slug` can name.
 * Empty where there are none. 401 and 503 as above, 401 too where the deployment has no Access.
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

/** By the e-mail and the organization that the request names. Nobody is remembered as unknown: they may be made a user now. */
const members = new Remembered<readonly Membership[]>(
  async (unscoped, name) => {
    const [email, organizationSlug]: [string, string | null] = JSON.parse(name)
    const memberships = await findMemberships(unscoped, { email, organizationSlug, limit: 2 })
    return memberships.length > 0 ? memberships : undefined
  },
  { isSecret: false },
)

/** The address of a team's Access, whether or not it was given with `https://`. */
const issuerOf = (teamDomain: string): string => `https://${teamDomain.trim().replace(/^https:\/\/|\/+$/g, '')}`

/** The e-mail in a token, in lower case. A token of a service, which stands for nobody, has none: 401. */
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

/** The keys with which a team's Access signs: asked for once in ten minutes, and where a token names one that is not there. */
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

/** Where a token names a key that is none; whatever else goes wrong is no fault of the token. */
const TOKEN_FAULTS = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported] as const

const DEFAULT_SCOPES: readonly Scope[] = ['read', 'review']

const scopesByText = new Map<string, readonly Scope[]>()

/** What people may do who come through Access: a word that is no scope gives none. */
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
