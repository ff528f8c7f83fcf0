import { and, asc, desc, eq, gte, isNull, sql } from 'drizzle-orm'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { traces } from '../schema/traces.ts'

/** How far a walk over an organization's traces has come: a project, and the last trace of it that was looked at. */
export interface TracePlace {
  projectKey: number
  timestamp: number
  id: string
}

/** Where a project's walk begins: it goes from the newest trace to the oldest. */
const NEWEST: Omit<TracePlace, 'projectKey'> = { timestamp: Number.MAX_SAFE_INTEGER, id: '' }

/** Where a walk begins. */
export const WALK_START: TracePlace = { projectKey: 0, ...NEWEST }

/**
 * The keys of the next live traces after a place, `limit` at most, and where to go on; `next` is null at the end. Traces
 * that come meanwhile may be missed.
 */
export async function walkTraces(
  { database, organization }: Store,
  place: TracePlace,
  limit: number,
): Promise<{ keys: number[]; next: TracePlace | null }> {
  const [project] = await database
    .select({ key: projects.key })
    .from(projects)
    .where(
      and(
        eq(projects.organizationKey, organization.key),
        isNull(projects.deletedAt),
        gte(projects.key, place.projectKey),
      ),
    )
    .orderBy(asc(projects.key))
    .limit(1)
  if (!project) return { keys: [], next: null }
  const { timestamp, id } = project.key === place.projectKey ? place : NEWEST
  const rows = await database
    .select({ key: traces.key, timestamp: traces.timestamp, id: traces.id })
    .from(traces)
    .where(
      and(
        isNull(traces.deletedAt),
        eq(traces.projectKey, project.key),
        sql`(${traces.timestamp}, ${traces.id}) < (${timestamp}, ${id})`,
      ),
    )
    .orderBy(desc(traces.timestamp), desc(traces.id))
    .limit(limit)
  const last = rows.length === limit ? rows.at(-1) : undefined
  return {
    keys: rows.map(({ key }) => key),
    next: last
      ? { projectKey: project.key, timestamp: last.timestamp, id: last.id }
      : { projectKey: project.key + 1, ...NEWEST },
  }
}
