import { and, asc, eq, gt } from 'drizzle-orm'
import { ISOLATE_CACHE_ENTRIES } from '../limits.ts'
import { IsolateCache } from './isolate-cache.ts'
import { projects } from './schema.ts'
import type { Store } from './store.ts'

/** A project as the rows know it (`key`) and as the world does: what stays as it is for good. */
export interface Project {
  key: number
  id: string
  slug: string
}

/** A project with what its owners may change. */
export interface ProjectRecord extends Project {
  name: string
  createdAt: number
}

/** The columns of a project that never change, so that they may be remembered. */
export const projectColumns = { key: projects.key, id: projects.id, slug: projects.slug }

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
    .select(projectColumns)
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
export async function addProject(store: Store, draft: Omit<ProjectRecord, 'key'>): Promise<ProjectRecord | undefined> {
  const [row] = await store.database
    .insert(projects)
    .values({ ...draft, organizationKey: store.organization.key })
    .onConflictDoUpdate({ target: [projects.organizationKey, projects.slug], set: { slug: draft.slug } })
    .returning()
  return row?.id === draft.id ? row : undefined
}

/** Changes what is given of a project. Undefined where the organization has none with this id. */
export async function updateProject(
  store: Store,
  id: string,
  changes: Partial<Pick<ProjectRecord, 'name'>>,
): Promise<ProjectRecord | undefined> {
  const ofProject = and(eq(projects.organizationKey, store.organization.key), eq(projects.id, id))
  const [row] =
    Object.keys(changes).length === 0
      ? await store.database.select().from(projects).where(ofProject)
      : await store.database.update(projects).set(changes).where(ofProject).returning()
  return row
}

/** A page of the organization's projects, oldest first; only `project` where a key serves no other. */
export function listProjects(
  store: Store,
  project: Project | null,
  { limit, after }: { limit: number; after: number },
): Promise<ProjectRecord[]> {
  return store.database
    .select()
    .from(projects)
    .where(
      and(
        eq(projects.organizationKey, store.organization.key),
        project ? eq(projects.key, project.key) : undefined,
        gt(projects.key, after),
      ),
    )
    .orderBy(asc(projects.key))
    .limit(limit)
}
