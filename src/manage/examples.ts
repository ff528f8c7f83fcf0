import type { Shown } from '../api/contract.ts'
import { CREATED, KEY_ID, ORGANIZATION_ID, PROJECT_ID, USER_ID } from '../api/story.ts'
import { SCOPES } from '../domain/api-key.ts'
import type { ApiKey, ApiKeyWithSecret, Project, User } from './wire.ts'

export const project: Shown<typeof Project> = {
  id: PROJECT_ID,
  slug: 'support',
  name: 'Customer support',
  retentionDays: null,
  retainReviewed: true,
  autoAttribute: false,
  createdAt: CREATED,
}

export const apiKey: Shown<typeof ApiKey> = {
  id: KEY_ID,
  name: 'Support pipeline',
  prefix: 'cs_4fT9x',
  projectId: PROJECT_ID,
  userId: null,
  scopes: ['ingest'],
  actsAs: 'pipeline',
  rateLimitPerMinute: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
  createdAt: CREATED,
}

export const newApiKey: Shown<typeof ApiKeyWithSecret> = { ...apiKey, key: 'cs_4fT9xQ2mLw7RbV0nKd3HsJ6e' }

/** The key that an organization is created with. */
export const ownerKey: Shown<typeof ApiKeyWithSecret> = {
  ...newApiKey,
  name: 'Owner',
  projectId: null,
  scopes: SCOPES,
  actsAs: 'person',
}

export const user: Shown<typeof User> = {
  id: USER_ID,
  email: 'ada@example.com',
  name: 'Ada Lopez',
  isConfirmed: true,
  adjudicator: false,
  createdAt: CREATED,
}

/** The token of a sign-in link. */
export const TOKEN = '8cQ2mLw7RbV0nKd3HsJ6eX4fT9xQ1zAp'

const sessionProject = { id: PROJECT_ID, slug: project.slug, name: project.name }

export const session = {
  organization: { id: ORGANIZATION_ID, slug: 'acme', name: 'Acme' },
  project: sessionProject,
  projects: [sessionProject],
  user: { id: USER_ID, email: user.email, name: user.name, adjudicator: user.adjudicator },
  key: { id: KEY_ID, name: 'Ada', prefix: apiKey.prefix },
  actorId: USER_ID,
  scopes: ['read', 'review'],
  actsAs: 'person',
  expiresAt: '2026-11-02T20:00:00.000Z',
} as const
