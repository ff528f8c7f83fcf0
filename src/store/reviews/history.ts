import { and, desc, eq, lt, sql } from 'drizzle-orm'
import { JsonText } from '../../domain/json.ts'
import type { Decision, ReviewBasis } from '../../domain/review-state.ts'
import { MAX_SPAN_BYTES } from '../../limits.ts'
import type { Store } from '../core/store.ts'
import { reviews } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'
import { locatedSpans } from '../spans/located-rows.ts'
import {
  countWithin,
  type FoundValue,
  lengthOf,
  readUntilWhole,
  type ShownValue,
  showValues,
} from '../traces/payloads.ts'

/** A decision in a span's history. */
export interface PastReview {
  id: string
  number: number
  decision: Decision
  userId: string
  createdAt: number
  importedAt: number | null
  basis: ReviewBasis | null
  /** The approved output before and after the decision; `null` if there was none. */
  before: JsonText
  after: JsonText
  comment: string | null
  errorType: string | null
}

/** A page of a span's history, with the span's project. */
interface HistoryPage {
  projectKey: number
  items: PastReview[]
  hasMore: boolean
}

/**
 * A page of the decisions on a span, newest first, starting below number `before`. The page may be short if approved
 * outputs are large. Undefined if there is no such span.
 */
export const listReviews = (
  store: Store,
  spanId: string,
  page: { limit: number; before: number },
): Promise<HistoryPage | undefined> => readUntilWhole(store, () => readHistory(store, spanId, page))

async function readHistory(store: Store, spanId: string, { limit, before }: { limit: number; before: number }) {
  const located = locatedSpans(store, [spanId])
  const traceKey = sql`(select located.trace_key from ${located} as located)`
  const [[trace], rows] = await store.database.batch([
    store.database
      .select({ id: traces.id, key: traces.key, projectKey: traces.projectKey })
      .from(traces)
      .where(eq(traces.key, traceKey)),
    store.database
      .select()
      .from(reviews)
      .where(and(eq(reviews.traceKey, traceKey), eq(reviews.spanId, spanId), lt(reviews.number, before)))
      .orderBy(desc(reviews.number))
      // Read one more decision, because its output is the `before` of the page's oldest decision.
      .limit(limit + 1),
  ])
  if (!trace) return undefined
  const values = rows.map(({ approved, approvedRef }): FoundValue | undefined =>
    approved === null ? undefined : { text: approved, ref: approvedRef, folder: trace.key },
  )
  const lengthAt = (index: number) => lengthOf(values[index] ?? NO_VALUE)
  // A decision's output is shown twice: as its own `after` and as the next decision's `before`.
  const sizes = rows
    .slice(0, limit)
    .map(({ comment }, index) => (comment?.length ?? 0) + lengthAt(index) + lengthAt(index + 1))
  const count = countWithin(sizes)
  const shown = await showValues(
    store,
    values.slice(0, count + 1).filter(value => value !== undefined),
    'full',
    // The values before and after a single decision may exceed a page's usual limit.
    MAX_SPAN_BYTES,
  )
  if (!shown) return { traces: [trace], found: undefined }
  const items = rows.slice(0, count).map((row, index): PastReview => {
    const { id, number, decision, userId, createdAt, importedAt, basis, comment, errorType } = row
    const fields = { id, number, decision, userId, createdAt, importedAt, basis, comment, errorType }
    return { ...fields, before: textOf(values[index + 1], shown), after: textOf(values[index], shown) }
  })
  return { traces: [trace], found: { projectKey: trace.projectKey, items, hasMore: rows.length > count } }
}

const NO_VALUE = { text: '', ref: null }

const textOf = (value: FoundValue | undefined, shown: ReadonlyMap<FoundValue, ShownValue>): JsonText =>
  new JsonText((value && shown.get(value)?.text) ?? 'null')
