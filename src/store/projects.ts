import { and, asc, eq, gt, ne, or, type SQL, sql } from 'drizzle-orm'
import { ISOLATE_CACHE_ENTRIES } from '../limits.ts'
import { type Act, recordAct } from './audit.ts'
import { IsolateCache } from './isolate-cache.ts'
import { projects } from './schema.ts'
import type { Store } from './store.ts'

/** A project as the rows know it (`key`) and as the world does: what stays as it is for good. */
export interface Project {
  key: number
  id: string
  slug: string
}

/** What a project's owners may change. */
export interface ProjectSettings {
  name: string
  /** Traces older than that many days are deleted; null: none. */
  retentionDays: number | null
  /** Whether those with a reviewed span are kept nevertheless. */
  retainReviewed: boolean
  /** Whether negative feedback and corrections are analyzed without being asked. */
  autoAttribute: boolean
}

/** A project with its settings. */
export interface ProjectRecord extends Project, ProjectSettings {
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
export async function addProject(
  store: Store,
  act: Act,
  draft: Pick<ProjectRecord, 'id' | 'slug' | 'name' | 'createdAt'>,
): Promise<ProjectRecord | undefined> {
  const { id } = draft
  const isNew = ofStore(store, eq(projects.id, id))
  const [[row]] = await store.database.batch([
    store.database
      .insert(projects)
      .values({ ...draft, organizationKey: store.organization.key })
      .onConflictDoUpdate({ target: [projects.organizationKey, projects.slug], set: { slug: draft.slug } })
      .returning(),
    recordAct(
      store,
      act,
      { action: 'project.create', targetId: id, projectKey: projectKeyOf(isNew), afterId: id },
      anyProject(isNew),
    ),
  ])
  return row?.id === draft.id ? row : undefined
}

/** Changes what is given of a project. Undefined where the organization has none with this id. */
export async function updateProject(
  store: Store,
  act: Act,
  id: string,
  {
    name,
    retentionDays,
    retainReviewed,
    autoAttribute,
  }: { [Name in keyof ProjectSettings]?: ProjectSettings[Name] | undefined },
): Promise<ProjectRecord | undefined> {
  const ofProject = ofStore(store, eq(projects.id, id))
  const isOther = or(
    name === undefined ? undefined : ne(projects.name, name),
    retentionDays === undefined ? undefined : sql`${projects.retentionDays} is not ${retentionDays}`,
    retainReviewed === undefined ? undefined : ne(projects.retainReviewed, retainReviewed),
    autoAttribute === undefined ? undefined : ne(projects.autoAttribute, autoAttribute),
  )
  if (!isOther) {
    const [row] = await store.database.select().from(projects).where(ofProject)
    return row
  }
  const [, [row]] = await store.database.batch([
    // Before the change, which one that changes nothing is not.
    recordAct(
      store,
      act,
      { action: 'project.change', targetId: id, projectKey: projectKeyOf(ofProject) },
      anyProject(and(ofProject, isOther)),
    ),
    store.database
      .update(projects)
      .set({ name, retentionDays, retainReviewed, autoAttribute })
      .where(ofProject)
      .returning(),
  ])
  return row
}

const ofStore = ({ organization }: Store, ...conditions: (SQL | undefined)[]) =>
  and(eq(projects.organizationKey, organization.key), ...conditions)

const projectKeyOf = (condition: SQL | undefined): SQL =>
  sql`(select ${projects.key} from ${projects} where ${condition})`

const anyProject = (condition: SQL | undefined): SQL => sql`exists (select 1 from ${projects} where ${condition})`

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
