import { and, asc, eq, gt, sql } from 'drizzle-orm'
import { newRevision } from '../domain/ids.ts'
import { type Act, recordAct } from './audit.ts'
import { users } from './schema.ts'
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
