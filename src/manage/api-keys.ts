import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { KEY_ID } from '../api/story.ts'
import { type Caller, deploymentLimit } from '../auth/authenticate.ts'
import { makeKey } from '../auth/keys.ts'
import { requirePerson } from '../auth/require-person.ts'
import { type Actor, defaultActor, SCOPES, type Scope } from '../domain/api-key.ts'
import { newId } from '../domain/ids.ts'
import type { Runtime } from '../env.ts'
import { isoTime, Slug, Timestamp, Uuid, uuid, wholeNumber } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { badRequest, conflict, forbidden, notFound, otherProject, unprocessable } from '../http/errors.ts'
import { MAX_RATE_LIMIT_PER_MINUTE, MAX_ROTATION_GRACE_SECONDS } from '../limits.ts'
import {
  type ApiKeyChanges,
  revokeApiKey as endApiKey,
  findApiKey,
  listApiKeys as readApiKeys,
  rotateApiKey as replaceApiKey,
  type ApiKey as StoredKey,
  updateApiKey as saveApiKey,
} from '../store/accounts/api-keys.ts'
import { isForeignApiKey } from '../store/accounts/ownership.ts'
import { findProject } from '../store/accounts/projects.ts'
import { userExists } from '../store/accounts/users.ts'
import { apiKey, newApiKey } from './examples.ts'
import { issueApiKey } from './issue-key.ts'
import { ActsAs, ApiKey, ApiKeyWithSecret, Name, toApiKey } from './wire.ts'

const Scopes = v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1, 'must name at least one scope'))
const RateLimit = wholeNumber(1, MAX_RATE_LIMIT_PER_MINUTE)

const NewApiKey = v.strictObject({
  name: Name,
  projectSlug: v.nullish(
    v.pipe(Slug, v.metadata({ description: 'The only project that the key can access. Default: every project.' })),
    null,
  ),
  scopes: Scopes,
  actsAs: v.optional(
    v.pipe(
      ActsAs,
      v.metadata({
        description:
          "Who uses the key. You can't change this later. Default: `person` if the key has the `review` or `manage` scope, otherwise `pipeline`.",
      }),
    ),
  ),
  userId: v.nullish(uuid('The user that the key acts for'), null),
  expiresAt: v.nullish(Timestamp, null),
  rateLimitPerMinute: v.nullish(RateLimit, null),
})

const Changes = v.strictObject({
  name: v.optional(Name),
  scopes: v.optional(Scopes),
  rateLimitPerMinute: v.optional(v.nullable(RateLimit)),
  expiresAt: v.optional(v.nullable(Timestamp)),
})

const NO_USER = "This user isn't in this organization"
const DEAD = 'This key is revoked or expired'
const NOT_ROTATED = `${DEAD}, or was already rotated. To rotate it again within its grace period, first revoke its replacement`

export const listApiKeys = endpoint({
  family: 'manage',
  method: 'GET',
  path: '/api/api-keys',
  summary: "List the organization's API keys, oldest first, without their secrets",
  scope: 'manage',
  reads: 'primary',
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ apiKeys: v.array(ApiKey), nextCursor: NextCursor }) },
  example: {
    answers: { 200: { apiKeys: [apiKey], nextCursor: null } },
  },
}).handle(async ({ query, caller, store }) => {
  const { items, nextCursor } = await pageOf({
    list: ['api-keys', store.organization.id],
    query,
    place: ['number'],
    read: async (limit, after) => {
      const page = { limit: limit + 1, after: after?.[0] ?? 0 }
      return firstOf(await readApiKeys(store, caller.project, page), limit, ({ key }) => [key])
    },
  })
  return { status: 200, body: { apiKeys: items.map(toApiKey), nextCursor } }
})

export const createApiKey = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/api-keys',
  summary: 'Create an API key',
  description:
    "The new key can't have more permissions than the calling key. Only a person's key can create a person's key.",
  scope: 'manage',
  body: NewApiKey,
  errors: { 404: 'Not found', 422: NO_USER },
  responses: { 201: ApiKeyWithSecret },
  example: {
    body: { name: apiKey.name, projectSlug: 'support', scopes: ['ingest'] },
    answers: { 201: newApiKey },
  },
}).handle(async ({ body, caller, store, act, now, runtime }) => {
  const actsAs = body.actsAs ?? defaultActor(body.scopes)
  requireWithin(caller, body, runtime)
  requireMayCreate(caller, actsAs)
  requireFuture(body.expiresAt, now)
  const project = body.projectSlug === null ? null : await findProject(store, { slug: body.projectSlug })
  if (project === undefined) throw notFound()
  if (caller.project && caller.project.key !== project?.key) {
    throw forbidden('This key can only create keys for its own project')
  }
  if (body.userId !== null && !(await userExists(store, body.userId))) {
    throw unprocessable(NO_USER, 'userId')
  }
  const apiKey = await issueApiKey(store, act, {
    id: newId(),
    name: body.name,
    project,
    userId: body.userId,
    scopes: inOrder(body.scopes),
    actsAs,
    rateLimitPerMinute: body.rateLimitPerMinute,
    expiresAt: body.expiresAt,
    createdAt: now,
  })
  return { status: 201, body: apiKey }
})

