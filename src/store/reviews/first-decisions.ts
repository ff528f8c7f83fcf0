import { type SQL, sql } from 'drizzle-orm'
import { type Acceptance, MAX_WATCHED } from '../../domain/watch.ts'
import { reviews } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'

/** Which first decisions on a version's outputs to read. */
export interface FirstDecisions {
  versionId: SQL | string
  projectKey: SQL | number
  /** Inclusive. */
  from?: SQL | number | undefined
  to?: SQL | number | undefined
  /** Which decisions to read if there are more than `limit`. */
  order: 'oldest' | 'newest'
  /** Default: the number that a watch counts. */
  limit?: number | undefined
  /** The last decision to read, if some of the decisions are in other databases. */
  last?: DecisionPlace | undefined
}

/** A decision's position in the sort order. */
export type DecisionPlace = readonly [createdAt: number, traceKey: number, spanId: string]

/** The decisions that a watch counts on one version, with the counts at the time of its look. */
export interface WatchedDecisions extends FirstDecisions {
  versionId: string
  counted: Acceptance
}

/**
 * A subquery for people's first decisions on spans that used a version, in order. Imported decisions don't count, and
 * neither do those that the span's next decision resets.
 */
export function firstDecisions({
  versionId,
  projectKey,
  from,
  to,
  order,
  limit = MAX_WATCHED,
  last,
}: FirstDecisions): SQL {
  const direction = sql.raw(order === 'oldest' ? 'asc' : 'desc')
  return sql`(
    select decided.trace_key, decided.span_id, decided.number, decided.created_at, decided.state, decided.error_type
    from ${reviews} as decided
    where decided.prompt_version_id = ${versionId} and ${mayCount('decided')} and decided.prompt_version_id <> ''
      and decided.project_key = ${projectKey}
      ${from === undefined ? sql`` : sql`and decided.created_at >= ${from}`}
      ${to === undefined ? sql`` : sql`and decided.created_at <= ${to}`}
      ${last === undefined ? sql`` : sql`and (decided.created_at, decided.trace_key, decided.span_id) ${sql.raw(order === 'oldest' ? '<=' : '>=')} (${sql.join([...last], sql`, `)})`}
      and not exists (
        select 1 from ${reviews} as earlier
        where earlier.trace_key = decided.trace_key and earlier.span_id = decided.span_id
          and earlier.number < decided.number and ${mayCount('earlier')} and not ${isUndone('earlier')})
      and not ${isUndone('decided')}
      and exists (select 1 from ${traces} as own where own.key = decided.trace_key and own.deleted_at is null)
    order by decided.created_at ${direction}, decided.trace_key ${direction}, decided.span_id ${direction}
    limit ${sql.raw(String(limit))})`
}

/** Must literally match the condition of the index `reviews_by_version`. */
const mayCount = (alias: 'decided' | 'earlier'): SQL => {
  const review = sql.raw(alias)
  return sql`${review}.state is not null and ${review}.imported_at is null`
}

/** Whether the span's next decision resets this one. */
const isUndone = (alias: 'decided' | 'earlier'): SQL => {
  const review = sql.raw(alias)
  return sql`exists (
    select 1 from ${reviews} as following
    where following.trace_key = ${review}.trace_key and following.span_id = ${review}.span_id
      and following.number = ${review}.number + 1 and following.decision = 'reset')`
}
