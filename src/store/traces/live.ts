import { and, eq, isNull, type Placeholder, type SQL, sql } from 'drizzle-orm'
import { MAX_SCANNED_TRACES } from '../../limits.ts'
import { hasExistingProject, isExistingProject, type Project } from '../accounts/projects.ts'
import { isOneOf } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { traces } from '../schema/traces.ts'

/**
 * The organization that a query on traces is bound to: a store's organization or, in a `Template`, the
 * `organizationKey` that's passed later.
 */
export type Bound = { organization: { key: number | Placeholder } }

export const BOUND_LATER: Bound = { organization: { key: sql.placeholder('organizationKey') } }

/**
 * The condition of every query on traces: a trace is in the store's organization, and neither the trace nor its project
 * is deleted.
 */
export const isLive = (bound: Bound, ...conditions: (SQL | undefined)[]) =>
  and(isUndeleted(bound), hasExistingProject(bound, traces.projectKey), ...conditions)

/** Like `isLive`, for one project's traces. Checks the project once rather than for each trace. */
export const isLiveIn = (store: Store, project: Project, ...conditions: (SQL | undefined)[]) =>
  and(isUndeleted(store), eq(traces.projectKey, project.key), isExistingProject(store, project), ...conditions)

const isUndeleted = ({ organization }: Bound) =>
  and(eq(traces.organizationKey, organization.key), isNull(traces.deletedAt))

/**
 * A subquery, under the alias `unpurged`, for the keys and projects of the organization's deleted traces that are
 * waiting to be purged. Considers at most 5,000 of the deployment's deleted traces.
 */
export const unpurgedTraces = ({ organization }: Store): SQL => sql`(
  select scanned.key, scanned.project_key from (
    select ${traces.key} as key, ${traces.organizationKey} as organization_key, ${traces.projectKey} as project_key
    from ${traces} where ${traces.purgeDueAt} > 0 limit ${MAX_SCANNED_TRACES}) as scanned
  where scanned.organization_key = ${organization.key}) as unpurged`

/** A subquery for the key of the live trace with this id. */
export const liveTraceKey = (store: Store, id: string) =>
  store.database
    .select({ key: traces.key })
    .from(traces)
    .where(isLive(store, eq(traces.id, id)))

/** The keys of the live traces among these ids, by id. */
export async function liveTraceKeys(store: Store, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await store.database
    .select({ id: traces.id, key: traces.key })
    .from(traces)
    .where(isLive(store, hasIdIn(ids)))
  return new Map(rows.map(({ id, key }) => [id, key]))
}

/** Whether a trace's id is one of these. */
export const hasIdIn = (ids: readonly string[]): SQL => isOneOf(traces.id, ids)
