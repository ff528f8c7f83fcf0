import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { Store } from '../core/store.ts'
import { users } from '../schema/accounts.ts'

/** The statement that marks labellers, by id. Use it before deleting one of their records. */
export const markLabellers = ({ database, organization }: Store, ids: SQL, now: number) =>
  database
    .update(users)
    .set({ uncheckedSince: now })
    .where(
      and(
        eq(users.organizationKey, organization.key),
        isNull(users.createdBy),
        isNull(users.uncheckedSince),
        sql`${users.id} in ${ids}`,
      ),
    )
