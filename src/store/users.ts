import { and, asc, eq, gt, isNotNull, or, type SQL, sql } from 'drizzle-orm'
import { newRevision } from '../domain/ids.ts'
import { MAX_SEARCHED_ORGANIZATIONS } from '../limits.ts'
import { type Act, recordAct } from './audit.ts'
import { organizationColumns } from './organizations.ts'
import { apiKeys, organizations, users } from './schema.ts'
import type { Organization, Registry, Store } from './store.ts'

/** A person: a reviewer, or one whose feedback a pipeline passed on. */
export interface User {
  id: string
  /** In lower case. */
  email: string
  /** '' where only the e-mail is known. */
  name: string
  createdAt: number
}

/** Whether the organization has a user with this id. */
export async function userExists({ database, organization }: Store, id: string): Promise<boolean> {
  const rows = await database
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.organizationKey, organization.key), eq(users.id, id)))
  return rows.length > 0
}

/** Creates a user, whose id is derived from the e-mail. Returns whether there was none with it. */
export async function addUser(store: Store, act: Act, user: User): Promise<boolean> {
  const { database, organization } = store
  const { id } = user
  const createdBy = newRevision()
  const isUser = and(eq(users.organizationKey, organization.key), eq(users.id, id))
  const [, [stored]] = await database.batch([
    database
      .insert(users)
      .values({ ...user, organizationKey: organization.key, createdBy })
      .onConflictDoNothing(),
    database.select({ createdBy: users.createdBy }).from(users).where(isUser),
    recordAct(
      store,
      act,
      { action: 'user.create', targetId: id, projectKey: null, afterId: id },
      sql`exists (select 1 from ${users} where ${isUser} and ${users.createdBy} = ${createdBy})`,
    ),
  ])
  return stored?.createdBy === createdBy
}

/** A user of an organization. */
export interface Membership {
  userId: string
  organization: Organization
}

/**
 * The users with an e-mail, in the organization with a slug or in any: those that a manager made, or that a live key acts
 * for. Whoever a pipeline named as a labeller is none of them by that. It seeks in the 1,000 oldest organizations, if no
 * slug is given.
 */
export async function findMemberships(
  { database }: Registry,
  { email, organizationSlug, now }: { email: string; organizationSlug: string | null; now: number },
): Promise<Membership[]> {
  const scanned = database
    .select(organizationColumns)
    .from(organizations)
    .where(organizationSlug === null ? gt(organizations.key, 0) : eq(organizations.slug, organizationSlug))
    .orderBy(asc(organizations.key))
    .limit(MAX_SEARCHED_ORGANIZATIONS)
    .as('scanned')
  const actsForThem = sql`exists (select 1 from ${apiKeys}
    where ${apiKeys.organizationKey} = ${users.organizationKey} and ${apiKeys.userId} = ${users.id}
      and coalesce(${apiKeys.revokedAt}, ${now} + 1) > ${now} and coalesce(${apiKeys.expiresAt}, ${now} + 1) > ${now})`
  return database
    .select({ userId: users.id, organization: { key: scanned.key, id: scanned.id, slug: scanned.slug } })
    .from(scanned)
    .crossJoin(users)
    .where(
      and(eq(users.organizationKey, scanned.key), eq(users.email, email), or(isNotNull(users.createdBy), actsForThem)),
    )
    .limit(2)
}

/** What those who act are called, by an id: a user's name, or the e-mail without one, or a key's name; null for what is neither. */
export const actorName = ({ organization }: Store, id: SQL): SQL => sql`coalesce(
  (select coalesce(nullif(${users.name}, ''), ${users.email}) from ${users}
    where ${users.organizationKey} = ${organization.key} and ${users.id} = ${id}),
  (select ${apiKeys.name} from ${apiKeys}
    where ${apiKeys.id} = ${id} and ${apiKeys.organizationKey} = ${organization.key}))`

/** The names behind ids of those who act. Ids that are no user's and no key's of the organization have none. */
export async function findActorNames(store: Store, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await store.database
    .select({
      id: sql<string>`item.value`.as('id'),
      name: sql<string | null>`${actorName(store, sql`item.value`)}`.as('name'),
    })
    .from(sql`json_each(${JSON.stringify(ids)}) as item`)
  return new Map(rows.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const])))
}

/** A page of the organization's users, by e-mail. */
export function listUsers(
  { database, organization }: Store,
  { limit, after }: { limit: number; after: string },
): Promise<User[]> {
  return database
    .select()
    .from(users)
    .where(and(eq(users.organizationKey, organization.key), gt(users.email, after)))
    .orderBy(asc(users.email))
    .limit(limit)
}
