import { newKeys } from '../../src/domain/ids.ts'
import { TIME } from './builders.ts'
import { databaseOfTrace, stored } from './database.ts'
import type { Org } from './org.ts'

/** The fields that differ between traces. `fields` is the metadata. */
interface TraceFields {
  name: string
  status?: 'running' | 'completed'
  fields: Record<string, string>
}

/**
 * Inserts many traces, a millisecond apart, directly into a tenant's project. Returns their ids, newest first.
 * `fieldsOf` gets a trace's position in that order, starting at 1. If `only` is given, all traces go to that database.
 */
export async function manyTraces(
  org: Org,
  count: number,
  fieldsOf: (place: number) => TraceFields,
  only?: D1Database,
): Promise<string[]> {
  const project = await stored
    .prepare('select key, organization_key from projects where id = ?')
    .bind(org.project.id)
    .first<{ key: number; organization_key: number }>()
  const [firstKey = 0] = newKeys(Date.now(), 1)
  const traces = Array.from({ length: count }, (_, index) => {
    const { name, status = 'running', fields } = fieldsOf(index + 1)
    return {
      key: firstKey + index,
      id: crypto.randomUUID(),
      rootId: crypto.randomUUID(),
      name,
      status,
      timestamp: Date.parse(TIME) + count - index,
      fields,
    }
  })
  for (const [database, own] of Map.groupBy(traces, ({ id }) => only ?? databaseOfTrace(id))) {
    await insert(database, [JSON.stringify(own), project?.key, project?.organization_key])
  }
  return traces.map(({ id }) => id)
}

/** `bound` has the traces as JSON, and the keys of their project and organization. */
async function insert(database: D1Database, bound: readonly unknown[]): Promise<void> {
  const scope = `cross join (select ? as project_key, ? as organization_key) as scope`
  await database.batch([
    database
      .prepare(
        `insert into traces (key, id, organization_key, project_key, trace_id, root_span_id, name, status, timestamp,
         duration_ms, metadata, completed_fields, revision, received_at, updated_at, deleted_at, purge_due_at, needs_review,
         is_negative, is_posted, derivation, closes_at, is_generic)
       select t.value ->> 'key', t.value ->> 'id', organization_key, project_key,
         'trace_' || (t.value ->> 'key'), t.value ->> 'rootId', t.value ->> 'name', t.value ->> 'status',
         t.value ->> 'timestamp', null, t.value -> 'fields', '[]', '', 0, 0, null, null, 1, 0, 1, null, null, 0
       from json_each(?) as t ${scope}`,
      )
      .bind(...bound),
    database
      .prepare(
        `insert into spans (id, trace_key, is_root, step_id, timestamp)
       select t.value ->> 'rootId', t.value ->> 'key', 1, t.value ->> 'name', t.value ->> 'timestamp'
       from json_each(?) as t ${scope}`,
      )
      .bind(...bound),
    database
      .prepare(
        `insert into trace_fields select project_key, f.key, f.value, t.value ->> 'timestamp', t.value ->> 'key'
       from json_each(?) as t ${scope} cross join json_each(t.value, '$.fields') as f`,
      )
      .bind(...bound),
  ])
}
