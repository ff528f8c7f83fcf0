import { and, asc, eq, isNull, lte, sql } from 'drizzle-orm'
import { MAX_CLOSED_TRACES } from '../limits.ts'
import { organizationColumns } from './organizations.ts'
import { organizations, traces } from './schema.ts'
import type { Organization, Registry } from './store.ts'
import type { TraceRecord } from './traces.ts'

/** Traces whose root did not come in time, those that wait longest, by their organizations. */
export async function findDueTraces(
  { database }: Registry,
  now: number,
): Promise<{ organization: Organization; traces: TraceRecord[] }[]> {
  const due = await database
    .select()
    .from(traces)
    .where(and(isNull(traces.deletedAt), sql`${traces.closesAt} is not null`, lte(traces.closesAt, now)))
    .orderBy(asc(traces.closesAt))
    .limit(MAX_CLOSED_TRACES)
  const byOrganization = Map.groupBy(due, ({ organizationKey }) => organizationKey)
  const found = [...byOrganization].map(async ([key, traces]) => {
    const [organization] = await database
      .select(organizationColumns)
      .from(organizations)
      .where(eq(organizations.key, key))
    return organization ? [{ organization, traces }] : []
  })
  return (await Promise.all(found)).flat()
}
