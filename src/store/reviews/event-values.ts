import { and, eq } from 'drizzle-orm'
import type { JsonObject } from '../../domain/json.ts'
import type { Store } from '../core/store.ts'
import { feedback, reviews } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'
import { isLive } from '../traces/live.ts'
import { type FoundValue, readUntilWhole, type ShownValue, showValues } from '../traces/payloads.ts'

/** The output that a decision approved, and the reviewer's comment. */
interface ReviewValues {
  /** Only a preview if the output is too large. Undefined if the decision approved no output. */
  approved: ShownValue | undefined
  comment: string | null
}

/** Reads a decision on a live trace's span. */
export const readReviewValues = (
  store: Store,
  { traceKey, spanId, reviewId }: { traceKey: number; spanId: string; reviewId: string },
  maxBytes: number,
): Promise<ReviewValues | undefined> =>
  readUntilWhole(store, async () => {
    const [row] = await store.database
      .select({
        trace: { id: traces.id, key: traces.key },
        text: reviews.approved,
        ref: reviews.approvedRef,
        comment: reviews.comment,
      })
      .from(traces)
      .innerJoin(reviews, and(eq(reviews.traceKey, traces.key), eq(reviews.spanId, spanId), eq(reviews.id, reviewId)))
      .where(isLive(store, eq(traces.key, traceKey)))
    if (!row) return undefined
    const { trace, text, ref, comment } = row
    const value: FoundValue | undefined = text === null ? undefined : { text, ref, folder: trace.key }
    const shown = await showValues(store, value ? [value] : [], 'full', maxBytes)
    return { traces: [trace], found: shown && { approved: value && shown.get(value), comment } }
  })

/** Reads feedback on a live trace. */
export async function readFeedbackValues(
  store: Store,
  { traceKey, id }: { traceKey: number; id: string },
): Promise<{ comment: string | null; correction: JsonObject | null } | undefined> {
  const [row] = await store.database
    .select({ comment: feedback.comment, correction: feedback.correction })
    .from(traces)
    .innerJoin(feedback, and(eq(feedback.traceKey, traces.key), eq(feedback.id, id)))
    .where(isLive(store, eq(traces.key, traceKey)))
  return row
}
