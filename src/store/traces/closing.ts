import { and, asc, isNotNull, isNull, lte } from 'drizzle-orm'
import { CLOSED_TRACES } from '../../limits.ts'
import { organizationColumns } from '../accounts/organizations.ts'
import { isOneOf } from '../core/rows.ts'
import type { Organization, UnscopedStore } from '../core/store.ts'
import { organizations } from '../schema/accounts.ts'
import { traces } from '../schema/traces.ts'
import type { TraceRecord } from './trace-rows.ts'

/**
 * Finds a database's traces whose root didn't arrive in time, by organization. Those that have waited longest come
 * first.
 */
export async function findDueTraces(
  { database, control }: UnscopedStore,
  now: number,
): Promise<Map<Organization, TraceRecord[]>> {
  const due = await database
    .select()
    .from(traces)
    .where(and(isNull(traces.deletedAt), isNotNull(traces.closesAt), lte(traces.closesAt, now)))
    .orderBy(asc(traces.closesAt))
    .limit(CLOSED_TRACES)
  if (due.length === 0) return new Map()
  const byKey = Map.groupBy(due, ({ organizationKey }) => organizationKey)
  const owners = await control.database
    .select(organizationColumns)
    .from(organizations)
    .where(isOneOf(organizations.key, [...byKey.keys()]))
  return new Map(owners.map(organization => [organization, byKey.get(organization.key) ?? []]))
}
