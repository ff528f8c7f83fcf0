import type { Actor, Scope } from '../domain/api-key.ts'
import { BOOKMARK_HEADER } from '../domain/bookmark.ts'
import { equalInConstantTime } from '../domain/hash.ts'
import type { Env } from '../env.ts'
import { notAuthenticated, notFound } from '../http/errors.ts'
import { DEFAULT_RATE_LIMIT_PER_MINUTE } from '../limits.ts'
import { lookUpSecret } from '../rate-limit/address.ts'
import { type Credential, findCredential } from '../store/accounts/api-keys.ts'
import type { PlacedProject } from '../store/accounts/projects.ts'
import type { Organization } from '../store/core/store.ts'
import { accessTokenOf, authenticateAccess } from './access.ts'
import { hashKey, isKey } from './keys.ts'
import type { Lookup } from './lookup.ts'
import { Remembered } from './remembered.ts'
import { requireSameOrigin } from './same-origin.ts'
import { sessionOf, sessionSecretOf } from './session.ts'

/** A caller's permissions. */
interface Rights {
  organization: Organization
  /** The one project that the caller may use. Null for all projects in the organization. */
  project: PlacedProject | null
  scopes: readonly Scope[]
  /** Who the caller acts as. Only a person's decisions are ground truth. */
  actsAs: Actor
  /** Whether the caller's user settles disagreements between reviewers. Changes take effect within 30 seconds. */
  isAdjudicator: boolean
  rateLimitPerMinute: number
  /** The limits of the caller's key, which also apply to keys that it creates. Null means no such limit. */
  ownLimits: Pick<Credential, 'expiresAt' | 'rateLimitPerMinute'>
  /** When the caller's session ends. Null if the caller has no session. */
  sessionExpiresAt: number | null
}

/** A caller with a key, or with a session that a key opened. */
export interface KeyCaller extends Rights {
  keyId: string
  /** The user that the key acts for, or null. */
  userId: string | null
}

/** A user without a key, identified by Cloudflare Access. */
interface AccessCaller extends Rights {
  keyId: null
  userId: string
}

/** The caller with its permissions. */
export type Caller = KeyCaller | AccessCaller

const keys = new Remembered<Credential>(
  async (unscoped, secret) => (isKey(secret) ? findCredential(unscoped, await hashKey(secret)) : undefined),
  { isSecret: true },
)

/**
 * Authenticates a request by its key, or else by its session, or else by its Cloudflare Access token. 401 if none is
 * valid, or if `x-org-slug` names another organization; 403 if a page on another origin tries to change something
 * without a key; 429 if this isolate hasn't seen the credential and the caller's address has sent too many unknown
 * ones; 503 if this isolate hasn't seen the credential and D1 doesn't respond.
 */
export async function authenticate(lookup: Lookup): Promise<Caller> {
  const { request } = lookup
  const key = keyOf(request)
  if (key) return authenticateKey(key, lookup)
  const secret = sessionSecretOf(request)
  const token = accessTokenOf(request)
  const caller = (secret && (await sessionCaller(secret, lookup))) || (token && (await accessCaller(token, lookup)))
  if (!caller) throw notAuthenticated()
  // A HEAD request arrives here as GET.
  if (request.method !== 'GET') requireSameOrigin(request)
  return caller
}

/** Authenticates a key. Throws the same errors as `authenticate`. */
export async function authenticateKey(secret: string | undefined, lookup: Lookup): Promise<KeyCaller> {
  const credential = secret ? await keys.get(secret, lookup) : undefined
  if (!credential || !isValid(credential, lookup.now)) throw notAuthenticated()
  return callerOf(credential, lookup, null)
}

/** Authenticates a session, which has all the permissions of its key. Undefined if the session isn't live. */
export async function sessionCaller(secret: string, lookup: Lookup): Promise<KeyCaller | undefined> {
  const { now } = lookup
  const session = await sessionOf(secret, lookup)
  const isLive = session && session.endedAt === null && session.endsAt > now && isValid(session, now)
  return isLive ? callerOf(session, lookup, session.endsAt) : undefined
}

