import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../domain/metadata.ts'
import type { TraceStatus } from '../domain/trace-status.ts'
import type { Project } from './projects.ts'
import { traceFields, traces } from './schema.ts'
import type { Store } from './store.ts'
import { isLive, type TraceRecord } from './traces.ts'

interface TraceSearch {
  name: string | undefined
  status: TraceStatus | undefined
  fields: readonly SearchableField[]
  limit: number
}

/** A project's traces that match every condition, newest first. */
export async function searchTraces(store: Store, project: Project, search: TraceSearch): Promise<TraceRecord[]> {
  const [driver, ...others] = bySelectivity(search.fields)
  const conditions = isLive(
    store,
    eq(traces.projectKey, project.key),
    search.name === undefined ? undefined : eq(traces.name, search.name),
    search.status && eq(traces.status, search.status),
  )
  const query = store.database.select({ trace: traces })
  const rows = driver
    ? await query
        .from(traceFields)
        // A cross join keeps SQLite to this order: it has no statistics by which to choose one.
        .crossJoin(traces)
        .where(
          and(
            matches(project, driver),
            eq(traces.key, traceFields.traceKey),
            conditions,
            ...others.map(alsoMatches(project)),
          ),
        )
        .orderBy(desc(traceFields.timestamp), desc(traces.id))
        .limit(search.limit)
    : await query.from(traces).where(conditions).orderBy(desc(traces.timestamp), desc(traces.id)).limit(search.limit)
  return rows.map(({ trace }) => trace)
}

/** The filter that should match the fewest traces comes first: a conversation's id, else the longest value. */
const bySelectivity = (fields: readonly SearchableField[]): SearchableField[] =>
  fields.toSorted((left, right) => selectivity(right) - selectivity(left))

const selectivity = ({ path, value }: SearchableField): number =>
  path === 'group_id' ? Number.POSITIVE_INFINITY : value.length

const matches = (project: Project, { path, value }: SearchableField): SQL | undefined =>
  and(eq(traceFields.projectKey, project.key), eq(traceFields.path, path), eq(traceFields.value, value))

/** One seek in the primary key for each trace that the driving filter found. */
const alsoMatches =
  (project: Project) =>
  ({ path, value }: SearchableField): SQL =>
    sql`exists (select 1 from ${traceFields} other
      where other.project_key = ${project.key} and other.path = ${path} and other.value = ${value}
        and other.timestamp = ${traceFields.timestamp} and other.trace_key = ${traceFields.traceKey})`
