import { eq } from 'drizzle-orm'
import { organizations } from './schema.ts'
import type { Organization, Registry } from './store.ts'

/** What a bound store needs of an organization. */
export const organizationColumns = { key: organizations.key, id: organizations.id, slug: organizations.slug }

interface OrganizationDraft {
  id: string
  slug: string
  name: string
  createdAt: number
}

/** Creates an organization. Undefined where the slug is another's; sent twice with one id, it creates one. */
export async function addOrganization(
  { database }: Registry,
  draft: OrganizationDraft,
): Promise<Organization | undefined> {
  const [row] = await database
    .insert(organizations)
    .values(draft)
    .onConflictDoUpdate({ target: organizations.slug, set: { slug: draft.slug } })
    .returning(organizationColumns)
  return row?.id === draft.id ? row : undefined
}

/** The organization with this slug. */
export async function findOrganization({ database }: Registry, slug: string): Promise<Organization | undefined> {
  const [row] = await database.select(organizationColumns).from(organizations).where(eq(organizations.slug, slug))
  return row
}

/** The organization behind the key in a job. */
export async function findOrganizationByKey({ database }: Registry, key: number): Promise<Organization | undefined> {
  const [row] = await database.select(organizationColumns).from(organizations).where(eq(organizations.key, key))
  return row
}
