import { and, asc, eq, gt, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm'
import { BACKFILLED_TRACES, RESEND_AFTER_MS } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import { isOneOf } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { datasetEntries, datasets } from '../schema/datasets.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { markItemsDue } from '../traces/roots.ts'

/*
 * A decision writes its items immediately. Later changes, such as another output, a root with the same text, or a
 * renamed step, can arrive in any order. They mark the trace, and cron then compares the trace's items with its spans.
 */

/**
 * Takes up to `limit` traces whose items are due and postpones each one, so that it's taken again only if its run
 * doesn't finish.
 */
export async function takeDueItems({ database }: UnscopedStore, now: number, limit: number) {
  const due = database
    .select({ key: traces.key })
    .from(traces)
    .where(and(isNotNull(traces.itemsDueAt), lte(traces.itemsDueAt, now)))
    .orderBy(asc(traces.itemsDueAt))
    .limit(limit)
  return database
    .update(traces)
    .set({ itemsDueAt: now + RESEND_AFTER_MS })
    .where(inArray(traces.key, due))
    .returning({ organizationKey: traces.organizationKey, traceKey: traces.key })
}

/**
 * Holds a trace for one run. Returns when the hold expires, or undefined if the trace isn't due or has been deleted.
 */
export async function holdDueItems(store: Store, traceKey: number, now: number): Promise<number | undefined> {
  const heldUntil = now + RESEND_AFTER_MS
  const rows = await store.database
    .update(traces)
    .set({ itemsDueAt: heldUntil })
    .where(isLive(store, eq(traces.key, traceKey), isNotNull(traces.itemsDueAt)))
    .returning({ key: traces.key })
  return rows.length > 0 ? heldUntil : undefined
}

/** Records that a trace's items are up to date, unless something has changed since the run held it. */
export async function settleDueItems({ database }: Store, traceKey: number, heldUntil: number): Promise<void> {
  await database
    .update(traces)
    .set({ itemsDueAt: null })
    .where(and(eq(traces.key, traceKey), eq(traces.itemsDueAt, heldUntil)))
}

/** An item's last entry. */
export interface LastEntry {
  projectKey: number
  stepId: string
  traceKey: number
  itemId: string
  datasetId: string
  sequence: number
  isIn: boolean
  isStale: boolean
  isSplitSet: boolean
  split: string
  reviewId: string | null
  reviewedId: string | null
  inputHash: string
  outputRevision: string
}

/**
 * A trace's reviewed spans, its root, and the last entry of each of its items. Undefined if the trace has been deleted.
 */
export async function findItems(
  store: Store,
  traceKey: number,
): Promise<{ rootSpanId: string; reviewedIds: string[]; entries: LastEntry[] } | undefined> {
  const { database } = store
  const ofTrace = isLive(store, eq(traces.key, traceKey))
  const [[trace], reviewed, entries] = await readPlain(database, [
    database
      .select({ rootSpanId: sql<string>`${traces.rootSpanId}`.as('rootSpanId') })
      .from(traces)
      .where(ofTrace),
    database
      .select({ id: sql<string>`${spans.id}`.as('id') })
      .from(spans)
      .where(and(eq(spans.traceKey, traceKey), isNotNull(spans.reviewState)))
      .orderBy(asc(spans.id)),
    database
      .select({
        projectKey: sql<number>`last.project_key`.as('projectKey'),
        stepId: sql<string>`last.step_id`.as('stepId'),
        traceKey: sql<number>`last.trace_key`.as('traceKey'),
        itemId: sql<string>`last.item_id`.as('itemId'),
        datasetId: sql<string>`${datasets.id}`.as('datasetId'),
        sequence: sql<number>`last.sequence`.as('sequence'),
        isIn: sql<number>`last.decision is not null`.as('isIn'),
        isStale: sql<number>`last.is_stale`.as('isStale'),
        isSplitSet: sql<number>`last.is_split_set`.as('isSplitSet'),
        split: sql<string>`last.split`.as('split'),
        reviewId: sql<string | null>`last.review_id`.as('reviewId'),
        reviewedId: sql<string | null>`last.reviewed_id`.as('reviewedId'),
        inputHash: sql<string>`last.input_hash`.as('inputHash'),
        outputRevision: sql<string>`last.output_revision`.as('outputRevision'),
      })
      .from(traces)
      .crossJoin(datasets)
      .crossJoin(sql`${datasetEntries} as last`)
      .where(
        and(
          ofTrace,
          eq(datasets.projectKey, traces.projectKey),
          sql`last.project_key = ${datasets.projectKey} and last.step_id = ${datasets.stepId}
            and last.trace_key = ${traceKey} and not exists (
              select 1 from ${datasetEntries} as later
              where later.project_key = last.project_key and later.step_id = last.step_id
                and later.trace_key = last.trace_key and later.item_id = last.item_id and later.sequence > last.sequence)`,
        ),
      ),
  ])
  return (
    trace && {
      rootSpanId: trace.rootSpanId,
      reviewedIds: reviewed.map(({ id }) => id),
      entries: entries.map(({ isIn, isStale, isSplitSet, ...entry }) => ({
        ...entry,
        isIn: isIn === 1,
        isStale: isStale === 1,
        isSplitSet: isSplitSet === 1,
      })),
    }
  )
}

/**
 * Marks traces that were reviewed before datasets existed. Processes a limited number of traces per minute, and does
 * nothing once all traces have been processed.
 */
export async function backfillItems(unscoped: UnscopedStore, now: number): Promise<void> {
  const { database } = unscoped
  const cursor = await findDuePass(unscoped, 'items', now)
  if (cursor === undefined) return
  const rows = await database
    .selectDistinct({ traceKey: reviews.traceKey })
    .from(reviews)
    .where(gt(reviews.traceKey, Number(cursor)))
    .orderBy(asc(reviews.traceKey))
    .limit(BACKFILLED_TRACES)
  const keys = rows.map(({ traceKey }) => traceKey)
  if (keys.length > 0) {
    await markItemsDue(unscoped, and(isNull(traces.deletedAt), isOneOf(traces.key, keys)), now)
  }
  const isDone = keys.length < BACKFILLED_TRACES
  await savePass(unscoped, 'items', { cursor: String(keys.at(-1) ?? 0), dueAt: isDone ? NEVER : now })
}

const NEVER = Number.MAX_SAFE_INTEGER
