import { type SQL, sql } from 'drizzle-orm'
import { hasExistingProject } from '../accounts/projects.ts'
import type { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import type { Bound } from './live.ts'

/**
 * Whether another live trace in the organization has a span or feedback with this id. `which` limits the check to rows
 * that meet this condition on `elsewhere`.
 */
export const isOnOtherTrace = (
  bound: Bound,
  table: typeof spans | typeof feedback,
  { id, traceUuid, which = sql`true` }: { id: SQL; traceUuid: SQL; which?: SQL },
): SQL => sql`exists (
  select 1 from ${table} elsewhere inner join ${traces} other on other.key = elsewhere.trace_key
  where elsewhere.id = ${id} and other.organization_key = ${bound.organization.key} and other.deleted_at is null
    and ${hasExistingProject(bound, sql`other.project_key`)} and other.id <> ${traceUuid} and ${which})`

/**
 * Whether a span id that the current trace refers to belongs to another trace. False for an id that doesn't exist yet.
 * Ids of roots and of telemetry spans can be computed, so another trace may use them before those spans exist. A
 * derived id belongs to the trace that it was derived for. Any other id belongs to the current trace if it has the
 * span.
 */
export const belongsToOtherTrace = (bound: Bound, spanId: SQL): SQL => sql`(${spanId} is not null
  and ${spanId} <> ${traces.rootSpanId} and ${isOnOtherTrace(bound, spans, {
    id: spanId,
    traceUuid: sql`${traces.id}`,
    which: sql`(elsewhere.is_root = 1 or elsewhere.export_revision is not null
      or not exists (select 1 from ${spans} own where own.id = ${spanId} and own.trace_key = ${traces.key}))`,
  })})`

/**
 * The span that a row of feedback or observations refers to, if it exists yet. Column names include their tables,
 * because drizzle drops the table's name from some selections.
 */
export const joinedSpanId = (table: 'feedback' | 'observations'): SQL<string | null> => {
  const row = sql.raw(table)
  return sql`(select joined.id from ${spans} joined where joined.id = ${row}.span_id and joined.trace_key = ${row}.trace_key)`
}
