import * as v from 'valibot'
import { SCOPES } from '../auth/keys.ts'
import { newId } from '../domain/ids.ts'
import { Slug, Timestamp, Uuid, wholeNumber } from '../http/atoms.ts'
import { firstOf, NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { endpoint } from '../http/endpoint.ts'
import { badRequest, forbidden, notFound, unprocessable } from '../http/errors.ts'
import { MAX_RATE_LIMIT_PER_MINUTE } from '../limits.ts'
import { listApiKeys as readApiKeys } from '../store/api-keys.ts'
import { findProject } from '../store/projects.ts'
import { userExists } from '../store/users.ts'
import { issueApiKey } from './issue-key.ts'
import { ApiKey, ApiKeyWithSecret, Name, toApiKey } from './wire.ts'

const NewApiKey = v.strictObject({
  name: Name,
  projectSlug: v.optional(v.pipe(Slug, v.metadata({ description: 'Absent: the key serves every project' }))),
  scopes: v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1, 'must name at least one scope')),
  userId: v.optional(v.pipe(Uuid, v.metadata({ description: 'The user that the key acts for' }))),
  expiresAt: v.optional(Timestamp),
  rateLimitPerMinute: v.optional(wholeNumber(1, MAX_RATE_LIMIT_PER_MINUTE)),
})

export const listApiKeys = endpoint({
  method: 'GET',
  path: '/api/api-keys',
  summary: "List the organization's API keys, oldest first, without their secrets",
  scope: 'manage',
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ apiKeys: v.array(ApiKey), nextCursor: NextCursor }) },
}).handle(async ({ query, caller, store }) => {
  const { items, nextCursor } = await pageOf({
    list: ['api-keys', store.organization.id],
    query,
    place: ['number'],
    read: async (limit, after) => {
      const page = { limit: limit + 1, after: Number(after?.[0] ?? 0) }
      return firstOf(await readApiKeys(store, caller.project, page), limit, ({ key }) => [key])
    },
  })
  return { status: 200, body: { apiKeys: items.map(toApiKey), nextCursor } }
})

export const createApiKey = endpoint({
  method: 'POST',
  path: '/api/api-keys',
  summary: 'Create an API key with no right that the calling key lacks',
  scope: 'manage',
  body: NewApiKey,
  errors: { 404: 'Not found', 422: 'The user does not exist in this organization' },
  responses: { 201: ApiKeyWithSecret },
}).handle(async ({ body, caller, store, now }) => {
  const lacking = body.scopes.find(scope => !caller.scopes.includes(scope))
  if (lacking) throw forbidden(`This key cannot give the scope ${lacking}, which it lacks`)
  if (body.expiresAt !== undefined && body.expiresAt <= now) throw badRequest('lies in the past', 'expiresAt')
  const project = body.projectSlug === undefined ? null : await findProject(store, { slug: body.projectSlug })
  if (project === undefined) throw notFound()
  if (caller.project && caller.project.key !== project?.key) {
    throw forbidden('This key can only create keys of its own project')
  }
  if (body.userId !== undefined && !(await userExists(store, body.userId))) {
    throw unprocessable('The user does not exist in this organization', 'userId')
  }
  const apiKey = await issueApiKey(store, {
    id: newId(),
    name: body.name,
    project,
    userId: body.userId ?? null,
    scopes: SCOPES.filter(scope => body.scopes.includes(scope)),
    rateLimitPerMinute: body.rateLimitPerMinute ?? null,
    expiresAt: body.expiresAt ?? null,
    createdAt: now,
  })
  return { status: 201, body: apiKey }
})
