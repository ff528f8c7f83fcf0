import { and, asc, eq, getTableColumns, isNull, or, type SQL, sql } from 'drizzle-orm'
import { type ViewPage, withStepNames } from '../../domain/saved-view.ts'
import { MAX_OWN_VIEWS, MAX_SHARED_VIEWS } from '../../limits.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects, savedViews } from '../schema/accounts.ts'
import { type Act, recordAct } from './audit.ts'
import { isExistingProject, type Project, requireExisting } from './projects.ts'
import { selectStepNames, toStepNames } from './step-names.ts'

/** A list's filters, saved under a name. */
export interface SavedView {
  id: string
  /** The user who saved it, or the key if it acts for no user. */
  ownerId: string
  page: ViewPage
  name: string
  query: string
  /** Whether everybody in the project sees it. */
  isShared: boolean
  updatedAt: number
}

const isSharedIn = (project: Project) => and(eq(savedViews.projectKey, project.key), sql`${savedViews.isShared} = 1`)

/** A page of a project's shared views and the owner's own, sorted by name, with the steps' current names. */
export async function listViews(
  store: Store,
  project: Project,
  filter: { ownerId: string; page: ViewPage | undefined },
  { limit, after }: { limit: number; after: readonly [name: string, id: string] | undefined },
): Promise<SavedView[]> {
  const { database } = store
  const isOwn = and(eq(savedViews.projectKey, project.key), eq(savedViews.ownerId, filter.ownerId))
  const [views, renamed] = await database.batch([
    database
      .select()
      .from(savedViews)
      .where(
        and(
          or(isOwn, isSharedIn(project)),
          filter.page && eq(savedViews.page, filter.page),
          after && sql`(${savedViews.name}, ${savedViews.id}) > (${after[0]}, ${after[1]})`,
        ),
      )
      .orderBy(asc(savedViews.name), asc(savedViews.id))
      .limit(limit),
    selectStepNames(store, project),
  ])
  const names = toStepNames(renamed)
  return views.map(view => ({ ...view, query: withStepNames(view.query, names) }))
}

/**
 * Saves a view. If the owner already has a view of the same page with this name, updates that view, which keeps its id.
 * Returns the limit that a new or newly shared view would exceed. Saving the same view again changes nothing.
 */
export async function saveView(
  store: Store,
  act: Act,
  project: Project,
  draft: SavedView,
): Promise<SavedView | 'too_many' | 'too_many_shared'> {
  const { database } = store
  const { ownerId, page, name, query, isShared } = draft
  const ofOwner = and(eq(savedViews.projectKey, project.key), eq(savedViews.ownerId, ownerId))
  const isThis = and(ofOwner, eq(savedViews.page, page), eq(savedViews.name, name))
  const existing = (condition?: SQL) => sql`exists (select 1 from ${savedViews} where ${and(isThis, condition)})`
  const wasShared = existing(sql`${savedViews.isShared} = 1`)
  const isWithin = sql`(${existing()}
    or (select count(*) from ${savedViews} where ${ofOwner}) < ${MAX_OWN_VIEWS})`
  const isSharedWithin = isShared
    ? sql`(${wasShared} or (select count(*) from ${savedViews} where ${isSharedIn(project)}) < ${MAX_SHARED_VIEWS})`
    : sql`true`
  const differs = sql`(${savedViews.query} <> ${query} or ${savedViews.isShared} <> ${Number(isShared)})`
  const isAllowed = sql`(${isExistingProject(store, project)} and ${isWithin} and ${isSharedWithin})`
  const isChange = sql`(not ${existing()} or ${existing(differs)})`
  const targetId = sql`coalesce((select ${savedViews.id} from ${savedViews} where ${isThis}), ${draft.id})`
  const [[guards], , , [saved]] = await database.batch([
    database
      .select({
        isWithin: sql<number>`${isWithin}`.as('is_within'),
        isSharedWithin: sql<number>`${isSharedWithin}`.as('is_shared_within'),
      })
      .from(projects)
      .where(eq(projects.key, project.key)),
    // Record the act first: after the change, it would look like a no-op, which isn't audited. Only shared views are
    // audited.
    recordAct(
      store,
      act,
      { action: 'view.save', targetId, projectKey: project.key, afterId: targetId },
      sql`${isAllowed} and ${isChange} and ${isShared ? sql`true` : wasShared}`,
    ),
    database
      .insert(savedViews)
      .select(
        selectFor(
          savedViews,
          { ...draft, projectKey: project.key, isShared: Number(isShared) },
          sql`where ${isAllowed}`,
        ),
      )
      .onConflictDoUpdate({
        target: [savedViews.projectKey, savedViews.ownerId, savedViews.page, savedViews.name],
        set: { query, isShared, updatedAt: draft.updatedAt },
        setWhere: differs,
      }),
    database.select().from(savedViews).where(isThis),
  ])
  if (guards?.isWithin === 0) return 'too_many'
  if (guards?.isSharedWithin === 0) return 'too_many_shared'
  if (saved) return saved
  await requireExisting(store, project)
  throw new Error('a view is gone right after it was saved')
}

/** Finds a view in the organization. */
export async function findView(
  { database, organization }: Store,
  id: string,
): Promise<(SavedView & { projectKey: number }) | undefined> {
  const [view] = await database
    .select(getTableColumns(savedViews))
    .from(savedViews)
    .innerJoin(projects, eq(projects.key, savedViews.projectKey))
    .where(and(eq(savedViews.id, id), eq(projects.organizationKey, organization.key), isNull(projects.deletedAt)))
  return view
}

/** Deletes a view. */
export async function deleteView(
  store: Store,
  act: Act,
  { id, projectKey }: Pick<SavedView, 'id'> & { projectKey: number },
): Promise<void> {
  const { database } = store
  const isThis = and(eq(savedViews.id, id), eq(savedViews.projectKey, projectKey))
  await database.batch([
    recordAct(
      store,
      act,
      { action: 'view.delete', targetId: id, projectKey, beforeId: id },
      sql`exists (select 1 from ${savedViews} where ${isThis} and ${savedViews.isShared} = 1)`,
    ),
    database.delete(savedViews).where(isThis),
  ])
}

/**
 * The statements that delete a deleted user's private views in a project and give the shared ones the user's new id.
 */
export function releaseViews(
  { database }: Store,
  { projectKey, ownerId, newId }: { projectKey: number; ownerId: string; newId: string },
) {
  const isOwn = and(eq(savedViews.projectKey, projectKey), eq(savedViews.ownerId, ownerId))
  return [
    database.delete(savedViews).where(and(isOwn, sql`${savedViews.isShared} = 0`)),
    database.update(savedViews).set({ ownerId: newId }).where(isOwn),
  ] as const
}

/**
 * The statement that gives a replaced key's views to its successor, in all of the organization's projects. A view stays
 * behind if the successor already has a view of the same page with the same name.
 */
export const handOverViews = (
  { database, organization }: Store,
  { from, to }: { from: string | SQL; to: string },
  condition: SQL,
) =>
  database
    .update(savedViews)
    .set({ ownerId: to })
    .where(
      and(
        sql`${savedViews.projectKey} in (
          select ${projects.key} from ${projects} where ${projects.organizationKey} = ${organization.key})`,
        eq(savedViews.ownerId, from),
        sql`not exists (select 1 from ${savedViews} taken where taken.project_key = saved_views.project_key
          and taken.owner_id = ${to} and taken.page = saved_views.page and taken.name = saved_views.name)`,
        condition,
      ),
    )
