import { and, eq, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { JOB_DEADLINE_MS } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { users } from '../schema/accounts.ts'

/**
 * The statement that marks the labelers whose ids a query returns. Run it before deleting one of their records, because
 * a repeated run would no longer find them. Walks don't check marked labelers until the deletion must be over, so no
 * walk can find the record and unmark them in between.
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
