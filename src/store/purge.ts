import { and, asc, eq, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import { searchableFields } from '../domain/metadata.ts'
import { PURGE_ROWS, PURGE_STEPS, RESEND_AFTER_MS } from '../limits.ts'
import { markLabellers } from './labellers.ts'
import { deleteValues } from './payloads.ts'
import { attributionJobs, attributions, feedback, isNoRoot, observations, reviews, spans, traces } from './schema.ts'
import type { Registry, Store } from './store.ts'
import { deleteTraceFields } from './trace-fields.ts'

/**
 * Takes up to `limit` deletions whose purge is due and puts each off, so that it comes again only if this time too nobody
 * finishes it, and after those that wait longer.
 */
export async function takeDuePurges({ database }: Registry, now: number, limit: number) {
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
 * Removes what hangs on a deleted trace, its row last, in bounded steps. Returns whether it is done; where not, the job
 * is sent again. Safe to run twice and at the same time: each step deletes what is still there, and of a live trace nothing.
 */
export async function purgeTrace(store: Store, traceKey: number, now: number): Promise<boolean> {
  const { database } = store
  const isTombstone = and(
    eq(traces.organizationKey, store.organization.key),
    eq(traces.key, traceKey),
    isNotNull(traces.deletedAt),
  )
  const [tombstone] = await database.select().from(traces).where(isTombstone)
  if (!tombstone) return true
  const steps = [
    () => deleteValues(store, traceKey),
    () => deleteRows(store, observations, eq(observations.traceKey, traceKey)),
    () => deleteFeedback(store, traceKey, now),
    () => deleteRows(store, reviews, eq(reviews.traceKey, traceKey), sql`trace_key, span_id, number`),
    () => deleteRows(store, attributions, eq(attributions.traceKey, traceKey), sql`trace_key, number`),
    () => deleteRows(store, spans, and(eq(spans.traceKey, traceKey), isNoRoot)),
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

/** As below, and marks the labellers whose feedback goes. */
async function deleteFeedback(store: Store, traceKey: number, now: number): Promise<boolean> {
  const { database } = store
  // Both statements must mean the same rows.
  const some = (columns: SQL) =>
    sql`(select ${columns} from ${feedback} where ${eq(feedback.traceKey, traceKey)} order by ${feedback.id} limit ${PURGE_ROWS})`
  const [, { meta }] = await database.batch([
    markLabellers(store, some(sql`user_id`), now),
    database.delete(feedback).where(sql`(id, trace_key) in ${some(sql`id, trace_key`)}`),
  ])
  return meta.changes === PURGE_ROWS
}

/** Deletes some of a trace's rows and says whether there may be more. */
async function deleteRows(
  { database }: Store,
  table: typeof observations | typeof reviews | typeof attributions | typeof spans,
  ofTrace: SQL | undefined,
  primaryKey = sql`id, trace_key`,
): Promise<boolean> {
  const { meta } = await database.run(sql`
    delete from ${table} where (${primaryKey}) in (select ${primaryKey} from ${table} where ${ofTrace} limit ${PURGE_ROWS})`)
  return meta.changes === PURGE_ROWS
}
