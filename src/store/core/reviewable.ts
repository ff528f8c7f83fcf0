import { eq, isNotNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { reviews } from '../schema/reviews.ts'
import { isNotRoot, observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { existsShallow } from './depth.ts'

/* SQL conditions that select the spans to review, for the statement's current rows of `spans` and `traces`. */

/**
 * Whether an output arrived before its span did, judging by the current trace's observations so far. `comparison`
 * compares the output with null: `=` matches a null output, and `<>` matches any other output.
 */
export const hasObservedOutput = (id: SQL, comparison: SQL) => sql`exists (
  select 1 from ${observations}
  where ${observations.traceKey} = ${traces.key} and coalesce(${observations.spanId}, ${traces.rootSpanId}) = ${id}
    and ${observations.type} = 'output' and ${observations.data} ${comparison} 'null')`

/** A trace's key and root, and the id of one of its spans. */
interface Place {
  traceKey: SQLWrapper
  rootSpanId: SQLWrapper
  id: SQLWrapper
}

/** The place of the current span, in a statement that may not read its trace. */
const OF_SPAN: Place = {
  traceKey: spans.traceKey,
  rootSpanId: sql`(select own.root_span_id from ${traces} own where own.key = ${spans.traceKey})`,
  id: spans.id,
}

/**
 * A column of the observation that a span's output comes from, chosen as in `foldObservations`. Null if there is no
 * such observation.
 */
const lastOutput = (column: string, { traceKey, rootSpanId, id }: Place = OF_SPAN) => sql`(
  select ${sql.raw(column)} from ${observations} observed
  where observed.trace_key = ${traceKey} and observed.type = 'output' and coalesce(observed.span_id, ${rootSpanId}) = ${id}
  order by observed.timestamp desc, observed.received_at desc, observed.id desc limit 1)`

/**
 * The `textHash` and `textId` of a span, from the last output that arrived for it or, if there is none, from its own
 * output.
 */
const sharedText = (own: SQL, place?: Place) => ({
  // A hash of 0 marks an observed output that has no hash, so one lookup is enough.
  textHash: sql`nullif(coalesce(${lastOutput('coalesce(observed.text_hash, 0)', place)}, ${own}), 0)`,
  textId: lastOutput('observed.id', place),
})

/** `sharedText` of a new span in the current trace. */
export const sharedTextOfNew = (id: SQL, own: SQL) =>
  sharedText(own, { traceKey: traces.key, rootSpanId: traces.rootSpanId, id })

/**
 * `sharedText` of the current span. The hash of its own text is no longer stored if an observed output has replaced
 * that text.
 */
export const sharedTextNow = sharedText(sql`iif(${spans.textId} is null, ${spans.textHash}, null)`)

/**
 * The output text that results from folding a span's observations or, if none of them is an output, the span's own
 * output.
 */
const foldedOutput = sql`coalesce(${lastOutput('observed.data')}, ${spans.output}, 'null')`

/** The revision of `foldedOutput`, as in `FoldedSpan.outputRevision`. */
export const outputRevision = sql`coalesce(${lastOutput('observed.id')}, ${spans.outputRevision}, 'none')`

/** Whether a row of `reviews` is the current decision for a reviewed span. */
export const isDecisionInForce = sql`(${spans.reviewState} is not null and ${reviews.traceKey} = ${spans.traceKey}
  and ${reviews.spanId} = ${spans.id} and ${reviews.number} = ${spans.reviewNumber})`

/** Whether a span's current output isn't the one that was reviewed. Compares only their revisions. */
export const hasOtherOutput = sql`(${spans.reviewState} is not null and not exists (
  select 1 from ${reviews} where ${isDecisionInForce} and ${reviews.outputRevision} = ${outputRevision}))`

/** Whether a span has an output now. Folds observations only if the span has also received a null output. */
export const hasOutput = sql`(${spans.hasOutput} = 1 and (${spans.hasNullOutput} = 0 or ${foldedOutput} <> 'null'))`

/** Whether a span counts as reviewed, as `isReviewed` in `domain/review-state.ts` defines it. */
export const isReviewed = sql`(${isNotNull(spans.reviewState)} and ${spans.isStale} = 0)`

/**
 * Whether a reviewed span is back in the queue because its output changed. If the output became null, there is nothing
 * to review.
 */
export const isStale = sql`(${isNotNull(spans.reviewState)} and ${spans.isStale} = 1 and ${hasOutput})`

/** Whether a span has an output and no review of it. */
export const isUnreviewed = sql`(${hasOutput} and not ${isReviewed})`

/**
 * Whether the current span has the same text as its root, so that a review of the span also counts for the root. `root`
 * is the root's alias. False for a span that also received a null output, because it may have no text now.
 */
export const sharesTextWith = (root: string, span: string) => {
  const column = (alias: string, name: string) => sql.raw(`${alias}.${name}`)
  return sql`(${column(root, 'is_root')} = 1 and ${column(root, 'text_hash')} is not null
    and ${column(root, 'review_state')} is null and ${column(root, 'has_null_output')} = 0
    and ${column(span, 'trace_key')} = ${column(root, 'trace_key')} and ${column(span, 'is_root')} = 0
    and ${column(span, 'text_hash')} = ${column(root, 'text_hash')} and ${column(span, 'is_generic')} = 0
    and ${column(span, 'is_supporting')} = 0 and ${column(span, 'has_null_output')} = 0)`
}

/**
 * Whether a span is reviewed together with another one, because it's a root with the same text. `domain/shared-text.ts`
 * defines which span that is.
 */
export const isReviewedWithOther = sql`(${spans.isRoot} = 1 and ${isNotNull(spans.textHash)}
  and ${existsShallow(sql`select 1 from ${spans} sharing where ${sharesTextWith('spans', 'sharing')}`)})`

/**
 * Whether a span's output should be reviewed: `reviewabilityOf` in `domain/step-kind.ts` says so, and it isn't reviewed
 * with another span.
 */
export const isReviewable = sql`(${spans.isGeneric} = 0 and (${spans.isSupporting} = 0 or ${spans.isRoot} = 1)
  and not ${isReviewedWithOther})`

/** Whether a span needs review: it's reviewable, has an output, and has no review. */
export const isUnreviewedStep = sql`(${isReviewable} and ${isUnreviewed})`

/**
 * Whether nobody has claimed a span. The time is part of the SQL text, because a statement can have at most 100
 * parameters.
 */
export const isUnclaimed = (now: number): SQL =>
  sql`(${spans.claimedUntil} is null or ${spans.claimedUntil} <= ${sql.raw(String(now))})`

/** Whether a span is unclaimed or claimed by `holder`. */
export const isFree = (holder: string, now: number): SQL => sql`(${isUnclaimed(now)} or ${spans.claimedBy} = ${holder})`

export const isCorrected = sql`(${isReviewed} and ${eq(spans.reviewState, 'corrected')})`

/**
 * Whether a span is in the current trace. No single index has all its spans, because the index by trace leaves out
 * roots.
 */
export const ofTrace = sql`((${spans.traceKey} = ${traces.key} and ${isNotRoot})
  or (${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}))`

/**
 * Whether a trace has a reviewed span that also meets the condition `kind`. The `is not null` makes SQLite use the
 * partial index.
 */
export const hasReviewedSpan = (kind: SQL = isReviewed): SQL =>
  sql`exists (select 1 from ${spans}
    where ${spans.traceKey} = ${traces.key} and ${isNotNull(spans.reviewState)} and ${kind})`

/** The value that `traces.needsReview` should have. If a trace has no reviews, its spans aren't examined. */
export const needsReview = sql`(${traces.isGeneric} = 0 and (
  not ${hasReviewedSpan()} or exists (select 1 from ${spans} where ${ofTrace} and ${isUnreviewedStep})))`
