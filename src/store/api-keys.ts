import { and, asc, eq, gt } from 'drizzle-orm'
import { type NewKey, SCOPES, type Scope } from '../auth/keys.ts'
import { organizationColumns } from './organizations.ts'
import type { Project } from './projects.ts'
import { apiKeys, organizations, projects } from './schema.ts'
import type { Organization, Registry, Store } from './store.ts'

/** What a key stands for. */
export interface Credential {
  keyId: string
  organization: Organization
  /** Null: all projects of the organization. */
  project: Project | null
  /** The user that the key acts for, or null. */
  userId: string | null
  scopes: readonly Scope[]
  /** Null: the deployment's default. */
  rateLimitPerMinute: number | null
  expiresAt: number | null
  revokedAt: number | null
}

/** A key as its owners see it after its creation. */
export interface ApiKey {
  id: string
  name: string
  prefix: string
  projectId: string | null
  userId: string | null
  scopes: readonly Scope[]
  rateLimitPerMinute: number | null
  expiresAt: number | null
  revokedAt: number | null
  createdAt: number
}

/** What a new key is to be; `id` is chosen by the caller, so that a repeated attempt makes no second key. */
export interface ApiKeyDraft {
  id: string
  name: string
  project: Project | null
  userId: string | null
  scopes: readonly Scope[]
  rateLimitPerMinute: number | null
  expiresAt: number | null
  createdAt: number
}

/** The credential whose secret has this hash, revoked and expired ones included. */
export async function findCredential({ database }: Registry, hash: string): Promise<Credential | undefined> {
  const [row] = await database
    .select({
      keyId: apiKeys.id,
      userId: apiKeys.userId,
      scopes: apiKeys.scopes,
      rateLimitPerMinute: apiKeys.rateLimitPerMinute,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
      organization: organizationColumns,
      project: projects,
    })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.key, apiKeys.organizationKey))
    .leftJoin(projects, eq(projects.key, apiKeys.projectKey))
    .where(eq(apiKeys.hash, hash))
  return row && { ...row, scopes: parseScopes(row.scopes) }
}

/** Stores a new key of the store's organization. A second attempt with the same id and secret stores no second one. */
export async function addApiKey(store: Store, draft: ApiKeyDraft, { hash, prefix }: NewKey): Promise<ApiKey> {
  const { project, ...fields } = draft
  await store.database
    .insert(apiKeys)
    .values({
      ...fields,
      hash,
      prefix,
      organizationKey: store.organization.key,
      projectKey: project?.key ?? null,
      scopes: fields.scopes.join(' '),
    })
    .onConflictDoNothing()
  return { ...fields, prefix, projectId: project?.id ?? null, revokedAt: null }
}

/** A page of the organization's keys, oldest first; of one project's keys where `project` is given. */
export async function listApiKeys(
  store: Store,
  project: Project | null,
  { limit, after }: { limit: number; after: number },
): Promise<(ApiKey & { key: number })[]> {
  const rows = await store.database
    .select({
      key: apiKeys.key,
      id: apiKeys.id,
      name: apiKeys.name,
      prefix: apiKeys.prefix,
      projectId: projects.id,
      userId: apiKeys.userId,
      scopes: apiKeys.scopes,
      rateLimitPerMinute: apiKeys.rateLimitPerMinute,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
      createdAt: apiKeys.createdAt,
    })
    .from(apiKeys)
    .leftJoin(projects, eq(projects.key, apiKeys.projectKey))
    .where(
      and(
        eq(apiKeys.organizationKey, store.organization.key),
        project ? eq(apiKeys.projectKey, project.key) : undefined,
        gt(apiKeys.key, after),
      ),
    )
    .orderBy(asc(apiKeys.key))
    .limit(limit)
  return rows.map(row => ({ ...row, scopes: parseScopes(row.scopes) }))
}

const parseScopes = (text: string): Scope[] => SCOPES.filter(scope => text.split(' ').includes(scope))
