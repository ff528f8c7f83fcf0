import { and, eq, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { JOB_DEADLINE_MS } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { users } from '../schema/accounts.ts'

/**
 * The statement that marks the labelers whose ids a query returns. Run it before deleting one of the labelers' records,
 * because a repeated run would no longer find the labelers. Walks don't check marked labelers until the deletion is
 * certain to be over, so no walk can find the record in between and unmark them.
 */
export const markLabelers = ({ database, organization }: Store, ids: SQL, now: number) =>
  database
    .update(users)
    .set({ uncheckedSince: Math.ceil(now) + JOB_DEADLINE_MS })
    .where(
      and(
        eq(users.organizationKey, organization.key),
        isNull(users.createdBy),
        or(isNull(users.uncheckedSince), lt(users.uncheckedSince, now)),
        sql`${users.id} in ${ids}`,
      ),
    )
