import { type SQL, sql } from 'drizzle-orm'
import type { SearchableField } from '../../domain/metadata.ts'
import { utf8Length } from '../../domain/text.ts'
import { rowSet, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { traceFields, traces } from '../schema/traces.ts'

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
export const fieldBytes = (fields: FieldsOfTrace): number => utf8Length(encode([fields]))

const FIELDS = rowSet(['traceUuid', 'path', 'value'])

const row = FIELDS.rowOf('field')

const encode = (fieldsOfTraces: readonly FieldsOfTrace[]): string =>
  FIELDS.encodeAll(
    fieldsOfTraces.flatMap(({ id, fields }) => fields.map(({ path, value }) => ({ traceUuid: id, path, value }))),
  )

/** The rows that these fields make up. */
const rowsOf = (fields: readonly FieldsOfTrace[], ofTraces: SQL | undefined): SQL =>
  selectFor(
    traceFields,
    { ...row, projectKey: traces.projectKey, timestamp: traces.timestamp, traceKey: traces.key },
    // `ofTraces` may read rows of its own.
    sql`from ${FIELDS.from(encode(fields), 'field')} cross join ${traces} where ${traces.id} = ${row.traceUuid} and ${ofTraces}`,
  )
