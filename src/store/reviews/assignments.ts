import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Assignable, AssignmentChange, OpenAssignments, Sharing } from '../../domain/assignment.ts'
import { newId } from '../../domain/ids.ts'
import { type Act, recordActs } from '../accounts/audit.ts'
import type { Project } from '../accounts/projects.ts'
import { readAllShards } from '../core/across.ts'
import { assignees, toAssignments } from '../core/assignees.ts'
import { chunkRows } from '../core/chunks.ts'
import { named, readPlain } from '../core/database.ts'
import { hasBlindPolicy, policyOf } from '../core/review-policy.ts'
import { isReviewedWithOther, isUnreviewed } from '../core/reviewable.ts'
import { isOneOf, rowSet, selectFor } from '../core/rows.ts'
import { isStanding, waitsFor } from '../core/standing-votes.ts'
import type { Store } from '../core/store.ts'
import { reviewAssignments } from '../schema/review-assignments.ts'
import { votes } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLocated, locatedSpans } from '../spans/located-rows.ts'
import { isLive } from '../traces/live.ts'

/** A span that can be assigned. */
export interface AssignableSpan extends Assignable {
  id: string
  /** The number of its database. */
  shard: number
  traceKey: number
  projectKey: number
}

/** How many people need to review the current span. */
const reviewersOf = (projectKey: number | SQLWrapper): SQL<number> => policyOf(projectKey, spans.stepId).reviewers

/**
 * Finds the spans with these ids that need review, in one database. Keeps the order of the ids. Takes one round trip.
 */
export async function findAssignableSpans(
  store: Store,
  ids: readonly string[],
  project: Project | null,
): Promise<AssignableSpan[]> {
  const [rows] = await readPlain(store.database, [
    store.database
      .select({
        ...named({ id: spans.id, traceKey: spans.traceKey, projectKey: traces.projectKey }),
        reviewers: sql<number>`${reviewersOf(traces.projectKey)}`.as('reviewers'),
        assignees: assignees.as('assignees'),
        voting: sql<string | null>`iif(${spans.voteNumber} = 0 or ${store.isBlind ? hasBlindPolicy : sql`0`}, null, (
          select json_array(max(vote.reviewers), json_group_array(vote.user_id)) from ${votes} vote
          where ${isStanding}))`.as('voting'),
      })
      .from(spans)
      .crossJoin(traces)
      .where(
        and(
          isLocated(locatedSpans(store, ids)),
          eq(traces.key, spans.traceKey),
          project ? eq(traces.projectKey, project.key) : undefined,
          isUnreviewed,
          sql`not ${isReviewedWithOther}`,
        ),
      ),
  ])
  const found = new Map(
    rows.map(({ assignees, voting, reviewers, ...span }) => [
      span.id,
      { ...span, shard: store.shard, assigned: toAssignments(assignees), ...toVoting(voting, reviewers) },
    ]),
  )
  return [...new Set(ids)].flatMap(id => found.get(id) ?? [])
}

/**
 * Reads the column `voting`. A disputed span has no voters here, because it waits for an adjudicator, who could be any
 * user.
 */
function toVoting(json: string | null, policyReviewers: number): Pick<Assignable, 'reviewers' | 'voters'> {
  const [ofRound, voters]: [number | null, string[]] = json === null ? [null, []] : JSON.parse(json)
  const reviewers = ofRound ?? policyReviewers
  return { reviewers, voters: voters.length < reviewers ? voters : [] }
}

/**
 * How many open assignments each of these users has in a project, and how many of them wait for that user's vote. If a
 * blind policy hides the votes on a span from the viewer, its assignments are counted as waiting.
 */
export async function countOpenAssignments(
  store: Store,
  projectKey: number,
  userIds: readonly string[],
): Promise<Map<string, OpenAssignments>> {
  const { userId, traceKey, spanId } = reviewAssignments
  const isWaiting = sql`(${store.isBlind ? hasBlindPolicy : sql`0`} or ${waitsFor(userId)})`
  const rows = await readAllShards(store, ({ database }) =>
    database
      .select({ userId, total: sql<number>`count(*)`, waiting: sql<number>`coalesce(sum(${isWaiting}), 0)` })
      .from(reviewAssignments)
      .leftJoin(spans, and(eq(spans.id, spanId), eq(spans.traceKey, traceKey)))
      .where(
        and(
          eq(reviewAssignments.projectKey, projectKey),
          isOneOf(userId, userIds),
          sql`${reviewAssignments.isOpen} = 1`,
        ),
      )
      .groupBy(userId),
  )
  const open = new Map<string, OpenAssignments>()
  for (const { userId, total, waiting } of rows.flat()) {
    const { total: before, waiting: waitingBefore } = open.get(userId) ?? { total: 0, waiting: 0 }
    open.set(userId, { total: before + total, waiting: waitingBefore + waiting })
  }
  return open
}

const CHANGES = rowSet(['id', 'traceKey', 'spanId', 'before', 'after', 'dueAt', 'assigned'])
const { row: CHANGE } = CHANGES

/** Matches the row of `review_assignments` for the person before or after the current change. */
const assignmentOf = (person: SQL) =>
  sql`${reviewAssignments.traceKey} = ${CHANGE.traceKey} and ${reviewAssignments.spanId} = ${CHANGE.spanId}
    and ${reviewAssignments.userId} = ${person}`

const hasAssignment = (person: SQL, condition: SQL = sql`true`) =>
  sql`exists (select 1 from ${reviewAssignments} where ${assignmentOf(person)} and ${condition})`

