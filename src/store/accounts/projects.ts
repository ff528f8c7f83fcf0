import { and, asc, eq, gt, isNull, ne, or, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { Gone } from '../../domain/failures.ts'
import { ISOLATE_CACHE_ENTRIES, PROJECT_FRESH_MS, RESEND_AFTER_MS } from '../../limits.ts'
import { IsolateCache } from '../core/isolate-cache.ts'
import type { Store } from '../core/store.ts'
import { apiKeys, projects } from '../schema/accounts.ts'
import { type Act, recordAct } from './audit.ts'

/** A project as the rows know it (`key`) and as the world does: what stays as it is until it is deleted. */
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

/** The columns of a project that do not change while it lives, so that they may be remembered. */
export const projectColumns = { key: projects.key, id: projects.id, slug: projects.slug }

/** How a request names a project. */
type ProjectSelector = { slug: string } | { id: string }

/** A project keeps its id and its slug, so what was found needs no second look for as long as a key's. */
const remembered = new IsolateCache<{ project: Project; checkedAt: number }>(ISOLATE_CACHE_ENTRIES)

const cacheKeyOf = ({ organization }: Store, selector: ProjectSelector): string =>
  JSON.stringify([organization.id, selector])

/** The organization's project with this slug or id. One that was deleted elsewhere is known here for 30 s at most. */
export async function findProject(store: Store, selector: ProjectSelector): Promise<Project | undefined> {
  const cacheKey = cacheKeyOf(store, selector)
  const now = Date.now()
  const known = remembered.get(cacheKey)
  if (known && now - known.checkedAt < PROJECT_FRESH_MS) return known.project
  const [row] = await store.database
    .select(projectColumns)
    .from(projects)
    .where(ofStore(store, 'id' in selector ? eq(projects.id, selector.id) : eq(projects.slug, selector.slug)))
  if (row) remembered.set(cacheKey, { project: row, checkedAt: now })
  else remembered.delete(cacheKey)
  return row
}

/** 404 where a project that this isolate remembers was deleted. */
export async function requireExisting(store: Store, project: Project): Promise<void> {
  forgetProject(store, project)
  if (!(await findProject(store, { id: project.id }))) throw new Gone('Project not found')
}

function forgetProject(store: Store, { id, slug }: Project): void {
  remembered.delete(cacheKeyOf(store, { id }))
  remembered.delete(cacheKeyOf(store, { slug }))
}

/**
 * Whether what names a project belongs to none that was deleted: whose purge goes on, that is, for one that is through has
 * left nothing. Costs no row read while none of the organization's projects is being purged.
 */
export const isOfExistingProject = (
  { organization }: { organization: { key: number | Placeholder } },
  projectKey: SQLWrapper,
): SQL => sql`${projectKey} not in (select deleted.key from ${projects} as deleted
  where deleted.organization_key = ${organization.key} and deleted.purge_due_at is not null)`

/** The same of a project that is known before the query: SQLite asks a condition without columns of the outer query only once. */
export const isExistingProject = ({ organization }: Store, { key }: Project): SQL => sql`not exists (
  select 1 from ${projects} as deleted
  where deleted.organization_key = ${organization.key} and deleted.purge_due_at is not null and deleted.key = ${key})`

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

/**
 * Hides a project with all that belongs to it, at once, and ends its keys, with their sessions and links. Its row stays, under a
 * slug that no project can have; jobs purge the rest (`project-purge.ts`). Returns whether it was there; a second attempt with
 * the same act says so again.
 */
export async function deleteProject(store: Store, act: Act, project: Project): Promise<boolean> {
  const { database, organization } = store
  const { id, key: projectKey } = project
  const { at } = act
  const isProject = ofStore(store, eq(projects.id, id))
  const [, , , rows] = await database.batch([
    recordAct(store, act, { action: 'project.delete', targetId: id, projectKey, beforeId: id }, anyProject(isProject)),
    database
      .update(apiKeys)
      .set({ revokedAt: sql`min(coalesce(${apiKeys.revokedAt}, ${at}), ${at})` })
      .where(
        and(eq(apiKeys.organizationKey, organization.key), eq(apiKeys.projectKey, projectKey), anyProject(isProject)),
      ),
    database
      .update(projects)
      .set({
        deletedAt: at,
        purgeDueAt: at + RESEND_AFTER_MS,
        slug: `~${id}`,
        name: '',
        retentionDays: null,
        autoAttribute: false,
      })
      .where(isProject),
    database
      .select({ key: projects.key })
      .from(projects)
      .where(and(eq(projects.organizationKey, organization.key), eq(projects.id, id), eq(projects.deletedAt, at))),
  ])
  forgetProject(store, project)
  return rows.length > 0
}

/** The condition of every query on projects: in the store's organization, and not deleted. */
const ofStore = ({ organization }: Store, ...conditions: (SQL | undefined)[]) =>
  and(eq(projects.organizationKey, organization.key), isNull(projects.deletedAt), ...conditions)

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
    .where(ofStore(store, project ? eq(projects.key, project.key) : undefined, gt(projects.key, after)))
    .orderBy(asc(projects.key))
    .limit(limit)
}
