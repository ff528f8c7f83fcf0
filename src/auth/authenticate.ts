import { equalInConstantTime } from '../domain/hash.ts'
import type { Env } from '../env.ts'
import { notAuthenticated, notFound } from '../http/errors.ts'
import {
  DEFAULT_RATE_LIMIT_PER_MINUTE,
  ISOLATE_CACHE_ENTRIES,
  KEY_FRESH_MS,
  KEY_STALE_MS,
  REFRESH_PATIENCE_MS,
} from '../limits.ts'
import { type Credential, findCredential } from '../store/api-keys.ts'
import { IsolateCache } from '../store/isolate-cache.ts'
import type { Patience } from '../store/patience.ts'
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

const remembered = new IsolateCache<Remembered>(ISOLATE_CACHE_ENTRIES)

/**
 * The caller that a request's key stands for. 401 where the key is missing, unknown, revoked, expired or not of the
 * organization that `x-org-slug` names; 503 where D1 is silent and this isolate has not seen the key before.
 */
export async function authenticate(request: Request, env: Env, patience: Patience, now: number): Promise<Caller> {
  const secret = request.headers.get('x-api-key') ?? bearerToken(request)
  if (!secret) throw notAuthenticated()
  const credential = await lookUp(await hashKey(secret), env, patience, now)
  if (!credential || !isValid(credential, now)) throw notAuthenticated()
  const organizationSlug = request.headers.get('x-org-slug')
  if (organizationSlug !== null && organizationSlug !== credential.organization.slug) throw notAuthenticated()
  const deploymentLimit = Number(env.RATE_LIMIT_PER_MINUTE ?? DEFAULT_RATE_LIMIT_PER_MINUTE)
  return { ...credential, rateLimitPerMinute: credential.rateLimitPerMinute ?? deploymentLimit }
}

/** Lets an ADMIN_TOKEN request pass. 401 with another token; 404 where the deployment has none. */
export async function checkAdmin(request: Request, env: Env): Promise<void> {
  if (!env.ADMIN_TOKEN) throw notFound()
  const token = bearerToken(request)
  if (!token || !(await equalInConstantTime(token, env.ADMIN_TOKEN))) throw notAuthenticated()
}

const bearerToken = (request: Request): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]

const isValid = ({ revokedAt, expiresAt }: Credential, now: number): boolean =>
  (revokedAt === null || revokedAt > now) && (expiresAt === null || expiresAt > now)

/**
 * From the isolate's memory while fresh, else from D1. While D1 is silent a key seen in the last ten minutes goes on:
 * clients do not retry a 401, so a stall must not turn into one.
 */
async function lookUp(hash: string, env: Env, patience: Patience, now: number): Promise<Credential | undefined> {
  const known = remembered.get(hash)
  const age = known ? now - known.checkedAt : Number.POSITIVE_INFINITY
  if (known && age < KEY_FRESH_MS) return known.credential
  const canServeStale = known !== undefined && age <= KEY_STALE_MS
  try {
    const registry = openRegistry(env, canServeStale ? { remainingMs: REFRESH_PATIENCE_MS } : patience)
    const credential = await findCredential(registry, hash)
    if (credential) remembered.set(hash, { credential, checkedAt: now })
    else remembered.delete(hash)
    return credential
  } catch (error) {
    if (canServeStale) return known.credential
    throw error
  }
}
