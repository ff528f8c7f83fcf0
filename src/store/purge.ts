import { and, asc, eq, isNotNull, lt, type SQL, sql } from 'drizzle-orm'
import { searchableFields } from '../domain/metadata.ts'
import type { Job } from '../env.ts'
import { PURGE_ROWS, PURGE_STEPS, RESEND_BATCH } from '../limits.ts'
import { deleteValues } from './payloads.ts'
import { feedback, observations, spans, traces } from './schema.ts'
import type { Registry, Store } from './store.ts'
import { deleteTraceFields } from './trace-fields.ts'

/** Deletions since before `before` whose rows are still there, as the jobs that finish them. */
export async function listUnfinishedDeletions({ database }: Registry, before: number): Promise<Job[]> {
  const rows = await database
    .select({ organizationKey: traces.organizationKey, traceKey: traces.key })
    .from(traces)
    .where(and(isNotNull(traces.deletedAt), lt(traces.deletedAt, before)))
    .orderBy(asc(traces.deletedAt))
    .limit(RESEND_BATCH)
  return rows.map(row => ({ kind: 'purge_trace', ...row }))
}

/**
 * Removes what hangs on a deleted trace, its row last, in bounded steps. Returns whether it is done; where not, the job
 * is sent again. Safe to run twice and at the same time: each step deletes what is still there, and of a live trace nothing.
 */
export async function purgeTrace(store: Store, traceKey: number): Promise<boolean> {
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
    () => deleteRows(store, feedback, eq(feedback.traceKey, traceKey)),
    () => deleteRows(store, spans, sql`${spans.traceKey} = ${traceKey} and ${spans.isRoot} = 0`),
  ]
  let stepsLeft = PURGE_STEPS
  for (const step of steps) {
    while (await step()) if (--stepsLeft === 0) return false
  }
  const { fields } = await searchableFields(tombstone.metadata)
  await database.batch([
    deleteTraceFields(store, fields, isTombstone),
    database.delete(spans).where(and(eq(spans.id, tombstone.rootSpanId), eq(spans.traceKey, traceKey))),
    database.delete(traces).where(isTombstone),
  ])
  return true
}

/** Deletes some of a trace's rows and says whether there may be more. */
async function deleteRows(
  { database }: Store,
  table: typeof observations | typeof feedback | typeof spans,
  ofTrace: SQL,
): Promise<boolean> {
  const { meta } = await database.run(sql`
    delete from ${table} where (id, trace_key) in (select id, trace_key from ${table} where ${ofTrace} limit ${PURGE_ROWS})`)
  return meta.changes === PURGE_ROWS
}
