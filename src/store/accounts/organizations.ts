import { eq, sql } from 'drizzle-orm'
import type { Actor, HashedKey } from '../../domain/api-key.ts'
import { epochsOf } from '../core/epochs.ts'
import { sentEventsOf } from '../core/outbox.ts'
import { selectFor } from '../core/rows.ts'
import type { Organization, UnscopedStore } from '../core/store.ts'
import { apiKeys, organizations } from '../schema/accounts.ts'
import { type Act, recordAct } from './audit.ts'

/** The columns of an organization that a bound store needs. */
export const organizationColumns = {
  key: organizations.key,
  id: organizations.id,
  slug: organizations.slug,
  sentEvents: sentEventsOf(sql.raw('organizations.key')),
  epochs: epochsOf(sql.raw('organizations.key')),
}

/** A new organization. The caller chooses `id`, so a retry doesn't create a second one. */
export interface OrganizationDraft {
  id: string
  slug: string
  name: string
  createdAt: number
}

/** A new organization's first key, which covers all projects. */
interface FirstKey {
  id: string
  name: string
  scopes: readonly string[]
  actsAs: Actor
  createdAt: number
}

/**
 * Creates an organization with a key for all its projects, in one batch, because an organization without a key would be
 * useless but still take its slug. Returns false if the slug is taken. A retry with the same ids creates nothing more.
 */
export async function addOrganization(
  { database }: UnscopedStore,
  act: Act,
  draft: OrganizationDraft,
  key: FirstKey,
  { hash, prefix }: HashedKey,
): Promise<boolean> {
  const isNew = sql`exists (select 1 from ${organizations} where ${organizations.id} = ${draft.id})`
  const organizationKey = sql`(select ${organizations.key} from ${organizations} where ${organizations.id} = ${draft.id})`
  const created = { database, organization: { key: organizationKey } }
  const [[row]] = await database.batch([
    database
      .insert(organizations)
      .values(draft)
      .onConflictDoUpdate({ target: organizations.slug, set: { slug: draft.slug } })
      .returning({ id: organizations.id }),
    database
      .insert(apiKeys)
      .select(
        selectFor(
          apiKeys,
          {
            key: null,
            id: key.id,
            hash,
            prefix,
            name: key.name,
            organizationKey: organizations.key,
            projectKey: null,
            userId: null,
            scopes: key.scopes.join(' '),
            actsAs: key.actsAs,
            rateLimitPerMinute: null,
            expiresAt: null,
            revokedAt: null,
            createdAt: key.createdAt,
            replacedBy: null,
          },
          sql`from ${organizations} where ${organizations.id} = ${draft.id}`,
        ),
      )
      .onConflictDoNothing(),
    recordAct(
      created,
      act,
      { action: 'organization.create', targetId: draft.id, projectKey: null, afterId: draft.id },
      isNew,
    ),
    recordAct(created, act, { action: 'api_key.create', targetId: key.id, projectKey: null, afterId: key.id }, isNew),
  ])
  return row?.id === draft.id
}

/** Finds the organization with this slug. */
export async function findOrganization({ database }: UnscopedStore, slug: string): Promise<Organization | undefined> {
  const [row] = await database.select(organizationColumns).from(organizations).where(eq(organizations.slug, slug))
  return row
}

/** Finds the organization by its database key, which a job contains. */
export async function findOrganizationByKey(
  { database }: UnscopedStore,
  key: number,
): Promise<Organization | undefined> {
  const [row] = await database.select(organizationColumns).from(organizations).where(eq(organizations.key, key))
  return row
}
