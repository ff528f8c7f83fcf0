import { and, asc, desc, eq, gte, isNull, sql } from 'drizzle-orm'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { traces } from '../schema/traces.ts'

/** The progress of a walk over an organization's traces: a project and the last trace visited in it. */
export interface TracePlace {
  projectKey: number
  timestamp: number
  id: string
}

/** The start of a project's walk, which goes from the newest trace to the oldest. */
const NEWEST: Omit<TracePlace, 'projectKey'> = { timestamp: Number.MAX_SAFE_INTEGER, id: '' }

/** The start of a walk. */
export const WALK_START: TracePlace = { projectKey: 0, ...NEWEST }

/**
 * Returns the keys of up to `limit` live traces after a place, and the place to continue from. `next` is null at the
 * end. May miss traces that arrive during the walk.
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
