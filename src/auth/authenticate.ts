import type { Scope } from '../domain/api-key.ts'
import { equalInConstantTime } from '../domain/hash.ts'
import type { Env } from '../env.ts'
import { notAuthenticated, notFound } from '../http/errors.ts'
import { DEFAULT_RATE_LIMIT_PER_MINUTE } from '../limits.ts'
import { lookUpFor } from '../rate-limit/address.ts'
import { type Credential, findCredential } from '../store/accounts/api-keys.ts'
import type { Project } from '../store/accounts/projects.ts'
import type { Organization } from '../store/core/store.ts'
import { accessTokenOf, authenticateAccess } from './access.ts'
import { hashKey, isKey } from './keys.ts'
import type { Lookup } from './lookup.ts'
import { Remembered } from './remembered.ts'
import { requireSameOrigin } from './same-origin.ts'
import { sessionOf, sessionSecretOf } from './session.ts'

/** What a caller may do. */
interface Rights {
  organization: Organization
  /** Null: all projects of the organization. */
  project: Project | null
  scopes: readonly Scope[]
  rateLimitPerMinute: number
  /** What bounds the caller's key itself, and so the keys that it may make; null: nothing does. */
  ownLimits: Pick<Credential, 'expiresAt' | 'rateLimitPerMinute'>
  /** When the session ends that the caller is known by; null: it is known by something else. */
  sessionExpiresAt: number | null
}

/** A key that calls, or the session of one. */
export interface KeyCaller extends Rights {
  keyId: string
  /** The user that the key acts for, or null. */
  userId: string | null
}

/** A user who calls without a key: Cloudflare Access says who it is. */
interface AccessCaller extends Rights {
  keyId: null
  userId: string
}

/** Who is calling, and what they may do. */
export type Caller = KeyCaller | AccessCaller

const keys = new Remembered<Credential>(
  async (unscoped, secret) => (isKey(secret) ? findCredential(unscoped, await hashKey(secret)) : undefined),
  { isSecret: true },
)

/**
 * Who sends a request: who its key stands for, or without one its session, or without a live one who Cloudflare Access says
 * it is. 401 where none of them is valid, or not of the organization that `x-org-slug` names; 503 where D1 is silent and
 * this isolate has not seen it before; 429 where it has not, and too many from this address were unknown; 403 where it is not
 * a key, and a page of another origin would change something.
 */
export async function authenticate(lookup: Lookup): Promise<Caller> {
  const { request } = lookup
  const key = keyOf(request)
  if (key) return authenticateKey(key, lookup)
  const secret = sessionSecretOf(request)
  const token = accessTokenOf(request)
  const caller = (secret && (await sessionCaller(secret, lookup))) || (token && (await accessCaller(token, lookup)))
  if (!caller) throw notAuthenticated()
  // A HEAD is served as its GET.
  if (request.method !== 'GET') requireSameOrigin(request)
  return caller
}

/** The caller that a key stands for; faults as above. */
export async function authenticateKey(secret: string | undefined, lookup: Lookup): Promise<KeyCaller> {
  const credential = secret ? await keys.get(secret, lookup) : undefined
  if (!credential || !isValid(credential, lookup.now)) throw notAuthenticated()
  return callerOf(credential, lookup, null)
}

/** The caller that a live session stands for: its key, with all the rights of that. Undefined where it is none. */
export async function sessionCaller(secret: string, lookup: Lookup): Promise<KeyCaller | undefined> {
  const { now } = lookup
  const session = await sessionOf(secret, lookup)
  const isLive = session && session.endedAt === null && session.endsAt > now && isValid(session, now)
  return isLive ? callerOf(session, lookup, session.endsAt) : undefined
}

/** The user of whom a token of Access speaks. Undefined where the deployment has no Access. */
async function accessCaller(token: string, lookup: Lookup): Promise<AccessCaller | undefined> {
  const user = await authenticateAccess(token, lookup)
  const rateLimitPerMinute = deploymentLimit(lookup.env)
  const ownLimits = { expiresAt: null, rateLimitPerMinute: null }
  return user && { ...user, keyId: null, project: null, rateLimitPerMinute, ownLimits, sessionExpiresAt: null }
}

/** What a valid credential lets its holder do. 401 where `x-org-slug` names another organization. */
function callerOf(
  { keyId, userId, organization, project, scopes, rateLimitPerMinute, expiresAt }: Credential,
  { request: { headers }, env }: Lookup,
  sessionExpiresAt: number | null,
): KeyCaller {
  const slug = headers.get('x-org-slug')
  if (slug !== null && slug !== organization.slug) throw notAuthenticated()
  const limit = rateLimitPerMinute ?? deploymentLimit(env)
  const ownLimits = { expiresAt, rateLimitPerMinute }
  return { keyId, userId, organization, project, scopes, rateLimitPerMinute: limit, ownLimits, sessionExpiresAt }
}

/** Whether a request is let in, if at all, by what its browser, or Cloudflare Access, adds to whatever page sends it. */
export const isAmbient = (request: Request): boolean =>
  !keyOf(request) && (sessionSecretOf(request) !== undefined || accessTokenOf(request) !== undefined)

/**
 * Lets an ADMIN_TOKEN request pass. 401 with another token, which counts as a failed look-up; 429 after too many of them; 404
 * where the deployment has none.
 */
export async function checkAdmin({ request, env: { ADMIN_TOKEN }, address, now }: Lookup): Promise<void> {
  if (!ADMIN_TOKEN) throw notFound()
  const token = bearerToken(request)
  if (!token) throw notAuthenticated()
  const isAdmin = await lookUpFor(
    address,
    async () => (await equalInConstantTime(token, ADMIN_TOKEN)) || undefined,
    now,
  )
  if (!isAdmin) throw notAuthenticated()
}

/** A variable that is no positive number must not close the service to everybody. */
export function deploymentLimit({ RATE_LIMIT_PER_MINUTE }: Env): number {
  const configured = Number(RATE_LIMIT_PER_MINUTE)
  return configured >= 1 ? Math.floor(configured) : DEFAULT_RATE_LIMIT_PER_MINUTE
}

/** A request's key: in `x-api-key`, or a Bearer token. */
const keyOf = (request: Request): string | undefined => request.headers.get('x-api-key') || bearerToken(request)

/**
 * An exporter's key, which may also be the password of Basic, or bare in `Authorization`: exporters have one form each, and
 * no other to choose.
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
