import { equalInConstantTime } from '../domain/hash.ts'
import type { Env } from '../env.ts'
import type { Runtime } from '../http/endpoint.ts'
import { notAuthenticated, notFound } from '../http/errors.ts'
import {
  DEFAULT_RATE_LIMIT_PER_MINUTE,
  ISOLATE_CACHE_ENTRIES,
  KEY_FRESH_MS,
  KEY_STALE_MS,
  REFRESH_PATIENCE_MS,
  STORE_PATIENCE_MS,
} from '../limits.ts'
import { type Credential, findCredential } from '../store/api-keys.ts'
import { IsolateCache } from '../store/isolate-cache.ts'
import { Patience, within } from '../store/patience.ts'
import { openRegistry } from '../store/store.ts'
import { hashKey } from './keys.ts'

/** Who is calling, as the key says. `project` is null where the key serves all projects of its organization. */
export interface Caller extends Credential {
  rateLimitPerMinute: number
}

interface Remembered {
  credential: Credential
  checkedAt: number
}

/** By the key itself: hashing it for each request would cost more than all else that is done to let it in. */
const remembered = new IsolateCache<Remembered>(ISOLATE_CACHE_ENTRIES)

/**
 * The caller that a request's key stands for. 401 where the key is missing, unknown, revoked, expired or not of the
 * organization that `x-org-slug` names; 503 where D1 is silent and this isolate has not seen the key before.
 */
export async function authenticate(
  request: Request,
  runtime: Pick<Runtime, 'env' | 'waitUntil'>,
  patience: Patience,
  now: number,
  secret = keyOf(request),
): Promise<Caller> {
  if (!secret) throw notAuthenticated()
  const { env } = runtime
  const known = remembered.get(secret)
  const credential = known
    ? await refreshed(known, secret, runtime, patience, now)
    : await lookUp(secret, env, patience, now)
  if (!credential || !isValid(credential, now)) throw notAuthenticated()
  const organizationSlug = request.headers.get('x-org-slug')
  if (organizationSlug !== null && organizationSlug !== credential.organization.slug) throw notAuthenticated()
  return { ...credential, rateLimitPerMinute: credential.rateLimitPerMinute ?? deploymentLimit(env) }
}

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

/**
 * What this isolate remembers of a key, looked up again when it is no longer fresh. While D1 is slow or silent a key seen
 * in the last ten minutes goes on: clients do not retry a 401, so a stall must not turn into one. The look-up itself goes
 * on after the answer, so that a slow D1 does not keep a revoked key alive.
 */
async function refreshed(
  known: Remembered,
  secret: string,
  { env, waitUntil }: Pick<Runtime, 'env' | 'waitUntil'>,
  patience: Patience,
  now: number,
): Promise<Credential | undefined> {
  const age = now - known.checkedAt
  if (age < KEY_FRESH_MS) return known.credential
  if (age > KEY_STALE_MS) return lookUp(secret, env, patience, now)
  // Of a patience of its own: what it spends after the answer is not the request's.
  const refresh = lookUp(secret, env, new Patience(STORE_PATIENCE_MS), now)
  try {
    return await within(REFRESH_PATIENCE_MS, () => refresh)
  } catch {
    waitUntil(refresh.catch(() => undefined))
    return known.credential
  }
}

async function lookUp(secret: string, env: Env, patience: Patience, now: number): Promise<Credential | undefined> {
  const credential = await findCredential(openRegistry(env, patience), await hashKey(secret))
  if (credential) remembered.set(secret, { credential, checkedAt: now })
  else remembered.delete(secret)
  return credential
}
