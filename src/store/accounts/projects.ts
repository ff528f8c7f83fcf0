import { and, asc, eq, gt, isNull, ne, or, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { Gone } from '../../domain/failures.ts'
import { ISOLATE_CACHE_ENTRIES, PROJECT_FRESH_MS, RESEND_AFTER_MS } from '../../limits.ts'
import { IsolateCache } from '../core/isolate-cache.ts'
import type { Store } from '../core/store.ts'
import { apiKeys, projects } from '../schema/accounts.ts'
import { type Act, recordAct } from './audit.ts'

/** The fields of a project that never change: `key` in the database, `id` and `slug` in the API. */
export interface Project {
  key: number
  id: string
  slug: string
}

/** A project with its epochs, which are up to 30 seconds old. */
export interface PlacedProject extends Project {
  /** Which databases its traces are in, in the format of `formatEpochs`. Null if all of them are in DB. */
  epochs: string | null
}

/** The settings that a project's owners may change. */
export interface ProjectSettings {
  name: string
  /** Traces older than this are deleted. Null if traces are never deleted because of their age. */
  retentionDays: number | null
  /** Whether traces with a reviewed span are kept regardless of their age. */
  retainReviewed: boolean
  /** Whether negative feedback and corrections start an attribution automatically. */
  autoAttribute: boolean
}

/** A project with its settings. */
export interface ProjectRecord extends PlacedProject, ProjectSettings {
  createdAt: number
}

/** The columns that can be cached. Epochs can be, because they begin long enough after they're written. */
export const projectColumns = { key: projects.key, id: projects.id, slug: projects.slug, epochs: projects.epochs }

/** A project's identifier in a request. */
type ProjectSelector = { slug: string } | { id: string }

/** A project's id and slug never change, and its epochs only grow, so an entry can be kept as long as a cached key. */
const remembered = new IsolateCache<{ project: PlacedProject; checkedAt: number }>(ISOLATE_CACHE_ENTRIES)

const cacheKeyOf = ({ organization }: Store, selector: ProjectSelector): string =>
  JSON.stringify([organization.id, selector])

/**
 * Finds the organization's project with this slug or id. If another isolate deletes the project, this isolate may still
 * return it for up to 30 seconds.
 */
export async function findProject(store: Store, selector: ProjectSelector): Promise<PlacedProject | undefined> {
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

/** Throws a 404 if a cached project has been deleted. */
export async function requireExisting(store: Store, project: Project): Promise<void> {
  forgetProject(store, project)
  if (!(await findProject(store, { id: project.id }))) throw new Gone('Project not found')
}

function forgetProject(store: Store, { id, slug }: Project): void {
  remembered.delete(cacheKeyOf(store, { id }))
  remembered.delete(cacheKeyOf(store, { slug }))
}

/**
 * Whether a record's project isn't deleted. Only checks projects whose purge isn't finished, because a finished purge
 * leaves no records. Reads no rows unless one of the organization's projects is being purged.
 */
export const hasExistingProject = (
  { organization }: { organization: { key: number | Placeholder } },
  projectKey: SQLWrapper,
): SQL => sql`${projectKey} not in (select deleted.key from ${projects} as deleted
  where deleted.organization_key = ${organization.key} and deleted.purge_due_at is not null)`

/**
 * Like `hasExistingProject`, for a project known before the query. SQLite evaluates a condition only once if it doesn't
 * refer to outer columns.
 */
export const isExistingProject = ({ organization }: Store, { key }: Project): SQL => sql`not exists (
  select 1 from ${projects} as deleted
  where deleted.organization_key = ${organization.key} and deleted.purge_due_at is not null and deleted.key = ${key})`

/**
 * Creates a project. Returns undefined if the organization already has a project with this slug. A retry with the same
 * id creates nothing more.
 */
export async function addProject(
  store: Store,
  act: Act,
  draft: Pick<ProjectRecord, 'id' | 'slug' | 'name' | 'createdAt' | 'epochs'>,
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

/** Changes the given settings of a project. Returns undefined if the organization has no project with this id. */
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
  const differs = or(
    name === undefined ? undefined : ne(projects.name, name),
    retentionDays === undefined ? undefined : sql`${projects.retentionDays} is not ${retentionDays}`,
    retainReviewed === undefined ? undefined : ne(projects.retainReviewed, retainReviewed),
    autoAttribute === undefined ? undefined : ne(projects.autoAttribute, autoAttribute),
  )
  if (!differs) {
    const [row] = await store.database.select().from(projects).where(ofProject)
    return row
  }
  const [, [row]] = await store.database.batch([
    // Record the act first: after the change, it would look like a no-op, which isn't audited.
    recordAct(
      store,
      act,
      { action: 'project.change', targetId: id, projectKey: projectKeyOf(ofProject) },
      anyProject(and(ofProject, differs)),
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
 * Immediately hides a project and everything in it, and revokes its keys, which ends their sessions and links. The row
 * stays, with a slug that no project can have; jobs purge everything else (`project-purge.ts`). Returns whether the
 * project existed; a retry with the same act returns the same result.
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

/** The condition of every query on projects: in the store's organization and not deleted. */
const ofStore = ({ organization }: Store, ...conditions: (SQL | undefined)[]) =>
  and(eq(projects.organizationKey, organization.key), isNull(projects.deletedAt), ...conditions)

const projectKeyOf = (condition: SQL | undefined): SQL =>
  sql`(select ${projects.key} from ${projects} where ${condition})`

const anyProject = (condition: SQL | undefined): SQL => sql`exists (select 1 from ${projects} where ${condition})`

/**
 * A page of the organization's projects, oldest first. If `project` is given, returns only that project, because the
 * caller's key covers no other.
 */
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
