import { type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../domain/metadata.ts'
import { traceFields, traces } from './schema.ts'
import type { Store } from './store.ts'

/*
 * Statements for a batch: the searchable fields of the one trace that meets the condition `ofTrace`, which must bind the
 * organization. One statement however many fields: they travel as one parameter, of which a statement takes 100.
 */

/** Adds fields; those that are there cost nothing. */
export const insertTraceFields = ({ database }: Store, fields: readonly SearchableField[], ofTrace: SQL | undefined) =>
  database.insert(traceFields).select(rowsOf(fields, ofTrace)).onConflictDoNothing()

/** Removes fields. */
export const deleteTraceFields = ({ database }: Store, fields: readonly SearchableField[], ofTrace: SQL | undefined) =>
  database
    .delete(traceFields)
    .where(sql`(project_key, path, value, timestamp, trace_key) in (${rowsOf(fields, ofTrace)})`)

/** The rows that these fields make up, in the order of the table's columns. */
const rowsOf = (fields: readonly SearchableField[], ofTrace: SQL | undefined): SQL => sql`
  select ${traces.projectKey}, field.value ->> 0, field.value ->> 1, ${traces.timestamp}, ${traces.key}
  from ${traces}, json_each(${JSON.stringify(fields.map(({ path, value }) => [path, value]))}) as field
  where ${ofTrace}`
