import { and, asc, eq, gt } from 'drizzle-orm'
import { ISOLATE_CACHE_ENTRIES } from '../limits.ts'
import { IsolateCache } from './isolate-cache.ts'
import { projects } from './schema.ts'
import type { Store } from './store.ts'

/** A project as the rows know it (`key`) and as the world does. */
export interface Project {
  key: number
  id: string
  organizationKey: number
  slug: string
  name: string
  createdAt: number
}

/** How a request names a project. */
type ProjectSelector = { slug: string } | { id: string }

/** A project keeps its id and its slug for good, so what was once found needs no second look. */
const remembered = new IsolateCache<Project>(ISOLATE_CACHE_ENTRIES)

/** The organization's project with this slug or id. */
export async function findProject(store: Store, selector: ProjectSelector): Promise<Project | undefined> {
  const cacheKey = JSON.stringify([store.organization.id, selector])
  const known = remembered.get(cacheKey)
  if (known) return known
  const [row] = await store.database
    .select()
    .from(projects)
    .where(
      and(
        eq(projects.organizationKey, store.organization.key),
        'id' in selector ? eq(projects.id, selector.id) : eq(projects.slug, selector.slug),
      ),
    )
  if (row) remembered.set(cacheKey, row)
  return row
}

/** Creates a project. Undefined where the organization has one with this slug; sent twice with one id, it creates one. */
export async function addProject(
  store: Store,
  draft: Pick<Project, 'id' | 'slug' | 'name' | 'createdAt'>,
): Promise<Project | undefined> {
  const [row] = await store.database
    .insert(projects)
    .values({ ...draft, organizationKey: store.organization.key })
    .onConflictDoUpdate({ target: [projects.organizationKey, projects.slug], set: { slug: draft.slug } })
    .returning()
  return row?.id === draft.id ? row : undefined
}

/** A page of the organization's projects, oldest first. */
export function listProjects(store: Store, { limit, after }: { limit: number; after: number }): Promise<Project[]> {
  return store.database
    .select()
    .from(projects)
    .where(and(eq(projects.organizationKey, store.organization.key), gt(projects.key, after)))
    .orderBy(asc(projects.key))
    .limit(limit)
}
