import { and, asc, eq, getTableName, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { searchableFields } from '../../domain/metadata.ts'
import { PURGE_ROWS, PURGE_STEPS, RESEND_AFTER_MS } from '../../limits.ts'
import { markLabelers } from '../accounts/labelers.ts'
import { isOneOf, valuesOf } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { deleteCases } from '../counts/problem-cases.ts'
import { countExpired, expireAnswers, subtractAnswers, subtractDecisions } from '../counts/review-days.ts'
import { projects } from '../schema/accounts.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { reviewAssignments } from '../schema/review-assignments.ts'
import { disputes, feedback, reviewClaims, reviews, suggestions, votes } from '../schema/reviews.ts'
import { isNotRoot, observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { deleteEvents } from '../webhooks/cleanup.ts'
import { deleteValues } from './payloads.ts'
import { deleteItems } from './purged-items.ts'
import { deleteResults } from './purged-results.ts'
import { deleteSuggestionExamples } from './purged-suggestions.ts'
import { deleteTraceFields } from './trace-fields.ts'

/**
 * Takes up to `limit` deleted traces whose purge is due. Postpones each purge, so that a trace is taken again only if
 * nobody finishes its purge, and only after traces that have waited longer.
 */
export async function takeDuePurges({ database }: UnscopedStore, now: number, limit: number) {
  const due = database
    .select({ key: traces.key })
    .from(traces)
    .where(and(isNotNull(traces.purgeDueAt), lte(traces.purgeDueAt, now)))
    .orderBy(asc(traces.purgeDueAt))
    .limit(limit)
  return database
    .update(traces)
    .set({ purgeDueAt: now + RESEND_AFTER_MS })
    .where(inArray(traces.key, due))
    .returning({ organizationKey: traces.organizationKey, traceKey: traces.key })
}

/**
 * In bounded steps, deletes everything that belongs to a deleted trace, and then the trace's row. Returns whether the
 * purge is done. If not, the job is sent again. Safe to run twice or concurrently, because each step deletes only data
 * that still exists, and never data of a live trace.
 */
export async function purgeTrace(store: Store, traceKey: number, now: number): Promise<boolean> {
  const { database } = store
  const isTombstone = and(
    eq(traces.organizationKey, store.organization.key),
    eq(traces.key, traceKey),
    isNotNull(traces.deletedAt),
  )
  const [tombstone] = await database
    .select({
      id: traces.id,
      projectKey: traces.projectKey,
      rootSpanId: traces.rootSpanId,
      metadata: traces.metadata,
      isUncounted: traces.isUncounted,
      // A deleted project's counts are gone, and an update would create them again.
      isCounted: sql<number>`exists (
        select 1 from ${projects} where ${projects.key} = ${traces.projectKey} and ${projects.deletedAt} is null)`,
    })
    .from(traces)
    .where(isTombstone)
  if (!tombstone) return true
  const isCounted = tombstone.isCounted === 1
  const isUncounted = isCounted && tombstone.isUncounted
  const [updateDecisions, updateAnswers] = isUncounted
    ? [subtractDecisions, subtractAnswers]
    : [countExpired, expireAnswers]
  const deleteSome = (table: PurgedTable, ...more: [updateCounts?: UpdateCounts]) =>
    deleteRows(store, table, eq(table.traceKey, traceKey), ...more)
  const { projectKey } = tombstone
  const steps = [
    () => deleteCases(store, traceKey, isUncounted ? 'subtract' : isCounted ? 'expire' : 'keep'),
    () => deleteItems(store, { projectKey, traceKey }),
    // Reviews and answers come early, so that the counts are soon correct. The spans and the job come last, because
    // they determine which decisions and answers count.
    () => deleteSome(reviews, isCounted ? updateDecisions : undefined),
    () => deleteSome(attributions, isCounted ? updateAnswers : undefined),
    () => deleteResults(store.control, traceKey),
    () => deleteSuggestionExamples(store.control, traceKey),
    () => deleteEvents(store, sql`trace_key = ${traceKey}`),
    () => deleteValues(store, traceKey),
    () => deleteSome(observations),
    () => deleteSome(suggestions),
    () => deleteSome(votes),
    () => deleteSome(disputes),
    () => deleteSome(reviewClaims),
    () => deleteSome(reviewAssignments),
    () => deleteFeedback(store, traceKey, now),
    () => deleteRows(store, spans, and(eq(spans.traceKey, traceKey), isNotRoot)),
  ]
  let stepsLeft = PURGE_STEPS
  for (const step of steps) {
    while (await step()) {
      if (--stepsLeft > 0) continue
      await database
        .update(traces)
        .set({ purgeDueAt: now + RESEND_AFTER_MS })
        .where(isTombstone)
      return false
    }
  }
  const fields = await searchableFields(tombstone.metadata)
  await database.batch([
    deleteTraceFields(store, [{ id: tombstone.id, fields }], isTombstone),
    database.delete(spans).where(and(eq(spans.id, tombstone.rootSpanId), eq(spans.traceKey, traceKey))),
    database.delete(attributionJobs).where(eq(attributionJobs.traceKey, traceKey)),
    database.delete(traces).where(isTombstone),
  ])
  return true
}

/** Deletes some of a trace's feedback and marks its labelers. Returns whether there may be more. */
async function deleteFeedback(store: Store, traceKey: number, now: number): Promise<boolean> {
  const { database } = store
  const some = await database
    .select({ id: feedback.id, userId: feedback.userId })
    .from(feedback)
    .where(eq(feedback.traceKey, traceKey))
    .orderBy(asc(feedback.id))
    .limit(PURGE_ROWS)
  if (some.length === 0) return false
  const userIds = [...new Set(some.map(({ userId }) => userId))]
  // Not in a batch, because users and feedback may be in different databases.
  await markLabelers(store.control, valuesOf(userIds), now)
  await database.delete(feedback).where(
    and(
      eq(feedback.traceKey, traceKey),
      isOneOf(
        feedback.id,
        some.map(({ id }) => id),
      ),
    ),
  )
  return some.length === PURGE_ROWS
}

/** The columns of each table's primary key, except for the trace's key. */
const PRIMARY_KEYS: Record<PurgedTable['_']['name'], readonly SQLiteColumn[]> = {
  observations: [observations.id],
  reviews: [reviews.spanId, reviews.number],
  attributions: [attributions.number],
  suggestions: [suggestions.spanId, suggestions.userId],
  votes: [votes.spanId, votes.round, votes.outputRevision, votes.userId],
  disputes: [disputes.spanId],
  review_claims: [reviewClaims.spanId, reviewClaims.userId],
  review_assignments: [reviewAssignments.spanId, reviewAssignments.userId],
  spans: [spans.id],
}

type PurgedTable =
  | typeof observations
  | typeof reviews
  | typeof suggestions
  | typeof votes
  | typeof disputes
  | typeof reviewClaims
  | typeof reviewAssignments
  | typeof attributions
  | typeof spans

/** Builds the statement that updates the counts for the rows that a condition selects. */
type UpdateCounts = typeof subtractDecisions | typeof subtractAnswers

/**
 * Deletes some of a trace's rows and returns whether there may be more. The counts are updated in the same batch, so
 * each row changes them once, no matter how often a step runs.
 */
async function deleteRows(
  store: Store,
  table: PurgedTable,
  ofTrace: SQL | undefined,
  updateCounts?: UpdateCounts,
): Promise<boolean> {
  const { database } = store
  const primaryKey = sql.join([table.traceKey, ...PRIMARY_KEYS[getTableName(table)]], sql`, `)
  const isPiece = sql`(${primaryKey}) in (
    select ${primaryKey} from ${table} where ${ofTrace} order by ${primaryKey} limit ${PURGE_ROWS})`
  const deletion = database.delete(table).where(isPiece)
  if (!updateCounts) return (await deletion).meta.changes === PURGE_ROWS
  const [, { meta }] = await database.batch([updateCounts(store, isPiece), deletion])
  return meta.changes === PURGE_ROWS
}
