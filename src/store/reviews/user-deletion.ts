import { and, asc, eq, getTableColumns, gt, gte, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm'
import {
  DELETION_EXPERIMENTS,
  DELETION_ROWS,
  DELETION_SETTLE_MS,
  DELETION_TRACES,
  RESEND_AFTER_MS,
} from '../../limits.ts'
import { releaseViews } from '../accounts/saved-views.ts'
import { revokeUserKeys } from '../accounts/users.ts'
import { selectFor, valuesOf } from '../core/rows.ts'
import { mayHaveTraces, type Store, type UnscopedStore } from '../core/store.ts'
import { ADD_COUNTS } from '../counts/review-days.ts'
import { auditLog, projects, userDeletions } from '../schema/accounts.ts'
import { reviewDays } from '../schema/counts.ts'
import { datasetEntries, datasets } from '../schema/datasets.ts'
import { experimentResults, experiments } from '../schema/experiments.ts'
import { problems } from '../schema/problems.ts'
import { reviewAssignments } from '../schema/review-assignments.ts'
import { feedback, reviewClaims, reviews, suggestions, votes } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'
import { unpurgedTraces } from '../traces/live.ts'
import { countWithin } from '../traces/payloads.ts'
import { type TracePlace, WALK_START, walkTraces } from '../traces/trace-walk.ts'
import { renameInEvents } from '../webhooks/cleanup.ts'

/*
 * A deleted user's records stay, under a random id that can't be traced back to the user. An index of records by user
 * would cost a write for every piece of feedback. Instead, a job walks the organization in bounded pieces, and walks it
 * again once no isolate can still have one of the user's keys cached. Claims in the rows of spans expire on their own.
 * The job deletes the user's other claims and assignments. A pass goes through one database after another, and its
 * progress is stored in `user_deletions` in the control database.
 */

/** A deletion in progress: not all of the user's records have the new id yet. */
type Deletion = typeof userDeletions.$inferSelect

/** The progress of a pass: a database, and a place in it. */
type Progress = Place & {
  /** The database's number. A missing number means 0. */
  shard?: number
}

type Place =
  | { stage: 'traces'; at: TracePlace }
  | { stage: 'days'; at: { projectKey: number; day: number } }
  | { stage: 'experiments'; at: { projectKey: number; key: number } }
  | { stage: 'events'; at: { projectKey: number | null; after: number } }
  | { stage: 'audit'; at: { createdAt: number; id: string } }

/** Claims up to `limit` due deletions by postponing each, so that it's picked up again only if nobody finishes it. */
export async function takeDueDeletions({ database }: UnscopedStore, now: number, limit: number) {
  const due = database
    .select({ userId: userDeletions.userId })
    .from(userDeletions)
    .where(lte(userDeletions.dueAt, now))
    .orderBy(asc(userDeletions.dueAt))
    .limit(limit)
  return database
    .update(userDeletions)
    .set({ dueAt: now + RESEND_AFTER_MS })
    .where(and(lte(userDeletions.dueAt, now), inArray(userDeletions.userId, due)))
    .returning({ organizationKey: userDeletions.organizationKey, userId: userDeletions.userId })
}

/**
 * Continues a deletion by one bounded piece. Returns whether there is more to do now. Safe to run twice or
 * concurrently, because a finished piece has nothing left to change.
 */
export async function continueDeletion(store: Store, userId: string, now: number): Promise<boolean> {
  const { organization, control } = store
  const { database } = control
  const isDeletion = and(eq(userDeletions.organizationKey, organization.key), eq(userDeletions.userId, userId))
  const [deletion] = await database.select().from(userDeletions).where(isDeletion)
  if (!deletion || now < deletion.passStartedAt) return false
  const place: Progress = deletion.cursor === '' ? START : JSON.parse(deletion.cursor)
  if (deletion.cursor === '') await revokeUserKeys(control, deletion, now)
  const next = await continuePass(store, deletion, place)
  if (next) {
    await database
      .update(userDeletions)
      .set({ cursor: JSON.stringify(next), dueAt: now + RESEND_AFTER_MS })
      .where(isDeletion)
    return true
  }
  const settledAt = deletion.deletedAt + DELETION_SETTLE_MS
  if (deletion.passStartedAt < settledAt) {
    await database
      .update(userDeletions)
      .set({ cursor: '', passStartedAt: settledAt, dueAt: settledAt })
      .where(isDeletion)
  } else await database.delete(userDeletions).where(isDeletion)
  return false
}

const START: Progress = { stage: 'traces', at: WALK_START }

/** Moves the records at a place to their new id. Returns the next place, or null at the end of the pass. */
async function continuePass(
  store: Store,
  deletion: Deletion,
  { shard = 0, ...place }: Progress,
): Promise<Progress | null> {
  const next = await renamePiece(store.in(shard), deletion, place)
  if (next) return { ...next, ...(shard > 0 && { shard }) }
  const later = store.databases.map(each => each.shard).filter(each => each > shard)
  return later.length === 0 ? null : { ...START, shard: Math.min(...later) }
}

function renamePiece(store: Store, deletion: Deletion, place: Place): Promise<Place | null> {
  switch (place.stage) {
    case 'traces':
      return renameInTraces(store, deletion, place.at)
    case 'days':
      return renameInDays(store, deletion, place.at)
    case 'experiments':
      return renameInExperiments(store, deletion, place.at)
    case 'events':
      return renameInProjectEvents(store, deletion, place.at)
    case 'audit':
      return renameInAuditLog(store, deletion, place.at)
  }
}

async function renameInTraces(store: Store, { userId, newId }: Deletion, at: TracePlace): Promise<Place | null> {
  const { database } = store
  if (!mayHaveTraces(store)) return DAYS_START
  const { keys, next } = await walkTraces(store, at, DELETION_TRACES)
  const ofKeys = valuesOf(keys)
  if (keys.length > 0) {
    await database.batch([
      database
        .update(feedback)
        .set({ userId: newId, labeller: null })
        .where(and(sql`${feedback.traceKey} in ${ofKeys}`, eq(feedback.userId, userId))),
      database
        .update(reviews)
        .set({ userId: newId })
        .where(and(sql`${reviews.traceKey} in ${ofKeys}`, eq(reviews.userId, userId))),
      database
        .update(suggestions)
        .set({ userId: newId })
        .where(and(sql`${suggestions.traceKey} in ${ofKeys}`, eq(suggestions.userId, userId))),
      database
        .update(votes)
        .set({ userId: newId })
        .where(and(sql`${votes.traceKey} in ${ofKeys}`, eq(votes.userId, userId))),
      database
        .delete(reviewClaims)
        .where(and(sql`${reviewClaims.traceKey} in ${ofKeys}`, eq(reviewClaims.userId, userId))),
      database
        .delete(reviewAssignments)
        .where(and(sql`${reviewAssignments.traceKey} in ${ofKeys}`, eq(reviewAssignments.userId, userId))),
      renameInDatasets(
        store,
        { userId, newId },
        sql`${traces} cross join ${datasets} cross join ${datasetEntries} as entry
          where ${traces.key} in ${ofKeys} and ${datasets.projectKey} = ${traces.projectKey}`,
        sql`${traces.key}`,
      ),
    ])
  }
  if (next) return { stage: 'traces', at: next }
  // Decisions on deleted traces are still counted until the traces are purged.
  await database
    .update(reviews)
    .set({ userId: newId })
    .where(
      and(sql`${reviews.traceKey} in (select unpurged.key from ${unpurgedTraces(store)})`, eq(reviews.userId, userId)),
    )
  return DAYS_START
}

const DAYS_START: Place = { stage: 'days', at: { projectKey: 0, day: 0 } }

/**
 * Gives the new id to the dataset entries of some traces or of imported examples. `from` joins `datasets` and `entry`.
 */
const renameInDatasets = (
  { database, organization }: Store,
  { userId, newId }: Pick<Deletion, 'userId' | 'newId'>,
  from: SQL,
  traceKey: SQL,
) =>
  database
    .update(datasetEntries)
    .set({ userId: newId })
    .where(
      sql`(project_key, step_id, trace_key, item_id, sequence) in (
        select entry.project_key, entry.step_id, entry.trace_key, entry.item_id, entry.sequence
        from ${from} and ${datasets.organizationKey} = ${organization.key}
          and entry.project_key = ${datasets.projectKey} and entry.step_id = ${datasets.stepId}
          and entry.trace_key = ${traceKey} and entry.user_id = ${userId})`,
    )

/**
 * Moves the counts of decisions to the new id, so insights still show the same work, but as a deleted user's. Does the
 * same for the project's other records that don't belong to a trace or an experiment.
 */
async function renameInDays(
  store: Store,
  { userId, newId }: Deletion,
  at: { projectKey: number; day: number },
): Promise<Place | null> {
  const { database, control } = store
  const project = await nextProject(store, at.projectKey)
  if (!project) {
    return store === control
      ? { stage: 'experiments', at: { projectKey: 0, key: 0 } }
      : { stage: 'events', at: { projectKey: 0, after: 0 } }
  }
  const firstDay = project.key === at.projectKey ? at.day : 0
  const lastDay = mayHaveTraces(store) ? await lastDayOf(store, project.key, firstDay) : undefined
  const isOld = and(
    eq(reviewDays.projectKey, project.key),
    gte(reviewDays.day, firstDay),
    lastDay === undefined ? undefined : lte(reviewDays.day, lastDay),
    eq(reviewDays.userId, userId),
  )
  if (store === control) {
    await database.batch([
      database
        .update(problems)
        .set({ assigneeId: null })
        .where(and(eq(problems.projectKey, project.key), eq(problems.assigneeId, userId))),
      ...releaseViews(store, { projectKey: project.key, ownerId: userId, newId }),
    ])
  }
  const items = renameInDatasets(
    store,
    { userId, newId },
    sql`${datasets} cross join ${datasetEntries} as entry where ${datasets.projectKey} = ${project.key}`,
    sql`0`,
  )
  // These statements aren't in a batch with those above, because their rows may be in another database.
  if (mayHaveTraces(store)) {
    await database.batch([
      items,
      database
        .insert(reviewDays)
        .select(
          selectFor(
            reviewDays,
            { ...getTableColumns(reviewDays), userId: newId },
            sql`from ${reviewDays} where ${isOld}`,
          ),
        )
        .onConflictDoUpdate(ADD_COUNTS),
      database.delete(reviewDays).where(isOld),
    ])
  } else await items
  const next =
    lastDay === undefined ? { projectKey: project.key + 1, day: 0 } : { projectKey: project.key, day: lastDay + 1 }
  return { stage: 'days', at: next }
}

/** The last day of a piece of a project's counts. Undefined if the piece reaches the end of the counts. */
async function lastDayOf({ database }: Store, projectKey: number, firstDay: number): Promise<number | undefined> {
  const [beyond] = await database
    .select({ day: reviewDays.day })
    .from(reviewDays)
    .where(and(eq(reviewDays.projectKey, projectKey), gte(reviewDays.day, firstDay)))
    .orderBy(asc(reviewDays.day))
    .limit(1)
    .offset(DELETION_ROWS)
  // A day isn't split, even if it has more rows than a piece should have.
  return beyond && beyond.day > firstDay ? beyond.day - 1 : beyond?.day
}

/** The organization's first project whose key is at least `projectKey`. */
async function nextProject(
  { database, organization }: Store,
  projectKey: number,
): Promise<{ key: number } | undefined> {
  const [project] = await database
    .select({ key: projects.key })
    .from(projects)
    .where(
      and(eq(projects.organizationKey, organization.key), isNull(projects.deletedAt), gte(projects.key, projectKey)),
    )
    .orderBy(asc(projects.key))
    .limit(1)
  return project
}

/** Moves experiments, and decisions on their results, to the new id. */
async function renameInExperiments(
  store: Store,
  { userId, newId }: Deletion,
  at: { projectKey: number; key: number },
): Promise<Place | null> {
  const { database } = store
  const project = await nextProject(store, at.projectKey)
  if (!project) return { stage: 'events', at: { projectKey: 0, after: 0 } }
  const found = await database
    .select({ key: experiments.key, results: experiments.results })
    .from(experiments)
    .where(
      and(eq(experiments.projectKey, project.key), gt(experiments.key, project.key === at.projectKey ? at.key : 0)),
    )
    .orderBy(asc(experiments.key))
    .limit(DELETION_EXPERIMENTS)
  const piece = found.slice(
    0,
    countWithin(
      found.map(({ results }) => results),
      DELETION_ROWS,
    ),
  )
  const last = piece.at(-1)
  if (!last) return { stage: 'experiments', at: { projectKey: project.key + 1, key: 0 } }
  const keys = valuesOf(piece.map(({ key }) => key))
  await database.batch([
    database
      .update(experiments)
      .set({ userId: newId })
      .where(and(sql`${experiments.key} in ${keys}`, eq(experiments.userId, userId))),
    database
      .update(experimentResults)
      .set({ reviewedBy: newId })
      .where(and(sql`${experimentResults.experimentKey} in ${keys}`, eq(experimentResults.reviewedBy, userId))),
  ])
  return { stage: 'experiments', at: { projectKey: project.key, key: last.key } }
}

/**
 * Moves webhooks' events to the new id: first the events in each project, then those that don't belong to a project.
 */
async function renameInProjectEvents(
  store: Store,
  deletion: Deletion,
  at: { projectKey: number | null; after: number },
): Promise<Place | null> {
  const projectKey = at.projectKey === null ? null : ((await nextProject(store, at.projectKey))?.key ?? null)
  const after = projectKey === at.projectKey ? at.after : 0
  const last = await renameInEvents(store, deletion, { projectKey, after })
  if (last !== null) return { stage: 'events', at: { projectKey, after: last } }
  if (projectKey !== null) return { stage: 'events', at: { projectKey: projectKey + 1, after: 0 } }
  return { stage: 'audit', at: { createdAt: 0, id: '' } }
}

async function renameInAuditLog(
  { database, organization }: Store,
  { userId, newId }: Deletion,
  at: { createdAt: number; id: string },
): Promise<Place | null> {
  const isAfter = and(
    eq(auditLog.organizationKey, organization.key),
    gte(auditLog.createdAt, at.createdAt),
    sql`(${auditLog.createdAt}, ${auditLog.id}) > (${at.createdAt}, ${at.id})`,
  )
  const [last] = await database
    .select({ createdAt: auditLog.createdAt, id: auditLog.id })
    .from(auditLog)
    .where(isAfter)
    .orderBy(asc(auditLog.createdAt), asc(auditLog.id))
    .limit(1)
    .offset(DELETION_ROWS - 1)
  const columns = [auditLog.userId, auditLog.targetId, auditLog.beforeId, auditLog.afterId] as const
  const renamed = (column: (typeof columns)[number]): SQL => sql`iif(${column} = ${userId}, ${newId}, ${column})`
  const [actor, target, before, after] = columns
  await database
    .update(auditLog)
    .set({ userId: renamed(actor), targetId: renamed(target), beforeId: renamed(before), afterId: renamed(after) })
    .where(
      and(
        isAfter,
        last && lte(auditLog.createdAt, last.createdAt),
        last && sql`(${auditLog.createdAt}, ${auditLog.id}) <= (${last.createdAt}, ${last.id})`,
        sql`${userId} in (${sql.join([...columns], sql`, `)})`,
      ),
    )
  return last ? { stage: 'audit', at: last } : null
}
