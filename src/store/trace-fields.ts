import { type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../domain/metadata.ts'
import { utf8Length } from '../domain/text.ts'
import { traceFields, traces } from './schema.ts'
import type { Store } from './store.ts'

/*
 * Statements for a batch: searchable fields of the traces that meet the condition `ofTraces`, which must bind the
 * organization. One statement however many fields: they travel as one parameter, of which a statement takes 100.
 */

/** Fields of the trace with an id. */
export interface FieldsOfTrace {
  id: string
  fields: readonly SearchableField[]
}

/** Adds fields; those that are there cost nothing. */
export const insertTraceFields = ({ database }: Store, fields: readonly FieldsOfTrace[], ofTraces: SQL | undefined) =>
  database.insert(traceFields).select(rowsOf(fields, ofTraces)).onConflictDoNothing()

/** Removes fields. */
export const deleteTraceFields = ({ database }: Store, fields: readonly FieldsOfTrace[], ofTraces: SQL | undefined) =>
  database
    .delete(traceFields)
    .where(sql`(project_key, path, value, timestamp, trace_key) in (${rowsOf(fields, ofTraces)})`)

/** The bytes that a trace's fields add to the parameter that carries them. */
export const fieldBytes = (fields: FieldsOfTrace): number => utf8Length(JSON.stringify(parameterRows([fields])))

const parameterRows = (fieldsOfTraces: readonly FieldsOfTrace[]) =>
  fieldsOfTraces.flatMap(({ id, fields }) => fields.map(({ path, value }) => [id, path, value]))

/** The rows that these fields make up, in the order of the table's columns. */
function rowsOf(fieldsOfTraces: readonly FieldsOfTrace[], ofTraces: SQL | undefined): SQL {
  const rows = parameterRows(fieldsOfTraces)
  return sql`
    select ${traces.projectKey}, field.value ->> 1, field.value ->> 2, ${traces.timestamp}, ${traces.key}
    from json_each(${JSON.stringify(rows)}) as field cross join ${traces}
    where ${traces.id} = field.value ->> 0 and ${ofTraces}`
}