/** Authenticates an Access token. Undefined if the deployment doesn't use Access. */
async function accessCaller(token: string, lookup: Lookup): Promise<AccessCaller | undefined> {
  const user = await authenticateAccess(token, lookup)
  const rateLimitPerMinute = deploymentLimit(lookup.env)
  const ownLimits = { expiresAt: null, rateLimitPerMinute: null }
  const rights = { actsAs: 'person', project: null, rateLimitPerMinute, ownLimits, sessionExpiresAt: null } as const
  return user && { ...user, ...rights, keyId: null }
}

/**
 * Whether a request may come from a pipeline, which can use data that's up to 10 seconds old. People in the app, keys
 * that can change things, and clients that track what they've seen need current data.
 */
export const isPipeline = ({ keyId, sessionExpiresAt, scopes }: Caller, { headers }: Request): boolean =>
  keyId !== null && sessionExpiresAt === null && !scopes.includes('manage') && !headers.has(BOOKMARK_HEADER)

/** The permissions of a valid credential. 401 if `x-org-slug` names another organization. */
function callerOf(
  { rateLimitPerMinute, expiresAt, revokedAt: _, ...rights }: Credential,
  { request: { headers }, env }: Lookup,
  sessionExpiresAt: number | null,
): KeyCaller {
  const slug = headers.get('x-org-slug')
  if (slug !== null && slug !== rights.organization.slug) throw notAuthenticated()
  const limit = rateLimitPerMinute ?? deploymentLimit(env)
  const ownLimits = { expiresAt, rateLimitPerMinute }
  return { ...rights, rateLimitPerMinute: limit, ownLimits, sessionExpiresAt }
}

/**
 * Whether a request's only credentials are ambient: the browser or Cloudflare Access adds them, no matter which page
 * sends the request.
 */
export const isAmbient = (request: Request): boolean =>
  !keyOf(request) && (sessionSecretOf(request) !== undefined || accessTokenOf(request) !== undefined)

/**
 * Checks the ADMIN_TOKEN. 401 for a wrong token, which counts as a failed lookup; 429 after too many of them; 404 if
 * the deployment has no ADMIN_TOKEN.
 */
export async function checkAdmin({ request, env: { ADMIN_TOKEN }, address, now }: Lookup): Promise<void> {
  if (!ADMIN_TOKEN) throw notFound()
  const token = bearerToken(request)
  if (!token) throw notAuthenticated()
  const isAdmin = await lookUpSecret(
    address,
    async () => (await equalInConstantTime(token, ADMIN_TOKEN)) || undefined,
    now,
  )
  if (!isAdmin) throw notAuthenticated()
}

/** An invalid variable falls back to the default, so that a typo can't lock everybody out. */
export function deploymentLimit({ RATE_LIMIT_PER_MINUTE }: Env): number {
  const configured = Number(RATE_LIMIT_PER_MINUTE)
  return configured >= 1 ? Math.floor(configured) : DEFAULT_RATE_LIMIT_PER_MINUTE
}

/** A request's key, from `x-api-key` or a Bearer token. */
export const keyOf = (request: Request): string | undefined => request.headers.get('x-api-key') || bearerToken(request)

/**
 * An exporter's key. It may also be the password of Basic authentication, or the whole `Authorization` header:
 * different exporters support different forms.
 */
export function exporterKeyOf(request: Request): string | undefined {
  const authorization = request.headers.get('authorization') ?? ''
  const basic = /^Basic +(\S+)$/i.exec(authorization)?.[1]
  const bare = /^\S+$/.exec(authorization)?.[0]
  return keyOf(request) ?? (basic === undefined ? bare : passwordOf(basic))
}

function passwordOf(credentials: string): string | undefined {
  try {
    return /^[^:]*:(\S+)$/.exec(atob(credentials))?.[1]
  } catch {
    return undefined
  }
}

const bearerToken = (request: Request): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]

const isValid = ({ revokedAt, expiresAt }: Credential, now: number): boolean =>
  (revokedAt === null || revokedAt > now) && (expiresAt === null || expiresAt > now)
