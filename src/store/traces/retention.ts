import { and, asc, eq, gte, isNotNull, lt, sql } from 'drizzle-orm'
import { newRevision } from '../../domain/ids.ts'
import { DAY_MS, RESEND_AFTER_MS, RETENTION_PASS_MS, RETENTION_TRACES } from '../../limits.ts'
import { hasReviewedSpan } from '../core/reviewable.ts'
import type { UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { keepUse, markDays } from '../counts/output-days.ts'
import { projects } from '../schema/accounts.ts'
import { traces } from '../schema/traces.ts'

/** The progress of a pass: a project, and a position among its traces. */
interface Cursor {
  projectKey: number
  timestamp: number
  id: string
}

const START: Omit<Cursor, 'projectKey'> = { timestamp: Number.MIN_SAFE_INTEGER, id: '' }

/**
 * Continues, by one bounded step, a pass that deletes traces older than their project's `retentionDays`. If the project
 * retains traces that have a reviewed span, those stay. Returns the traces to purge, or undefined if the pass is
 * finished. Safe to run twice, because each step deletes only old traces that still exist.
 */
export async function expireTraces(
  unscoped: UnscopedStore,
  now: number,
): Promise<{ organizationKey: number; traceKey: number }[] | undefined> {
  const { database } = unscoped
  const saved = await findDuePass(unscoped, 'retention', now)
  if (saved === undefined) return undefined
  const cursor: Cursor = saved ? JSON.parse(saved) : { projectKey: 0, ...START }
  const [project] = await database
    .select({ key: projects.key, retentionDays: projects.retentionDays, retainReviewed: projects.retainReviewed })
    .from(projects)
    .where(and(isNotNull(projects.retentionDays), gte(projects.key, cursor.projectKey)))
    .orderBy(asc(projects.key))
    .limit(1)
  if (!project) {
    await savePass(unscoped, 'retention', { cursor: '', dueAt: now + RETENTION_PASS_MS })
    return undefined
  }
  const place = project.key === cursor.projectKey ? cursor : START
  const isOld = and(
    sql`${traces.deletedAt} is null`,
    eq(traces.projectKey, project.key),
    gte(traces.timestamp, place.timestamp),
    lt(traces.timestamp, now - (project.retentionDays ?? 0) * DAY_MS),
    sql`(${traces.timestamp}, ${traces.id}) > (${place.timestamp}, ${place.id})`,
  )
  const oldest = database
    .select({ key: traces.key, timestamp: traces.timestamp, id: traces.id })
    .from(traces)
    .where(isOld)
    .orderBy(asc(traces.timestamp), asc(traces.id))
    .limit(RETENTION_TRACES)
  const isExpired = and(
    sql`${traces.key} in (select oldest.key from ${oldest} as oldest)`,
    // A trace with a stale review is kept as well, because the output that the review approved is ground truth.
    project.retainReviewed ? sql`not ${hasReviewedSpan(sql`true`)}` : undefined,
  )
  const expired = sql`select ${traces.projectKey}, ${traces.timestamp} from ${traces} where ${isExpired}`
  const [scanned, , , deleted] = await database.batch([
    oldest,
    markDays(unscoped, expired, now),
    keepUse(unscoped, expired),
    database
      .update(traces)
      .set({ deletedAt: now, purgeDueAt: now + RESEND_AFTER_MS, revision: newRevision() })
      .where(isExpired)
      .returning({ organizationKey: traces.organizationKey, traceKey: traces.key }),
  ])
  const last = scanned.length === RETENTION_TRACES ? scanned.at(-1) : undefined
  const next: Cursor = last
    ? { projectKey: project.key, timestamp: last.timestamp, id: last.id }
    : { projectKey: project.key + 1, ...START }
  await savePass(unscoped, 'retention', { cursor: JSON.stringify(next), dueAt: now })
  return deleted
}
