import { and, asc, eq, gt, inArray, isNotNull, ne, or, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { isOneOf, selectFor } from '../core/rows.ts'
import type { Organization, Store, UnscopedStore } from '../core/store.ts'
import { apiKeys, organizations, userDeletions, users } from '../schema/accounts.ts'
import { mayStillManage, rightsRevoked } from './api-keys.ts'
import { type Act, recordAct } from './audit.ts'
import { organizationColumns } from './organizations.ts'
import type { Project } from './projects.ts'

/** A reviewer, or a person whose feedback a pipeline sent. */
export interface User {
  id: string
  /** In lowercase. */
  email: string
  /** '' if only the email is known. */
  name: string
  createdAt: number
  /**
   * Whether a manager of the whole organization created or confirmed this user. False for a labeler, who is only known
   * from feedback.
   */
  isConfirmed: boolean
  /** Whether they settle disagreements between reviewers. */
  isAdjudicator: boolean
}

/** Whether the organization has a user with this id. */
export async function userExists({ database, organization }: Store, id: string): Promise<boolean> {
  const rows = await database
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.organizationKey, organization.key), eq(users.id, id)))
  return rows.length > 0
}

/**
 * Which of these users can be assigned a project's problems and spans: members of the organization, and users with a
 * key for the project.
 */
export async function findAssignable(
  { database, organization }: Store,
  projectKey: number,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await database
    .select({ id: users.id })
    .from(users)
    .where(
      and(
        eq(users.organizationKey, organization.key),
        isOneOf(users.id, ids),
        sql`(${users.createdBy} is not null or exists (
          select 1 from ${apiKeys} own where own.organization_key = ${organization.key} and own.user_id = ${users.id}
            and coalesce(own.project_key, ${projectKey}) = ${projectKey} and own.revoked_at is null))`,
      ),
    )
  return new Set(rows.map(({ id }) => id))
}

/** The ids of the confirmed users with these emails. */
export async function findUserIds(
  { database, organization }: Store,
  emails: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(and(eq(users.organizationKey, organization.key), isOneOf(users.email, emails), isNotNull(users.createdBy)))
  return new Map(rows.map(({ email, id }) => [email, id]))
}

/**
 * Creates a user, or confirms the labeler with this email, who keeps the id and gets the given name. Returns undefined
 * if the user was already created or confirmed. A retry of the same batch has the same effect. Throws a 403 like
 * `addApiKey`.
 */
export async function addUser(store: Store, act: Act, draft: Omit<User, 'isConfirmed'>): Promise<User | undefined> {
  const { database, organization } = store
  const createdBy = newRevision()
  const isUser = and(eq(users.organizationKey, organization.key), eq(users.email, draft.email))
  const id = sql`(select ${users.id} from ${users} where ${isUser})`
  const [, [stored]] = await database.batch([
    database
      .insert(users)
      .select(
        selectFor(
          users,
          {
            organizationKey: organization.key,
            id: draft.id,
            email: draft.email,
            name: draft.name,
            createdAt: draft.createdAt,
            createdBy,
            uncheckedSince: null,
            isAdjudicator: Number(draft.isAdjudicator),
          },
          sql`where ${mayStillManage(act)}`,
        ),
      )
      .onConflictDoUpdate({
        target: [users.organizationKey, users.email],
        set: {
          name: sql`excluded.name`,
          createdBy: sql`excluded.created_by`,
          uncheckedSince: null,
          isAdjudicator: sql`excluded.is_adjudicator`,
        },
        setWhere: sql`${users.createdBy} is null`,
      }),
    database.select().from(users).where(isUser),
    recordAct(
      store,
      act,
      { action: 'user.create', targetId: id, projectKey: null, afterId: id },
      sql`exists (select 1 from ${users} where ${isUser} and ${users.createdBy} = ${createdBy})`,
    ),
  ])
  if (!stored || stored.createdBy === null) throw rightsRevoked()
  return stored.createdBy === createdBy ? toUser(stored) : undefined
}

/** Changes to a user. Undefined fields stay as they are. */
export interface UserChanges {
  email?: string | undefined
  name?: string | undefined
  isAdjudicator?: boolean | undefined
}

/**
 * Changes a user's fields other than the id. Returns `email_taken` if another user in the organization has the email,
 * and undefined if there is no such user. Setting the same values again changes nothing and isn't audited. Throws a 403
 * like `addApiKey`.
 */
export async function updateUser(
  store: Store,
  act: Act,
  id: string,
  changes: UserChanges,
): Promise<User | 'email_taken' | undefined> {
  const { email } = changes
  const { database, organization } = store
  const ofOrganization = eq(users.organizationKey, organization.key)
  const isUser = and(ofOrganization, eq(users.id, id))
  const hasEmail = and(ofOrganization, eq(users.email, email ?? ''))
  const isFree = sql`not exists (select 1 from ${users} as other
    where other.organization_key = ${organization.key} and other.email = ${email ?? ''} and other.id <> ${id})`
  const fields = (['email', 'name', 'isAdjudicator'] as const).filter(field => changes[field] !== undefined)
  const differs = or(...fields.map(field => ne(users[field], sql.param(changes[field], users[field]))))
  const isChange = and(isUser, isFree, differs ?? sql`false`, mayStillManage(act))
  const [, , [user], [holder]] = await database.batch([
    recordAct(
      store,
      act,
      { action: 'user.change', targetId: id, projectKey: null },
      sql`exists (select 1 from ${users} where ${isChange})`,
    ),
    // An update must set something, even if the call changes nothing.
    database
      .update(users)
      .set({ ...changes, name: changes.name ?? sql`${users.name}` })
      .where(isChange),
    database.select().from(users).where(isUser),
    database.select({ id: users.id }).from(users).where(hasEmail),
  ])
  if (user && holder && holder.id !== id) return 'email_taken'
  if (user && fields.some(field => user[field] !== changes[field])) throw rightsRevoked()
  return user && toUser(user)
}

