import { equalInConstantTime } from '../domain/hash.ts'
import type { Env } from '../env.ts'
import type { Runtime } from '../http/endpoint.ts'
import { notAuthenticated, notFound } from '../http/errors.ts'
import { DEFAULT_RATE_LIMIT_PER_MINUTE } from '../limits.ts'
import { type Credential, findCredential } from '../store/api-keys.ts'
import type { Patience } from '../store/patience.ts'
import type { Project } from '../store/projects.ts'
import type { Organization } from '../store/store.ts'
import type { Scope } from './keys.ts'
import { Remembered } from './remembered.ts'
import { requireSameOrigin } from './same-origin.ts'
import { sessionOf, sessionSecretOf } from './session.ts'

/** Who is calling, and what they may do. */
export interface Caller {
  keyId: string
  /** The user that the key acts for, or null. */
  userId: string | null
  organization: Organization
  /** Null: all projects of the organization. */
  project: Project | null
  scopes: readonly Scope[]
  rateLimitPerMinute: number
  /** When the session ends that the caller is known by; null: it is known by a key. */
  sessionExpiresAt: number | null
}

/** What a caller is known by, and where that was looked for. */
type Known = Pick<Runtime, 'env' | 'waitUntil'>

const keys = new Remembered<Credential>(findCredential)

/**
 * The caller that a request's key stands for, or without one its session. 401 where it is missing, unknown, revoked, expired
 * or not of the organization that `x-org-slug` names; 503 where D1 is silent and this isolate has not seen it before; 403 for
 * a session where a page of another origin would change something.
 */
export async function authenticate(request: Request, runtime: Known, patience: Patience, now: number): Promise<Caller> {
  const key = keyOf(request)
  if (key) return authenticateKey(key, request, runtime, patience, now)
  const secret = sessionSecretOf(request)
  if (!secret) throw notAuthenticated()
  const caller = await authenticateSession(secret, request, runtime, patience, now)
  // A HEAD is served as its GET.
  if (request.method !== 'GET') requireSameOrigin(request)
  return caller
}

/** The caller that a key stands for; faults as above. */
export async function authenticateKey(
  secret: string | undefined,
  request: Request,
  runtime: Known,
  patience: Patience,
  now: number,
): Promise<Caller> {
  const credential = secret ? await keys.get(secret, runtime, patience, now) : undefined
  if (!credential || !isValid(credential, now)) throw notAuthenticated()
  requireOrganization(request, credential)
  return callerOf(credential, runtime, null)
}

/** The caller that a session stands for: its key, with all the rights of that. */
export async function authenticateSession(
  secret: string,
  request: Request,
  runtime: Known,
  patience: Patience,
  now: number,
): Promise<Caller> {
  const session = await sessionOf(secret, runtime, patience, now)
  const isLive = session && session.endedAt === null && session.endsAt > now
  if (!isLive || !isValid(session, now)) throw notAuthenticated()
  requireOrganization(request, session)
  return callerOf(session, runtime, session.endsAt)
}

function requireOrganization({ headers }: Request, { organization }: Credential): void {
  const slug = headers.get('x-org-slug')
  if (slug !== null && slug !== organization.slug) throw notAuthenticated()
}

const callerOf = (
  { keyId, userId, organization, project, scopes, rateLimitPerMinute }: Credential,
  { env }: Known,
  sessionExpiresAt: number | null,
): Caller => ({
  keyId,
  userId,
  organization,
  project,
  scopes,
  rateLimitPerMinute: rateLimitPerMinute ?? deploymentLimit(env),
  sessionExpiresAt,
})

/** Whether a request is let in, if at all, by what its browser sends by itself. */
export const isAmbient = (request: Request): boolean => !keyOf(request) && sessionSecretOf(request) !== undefined

/** Lets an ADMIN_TOKEN request pass. 401 with another token; 404 where the deployment has none. */
export async function checkAdmin(request: Request, env: Env): Promise<void> {
  if (!env.ADMIN_TOKEN) throw notFound()
  const token = bearerToken(request)
  if (!token || !(await equalInConstantTime(token, env.ADMIN_TOKEN))) throw notAuthenticated()
}

/** A variable that is no positive number must not close the service to everybody. */
function deploymentLimit({ RATE_LIMIT_PER_MINUTE }: Env): number {
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