export const updateApiKey = endpoint({
  family: 'manage',
  method: 'PATCH',
  path: '/api/api-keys/{keyId}',
  summary: 'Update an API key',
  description: "Omitted fields stay unchanged. The key can't have more permissions than the calling key.",
  scope: 'manage',
  params: v.object({ keyId: Uuid }),
  body: Changes,
  errors: { 409: DEAD },
  responses: { 200: ApiKey },
  example: {
    params: { keyId: KEY_ID },
    body: { name: apiKey.name, expiresAt: apiKey.expiresAt },
    answers: { 200: apiKey },
  },
}).handle(async ({ params: { keyId }, body: { scopes, ...changes }, caller, store, act, unscoped, now, runtime }) => {
  const apiKey = await findApiKey(store, keyId)
  if (!apiKey) throw (await isForeignApiKey(unscoped, store.organization, keyId)) ? forbidden() : notFound()
  requireProjectOf(caller, apiKey)
  requireWithin(caller, { scopes, ...changes }, runtime)
  requireFuture(changes.expiresAt, now)
  const changed = isExpired(apiKey, now)
    ? undefined
    : await saveApiKey(store, act, apiKey, { ...changes, scopes: scopes && inOrder(scopes) })
  if (!changed) throw conflict(DEAD, 'keyId')
  return { status: 200, body: toApiKey(changed) }
})

export const revokeApiKey = endpoint({
  family: 'manage',
  method: 'DELETE',
  path: '/api/api-keys/{keyId}',
  summary: 'Revoke an API key',
  description: 'The revoked key stays in the list of keys.',
  scope: 'manage',
  params: v.object({ keyId: Uuid }),
  responses: { 200: v.object({ id: Uuid }) },
  example: {
    params: { keyId: KEY_ID },
    answers: { 200: { id: KEY_ID } },
  },
}).handle(async ({ params: { keyId }, caller, store, act }) => {
  const apiKey = await findApiKey(store, keyId)
  if (!apiKey) throw notFound()
  requireProjectOf(caller, apiKey)
  await endApiKey(store, act, keyId)
  return { status: 200, body: { id: keyId } }
})

export const rotateApiKey = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/api-keys/{keyId}/rotate',
  summary: 'Rotate an API key',
  description:
    "Replaces the key with a new one that has the same permissions and takes over its saved views. The old key expires after the grace period and can't be rotated again unless you revoke its replacement. If you lose the response, revoke the new key (`replacedBy`), and rotate the old key again within the grace period.",
  scope: 'manage',
  params: v.object({ keyId: Uuid }),
  body: v.optional(v.strictObject({ graceSeconds: v.optional(wholeNumber(0, MAX_ROTATION_GRACE_SECONDS), 0) }), {
    graceSeconds: 0,
  }),
  errors: { 409: NOT_ROTATED },
  responses: { 201: ApiKeyWithSecret },
  example: {
    params: { keyId: KEY_ID },
    body: { graceSeconds: 3600 },
    answers: { 201: newApiKey },
  },
}).handle(async ({ params: { keyId }, body: { graceSeconds }, caller, store, act, unscoped, now, runtime }) => {
  const apiKey = await findApiKey(store, keyId)
  if (!apiKey) throw (await isForeignApiKey(unscoped, store.organization, keyId)) ? forbidden() : notFound()
  requireProjectOf(caller, apiKey)
  requireWithin(caller, apiKey, runtime)
  requireMayCreate(caller, apiKey.actsAs)
  const newKey = await makeKey()
  const draft = { id: newId(), createdAt: now, revokedAt: now + graceSeconds * 1000 }
  const successor = isExpired(apiKey, now) ? undefined : await replaceApiKey(store, act, apiKey, draft, newKey)
  if (!successor) throw conflict(NOT_ROTATED, 'keyId')
  return { status: 201, body: { ...toApiKey(successor), key: newKey.secret } }
})

/** 403 if the key isn't in the caller's project: a project's key manages only that project's keys. */
function requireProjectOf(caller: Caller, { projectId }: StoredKey): void {
  if (caller.project && caller.project.id !== projectId) throw otherProject()
}

/**
 * 403 for a permission that the caller's own key lacks: otherwise, a key could extend its own permissions. Undefined
 * grants nothing, and a null limit grants the deployment's default.
 */
function requireWithin(
  { scopes: own, ownLimits }: Caller,
  { scopes = [], expiresAt, rateLimitPerMinute }: Omit<ApiKeyChanges, 'name'>,
  { env }: Pick<Runtime, 'env'>,
): void {
  const lacking = scopes.find(scope => !own.includes(scope))
  if (lacking) throw forbidden(`This key can't grant the ${lacking} scope, which it doesn't have`)
  if (isPast(expiresAt, ownLimits.expiresAt)) {
    throw forbidden(`This key can't set a later expiresAt than its own, ${isoTime(ownLimits.expiresAt ?? 0)}`)
  }
  const limit = rateLimitPerMinute === null ? deploymentLimit(env) : rateLimitPerMinute
  if (isPast(limit, ownLimits.rateLimitPerMinute)) {
    throw forbidden(`This key can't set a higher rateLimitPerMinute than its own, ${ownLimits.rateLimitPerMinute}`)
  }
}

/** 403 `person_required` for a person's key, unless a person asks for it. */
function requireMayCreate(caller: Caller, actsAs: Actor): void {
  if (actsAs === 'person') requirePerson(caller)
}

/** Whether a requested limit exceeds the key's own. Null means no limit. */
const isPast = (given: number | null | undefined, own: number | null): boolean =>
  given !== undefined && own !== null && (given === null || given > own)

function requireFuture(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now) throw badRequest('must be in the future', 'expiresAt')
}

const isExpired = ({ expiresAt }: StoredKey, now: number): boolean => expiresAt !== null && expiresAt <= now

const inOrder = (scopes: readonly Scope[]): Scope[] => SCOPES.filter(scope => scopes.includes(scope))