const isNew = sql`(${CHANGE.after} is not null and ${CHANGE.after} is not ${CHANGE.before})`
const isOver = sql`(${CHANGE.before} is not null and ${CHANGE.before} is not ${CHANGE.after})`
const isLater = sql`(${CHANGE.before} = ${CHANGE.after})`

/**
 * Changes assignments and adds an audit log entry for each change. Skips a new assignment if its span has been decided
 * or assigned to someone else since it was read. Returns how many more spans each person has, and how many assignments
 * ended without a replacement.
 */
export async function saveAssignments(
  store: Store,
  act: Act,
  changes: readonly AssignmentChange<AssignableSpan>[],
): Promise<{ given: Map<string, number>; ended: number }> {
  const { database } = store
  const given = new Map<string, number>()
  const rows = changes.map(({ span, ...change }) => ({
    ...change,
    id: newId(),
    traceKey: span.traceKey,
    spanId: span.id,
    assigned: span.assigned.length,
  }))
  for (const { json } of chunkRows(rows, CHANGES.encode)) {
    const from = CHANGES.from(json)
    const record = (condition: SQL) =>
      recordActs(
        store,
        act,
        {
          id: CHANGE.id,
          projectKey: traces.projectKey.getSQL(),
          action: sql`iif(${CHANGE.after} is null, 'review.unassign', 'review.assign')`,
          targetId: CHANGE.spanId,
          beforeId: CHANGE.before,
          afterId: CHANGE.after,
        },
        sql`from ${from} cross join ${traces} where ${isLive(store, sql`${traces.key} = ${CHANGE.traceKey}`)} and ${condition}`,
      )
    const isMade = and(isNew, hasAssignment(CHANGE.after, sql`${reviewAssignments.assignedAt} = ${act.at}`)) ?? isNew
    const results = await database.batch([
      record(sql`(${CHANGE.after} is null and ${hasAssignment(CHANGE.before)}
        or ${isLater} and ${hasAssignment(CHANGE.before, sql`${reviewAssignments.dueAt} is not ${CHANGE.dueAt}`)})`),
      database
        .insert(reviewAssignments)
        .select(
          selectFor(
            reviewAssignments,
            {
              traceKey: traces.key,
              spanId: spans.id,
              userId: CHANGE.after,
              projectKey: traces.projectKey,
              dueAt: CHANGE.dueAt,
              assignedAt: act.at,
              isOpen: 1,
            },
            sql`from ${from} cross join ${traces} cross join ${spans}
              where ${isNew} and ${isLive(store, sql`${traces.key} = ${CHANGE.traceKey}`)}
                and ${spans.id} = ${CHANGE.spanId} and ${spans.traceKey} = ${traces.key} and ${isUnreviewed}
                and (${CHANGE.before} is null or ${hasAssignment(CHANGE.before)})
                and ${CHANGE.assigned} = (select count(*) from ${reviewAssignments} other
                  where other.trace_key = ${spans.traceKey} and other.span_id = ${spans.id} and other.is_open = 1)`,
          ),
        )
        .onConflictDoNothing(),
      record(isMade),
      database
        .update(reviewAssignments)
        .set({ dueAt: sql`${CHANGE.dueAt}` })
        .from(from)
        .where(sql`${isLater} and ${assignmentOf(CHANGE.before)}`),
      database.delete(reviewAssignments).where(
        sql`(${reviewAssignments.traceKey}, ${reviewAssignments.spanId}, ${reviewAssignments.userId}) in (
            select ${CHANGE.traceKey}, ${CHANGE.spanId}, ${CHANGE.before} from ${from}
            where ${isOver} and (${CHANGE.after} is null or exists (select 1 from ${reviewAssignments} other
              where other.trace_key = ${CHANGE.traceKey} and other.span_id = ${CHANGE.spanId}
                and other.user_id = ${CHANGE.after})))`,
      ),
      database
        .select({ userId: sql<string>`${CHANGE.after}`.as('userId'), count: sql<number>`count(*)`.as('count') })
        .from(from)
        .where(isMade)
        .groupBy(CHANGE.after),
    ])
    for (const { userId, count } of results[5]) given.set(userId, (given.get(userId) ?? 0) + count)
  }
  return { given, ended: changes.filter(({ after }) => after === null).length }
}

/** Whether the requested assignment would change anything for the current span. */
export function isSharable(
  { key }: Project,
  { userIds, fromUserId, replace, dueAt }: Pick<Sharing, 'userIds' | 'fromUserId' | 'replace' | 'dueAt'>,
): SQL | undefined {
  if (fromUserId !== undefined) return undefined
  const count = (condition: SQL) => sql`(select count(*) from ${reviewAssignments} own
    where own.trace_key = ${spans.traceKey} and own.span_id = ${spans.id} and own.is_open = 1 and ${condition})`
  const isOfThese = isOneOf(sql`own.user_id`, userIds)
  const staying = replace ? count(isOfThese) : count(sql`true`)
  const lacks = sql`(${staying} < ${reviewersOf(key)} and ${count(isOfThese)} < ${new Set(userIds).size})`
  const isReplaced = sql`${count(sql`not ${isOfThese}`)} > 0`
  const isMoved = sql`${count(sql`${isOfThese} and own.due_at is not ${dueAt ?? null}`)} > 0`
  return sql`(${lacks} or ${replace ? isReplaced : sql`false`} or ${dueAt === undefined ? sql`false` : isMoved})`
}
