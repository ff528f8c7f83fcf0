import { and, eq } from 'drizzle-orm'
import { users } from './schema.ts'
import type { Store } from './store.ts'

/** Whether the organization has a user with this id. */
export async function userExists({ database, organization }: Store, id: string): Promise<boolean> {
  const rows = await database
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.organizationKey, organization.key), eq(users.id, id)))
  return rows.length > 0
}
