import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm'
import { newRevision } from '../domain/ids.ts'
import { type Act, recordAct } from './audit.ts'
import { apiKeys, users } from './schema.ts'
import type { Store } from './store.ts'

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

/**
 * The names behind ids of those who act: a user's, or the e-mail where there is none, and of a key that acts for nobody the
 * key's. Ids that are neither, in the organization, have none.
 */
export async function findActorNames(
  { database, organization }: Store,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const asked = sql`json_each(${JSON.stringify(ids)}) as item`
  const [people, keys] = await database.batch([
    database
      .select({ id: users.id, name: users.name, email: users.email })
      .from(asked)
      .crossJoin(users)
      .where(and(eq(users.organizationKey, organization.key), sql`${users.id} = item.value`)),
    database
      .select({ id: apiKeys.id, name: apiKeys.name })
      .from(asked)
      .crossJoin(apiKeys)
      .where(
        and(sql`${apiKeys.id} = item.value`, eq(apiKeys.organizationKey, organization.key), isNull(apiKeys.userId)),
      ),
  ])
  return new Map([
    ...keys.map(({ id, name }) => [id, name] as const),
    ...people.map(({ id, name, email }) => [id, name || email] as const),
  ])
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
