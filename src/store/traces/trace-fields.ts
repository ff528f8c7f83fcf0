import { type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../../domain/metadata.ts'
import { utf8Length } from '../../domain/text.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { traceFields, traces } from '../schema/traces.ts'

/*
 * Statements that write the searchable fields of traces, to run in a batch. The condition `ofTraces` must bind the
 * organization. All fields are sent as one parameter, because a statement can have at most 100 parameters.
 */

/** The fields of the trace with this id. */
export interface FieldsOfTrace {
  id: string
  fields: readonly SearchableField[]
}

/** Adds fields. Doesn't write fields that already exist. */
export const insertTraceFields = ({ database }: Store, fields: readonly FieldsOfTrace[], ofTraces: SQL | undefined) =>
  database.insert(traceFields).select(rowsOf(fields, ofTraces)).onConflictDoNothing()

export const deleteTraceFields = ({ database }: Store, fields: readonly FieldsOfTrace[], ofTraces: SQL | undefined) =>
  database
    .delete(traceFields)
    .where(sql`(project_key, path, value, timestamp, trace_key) in (${rowsOf(fields, ofTraces)})`)

/** The number of bytes that a trace's fields add to the parameter. */
export const fieldBytes = (fields: FieldsOfTrace): number => utf8Length(encode([fields]))

const FIELDS = rowSet(['traceUuid', 'path', 'value'])

const row = FIELDS.rowOf('field')

const encode = (fieldsOfTraces: readonly FieldsOfTrace[]): string =>
  FIELDS.encodeAll(
    fieldsOfTraces.flatMap(({ id, fields }) => fields.map(({ path, value }) => ({ traceUuid: id, path, value }))),
  )

/** The rows for these fields. */
const rowsOf = (fields: readonly FieldsOfTrace[], ofTraces: SQL | undefined): SQL =>
  selectFor(
    traceFields,
    { ...row, projectKey: traces.projectKey, timestamp: traces.timestamp, traceKey: traces.key },
    // A cross join fixes the order of the tables, because `ofTraces` may contain subqueries.
    sql`from ${FIELDS.from(encode(fields), 'field')} cross join ${traces} where ${traces.id} = ${row.traceUuid} and ${ofTraces}`,
  )
