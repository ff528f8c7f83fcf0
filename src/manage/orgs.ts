import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CREATED, ORGANIZATION_ID } from '../api/story.ts'
import { newId } from '../domain/ids.ts'
import { IsoTime, isoTime, Slug, Uuid } from '../http/atoms.ts'
import { conflict, notFound } from '../http/errors.ts'
import { findOrganization } from '../store/accounts/organizations.ts'
import { ownerKey } from './examples.ts'
import { issueOrganization, issueOwnerKey } from './issue-key.ts'
import { ApiKeyWithSecret, Name } from './wire.ts'

const TAKEN = 'An organization with this slug already exists'

export const createOrganization = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/orgs',
  summary: 'Create an organization',
  description: 'Also creates a key with all scopes.',
  scope: 'admin',
  body: v.strictObject({ slug: Slug, name: Name }),
  errors: { 409: TAKEN },
  responses: {
    201: v.object({ id: Uuid, slug: Slug, name: v.string(), createdAt: IsoTime, apiKey: ApiKeyWithSecret }),
  },
  example: {
    body: { slug: 'acme', name: 'Acme' },
    answers: {
      201: {
        id: ORGANIZATION_ID,
        slug: 'acme',
        name: 'Acme',
        createdAt: CREATED,
        apiKey: ownerKey,
      },
    },
  },
}).handle(async ({ body: { slug, name }, unscoped, act, now }) => {
  const id = newId()
  const apiKey = await issueOrganization(unscoped, act, { id, slug, name, createdAt: now })
  if (!apiKey) throw conflict(TAKEN, 'slug')
  return { status: 201, body: { id, slug, name, createdAt: isoTime(now), apiKey } }
})

export const recoverApiKey = endpoint({
  family: 'manage',
  method: 'POST',
  path: '/api/orgs/{slug}/api-keys',
  summary: 'Create a key for an organization',
  description: 'The key has all scopes. Use this if an organization has lost its keys.',
  scope: 'admin',
  params: v.object({ slug: v.string() }),
  body: v.optional(v.strictObject({})),
  responses: { 201: ApiKeyWithSecret },
  example: {
    params: { slug: 'acme' },
    body: {},
    answers: { 201: ownerKey },
  },
}).handle(async ({ params: { slug }, unscoped, openStore, act }) => {
  const organization = await findOrganization(unscoped, slug)
  if (!organization) throw notFound()
  return { status: 201, body: await issueOwnerKey(openStore(organization), act) }
})
