import { type SQL, sql } from 'drizzle-orm'
import { reviewAssignments } from '../schema/review-assignments.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isReviewed } from './reviewable.ts'
import type { Store } from './store.ts'

/*
 * Assignments say who should review a span. They end with the decision, and reopen if the output changes or the
 * decision is withdrawn.
 */

/** The user that spans are assigned to, or null for spans that are assigned to nobody. */
export type Assignee = string | null

/** A person that a span is assigned to. */
export interface Assignment {
  userId: string
  /** Milliseconds since 1970, or null if there's no due date. */
  dueAt: number | null
}

/** Whether the current span is assigned to a user or, if `assignee` is null, to nobody. */
export const isAssignedTo = (assignee: Assignee): SQL => {
  const own = sql`select 1 from ${reviewAssignments} assigned
    where assigned.trace_key = ${spans.traceKey} and assigned.span_id = ${spans.id} and assigned.is_open = 1`
  return assignee === null ? sql`not exists (${own})` : sql`exists (${own} and assigned.user_id = ${assignee})`
}

/**
 * The traces with a user's open assignments, under the alias `assigned`, each with the time when the first of them is
 * due. Start a query from these traces, because a user has few assignments compared with the traces in a project.
 */
export const assignedTraces = (projectKey: number, userId: string): SQL => sql`(
  select open.trace_key, min(coalesce(open.due_at, ${Number.MAX_SAFE_INTEGER})) as due_at from ${reviewAssignments} open
  where open.project_key = ${projectKey} and open.user_id = ${userId} and open.is_open = 1
  group by open.trace_key) as assigned`

/** The columns of `assignedTraces`. */
export const ASSIGNED = { traceKey: sql`assigned.trace_key`, dueAt: sql`assigned.due_at` }

const ofSpan = sql<string | null>`iif(${isReviewed} or not exists (
  select 1 from ${reviewAssignments} any_assigned where any_assigned.trace_key > 0), null, (
  select json_group_array(json_array(listed.user_id, listed.due_at)) from (
    select user_id, due_at from ${reviewAssignments} assigned
    where assigned.trace_key = ${spans.traceKey} and assigned.span_id = ${spans.id} and assigned.is_open = 1
    order by assigned.assigned_at, assigned.user_id) listed))`

/**
 * The people that the current span is assigned to, in the order of their assignments, for `toAssignments`. As long as
 * nothing is assigned, no row is looked up. The query is nested, because drizzle drops the table's name from columns in
 * a selection of one table.
 */
export const assignees = sql<string | null>`${ofSpan}`

/** Reads the column `assignees`. */
export function toAssignments(json: string | null): Assignment[] {
  const rows: [userId: string, dueAt: number | null][] = json === null ? [] : JSON.parse(json)
  return rows.map(([userId, dueAt]) => ({ userId, dueAt }))
}

/** Ends the assignments of spans that are decided, and reopens those of spans that are no longer decided. */
export function refreshAssignments({ database }: Pick<Store, 'database'>, ofTraces: SQL | undefined) {
  const isOpen = sql`(select not ${isReviewed} from ${spans}
    where ${spans.id} = ${reviewAssignments.spanId} and ${spans.traceKey} = ${reviewAssignments.traceKey})`
  return database
    .update(reviewAssignments)
    .set({ isOpen })
    .where(
      sql`${reviewAssignments.traceKey} in (select ${traces.key} from ${traces} where ${ofTraces ?? sql`true`})
        and ${reviewAssignments.isOpen} <> ${isOpen}`,
    )
}