/**
 * Deletes a user and revokes the keys that act for them. A job then moves all their records to `newId`, a random id
 * (`user-deletion.ts`). Returns whether the user existed; a retry with the same `newId` returns the same result.
 */
export async function deleteUser(store: Store, act: Act, id: string, newId: string): Promise<boolean> {
  const { database, organization } = store
  const isUser = and(eq(users.organizationKey, organization.key), eq(users.id, id))
  const isDeletion = and(eq(userDeletions.organizationKey, organization.key), eq(userDeletions.userId, id))
  const [, , , , deletions] = await database.batch([
    // Record only the new id, because the log must not link it to the old one.
    recordAct(
      store,
      act,
      { action: 'user.delete', targetId: newId, projectKey: null },
      sql`exists (select 1 from ${users} where ${isUser})`,
    ),
    database
      .insert(userDeletions)
      .select(
        selectFor(
          userDeletions,
          {
            organizationKey: organization.key,
            userId: id,
            newId,
            deletedAt: act.at,
            dueAt: act.at,
            passStartedAt: act.at,
            cursor: '',
          },
          sql`from ${users} where ${isUser}`,
        ),
      )
      .onConflictDoNothing(),
    revokeUserKeys(store, { userId: id, newId }, act.at, sql`exists (select 1 from ${users} where ${isUser})`),
    database.delete(users).where(isUser),
    database
      .select({ newId: userDeletions.newId })
      .from(userDeletions)
      .where(and(isDeletion, eq(userDeletions.newId, newId))),
  ])
  return deletions.length > 0
}

/** The statement that revokes a deleted user's keys, which ends their sessions and sign-in links. */
export const revokeUserKeys = (
  { database, organization }: Store,
  { userId, newId }: { userId: string; newId: string },
  at: number,
  condition: SQL = sql`true`,
) =>
  database
    .update(apiKeys)
    .set({ userId: newId, revokedAt: sql`min(coalesce(${apiKeys.revokedAt}, ${at}), ${at})` })
    .where(and(eq(apiKeys.organizationKey, organization.key), eq(apiKeys.userId, userId), condition))

/** A user's membership in an organization. */
export interface Membership {
  userId: string
  isAdjudicator: boolean
  organization: Organization & { name: string }
}

/**
 * The confirmed users with this email in one organization or in all, up to `limit`, oldest organizations first.
 * Labelers aren't included, even if keys act for them, because a pipeline or a project's manager must not be able to
 * admit people to an organization.
 */
export function findMemberships(
  { database }: UnscopedStore,
  { email, organizationSlug, limit }: { email: string; organizationSlug: string | null; limit: number },
): Promise<Membership[]> {
  return database
    .select({
      userId: users.id,
      isAdjudicator: users.isAdjudicator,
      organization: { ...organizationColumns, name: organizations.name },
    })
    .from(users)
    .innerJoin(organizations, eq(organizations.key, users.organizationKey))
    .where(
      and(
        eq(users.email, email),
        isNotNull(users.createdBy),
        organizationSlug === null ? undefined : eq(organizations.slug, organizationSlug),
      ),
    )
    .orderBy(asc(users.organizationKey))
    .limit(limit)
}

/** A user's display name by id: the name, or else the email. Null if the id isn't a user's. */
export const userName = ({ organization }: Store, id: SQL, name: SQL = NAME_OR_EMAIL): SQL =>
  sql`(select ${name} from ${users} where ${users.organizationKey} = ${organization.key} and ${users.id} = ${id})`

const NAME_OR_EMAIL = sql`coalesce(nullif(${users.name}, ''), ${users.email})`

/**
 * Finds actors' names by id: the user's name, or else the user's email, or else the key's name. The map leaves out ids
 * that don't belong to a user or key in the organization and, unless `withEmails` is set, users known only by email.
 */
export async function findActorNames(
  store: Store,
  ids: readonly string[],
  { withEmails }: { withEmails: boolean },
): Promise<Map<string, string>> {
  const id = sql`item.value`
  const name = sql`coalesce(
    ${userName(store, id, withEmails ? undefined : sql`nullif(${users.name}, '')`)},
    (select ${apiKeys.name} from ${apiKeys}
      where ${apiKeys.id} = ${id} and ${apiKeys.organizationKey} = ${store.organization.key}))`
  const rows = await store.database
    .select({ id: sql<string>`${id}`.as('id'), name: sql<string | null>`${name}`.as('name') })
    .from(sql`json_each(${JSON.stringify(ids)}) as item`)
  return new Map(rows.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])))
}

/**
 * A page of the organization's users, sorted by email. If a project is given, returns only users for whom one of the
 * project's keys acts or has acted.
 */
export async function listUsers(
  { database, organization }: Store,
  project: Project | null,
  { limit, after }: { limit: number; after: string },
): Promise<User[]> {
  const withKey = project
    ? database
        .select({ id: apiKeys.userId })
        .from(apiKeys)
        .where(
          and(
            eq(apiKeys.organizationKey, organization.key),
            eq(apiKeys.projectKey, project.key),
            isNotNull(apiKeys.userId),
          ),
        )
    : undefined
  const rows = await database
    .select()
    .from(users)
    .where(
      and(eq(users.organizationKey, organization.key), gt(users.email, after), withKey && inArray(users.id, withKey)),
    )
    .orderBy(asc(users.email))
    .limit(limit)
  return rows.map(toUser)
}

const toUser = ({ createdBy, organizationKey, uncheckedSince, ...user }: typeof users.$inferSelect): User => ({
  ...user,
  isConfirmed: createdBy !== null,
})
