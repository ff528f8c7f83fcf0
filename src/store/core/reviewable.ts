import { eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import { reviews } from '../schema/reviews.ts'
import { isNoRoot, observations, spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

/*
 * Which spans there are to review, as conditions on the rows of `spans` and `traces` that a statement is at.
 */

/** Whether an output, or null as one, came before its span: asked of the observations that the trace at hand has so far. */
export const hasObservedOutput = (id: SQL, toNull: SQL) => sql`exists (
  select 1 from ${observations}
  where ${observations.traceKey} = ${traces.key} and coalesce(${observations.spanId}, ${traces.rootSpanId}) = ${id}
    and ${observations.type} = 'output' and ${observations.data} ${toNull} 'null')`

/** A column of the observation that a span's output is, as `foldObservations` chooses it; null where it has none. */
const lastOutput = (column: 'id' | 'data') => sql`(
  select ${sql.raw(`observed.${column}`)} from ${observations} observed
  where observed.trace_key = ${spans.traceKey} and observed.type = 'output'
    and coalesce(observed.span_id, (select own.root_span_id from ${traces} own where own.key = ${spans.traceKey})) = ${spans.id}
  order by observed.timestamp desc, observed.received_at desc, observed.id desc limit 1)`

/** The text of the output that a span's observations fold to, over what was given to the span itself. */
const foldedOutput = sql`coalesce(${lastOutput('data')}, ${spans.output}, 'null')`

/** The name of that output, as `FoldedSpan.outputRevision` has it. */
export const outputRevision = sql`coalesce(${lastOutput('id')}, ${spans.outputRevision}, 'none')`

/** Whether a row of `reviews` is the decision that counts for a reviewed span. */
export const isDecidedBy = sql`(${spans.reviewState} is not null and ${reviews.traceKey} = ${spans.traceKey}
  and ${reviews.spanId} = ${spans.id} and ${reviews.number} = ${spans.reviewNumber})`

/** Whether a span has a review of another output than the one it has now, told by their names alone. */
export const hasOtherOutput = sql`(${spans.reviewState} is not null and not exists (
  select 1 from ${reviews} where ${isDecidedBy} and ${reviews.outputRevision} = ${outputRevision}))`

/** Whether a span has an output now. Only one that null arrived at too needs to be folded for it. */
export const hasOutput = sql`(${spans.hasOutput} = 1 and (${spans.hasNullOutput} = 0 or ${foldedOutput} <> 'null'))`

/** Whether a span counts as reviewed: `isReviewed` of `domain/review-state.ts`. */
export const isReviewed = sql`(${isNotNull(spans.reviewState)} and ${spans.isStale} = 0)`

/** Whether a reviewed span waits in the queue again, for another output. One whose output became null has nothing to review. */
export const isStale = sql`(${isNotNull(spans.reviewState)} and ${spans.isStale} = 1 and ${hasOutput})`

/** Whether a span has an output, and no review of it. */
export const isUnreviewed = sql`(${hasOutput} and not ${isReviewed})`

/** The same of the steps of an AI pipeline, which are what there is to review. */
export const isToReview = sql`(${spans.isGeneric} = 0 and ${isUnreviewed})`

/** Whether nobody but this one holds a span. */
export const isFree = (holder: string, now: number): SQL =>
  sql`(${spans.claimedUntil} is null or ${spans.claimedUntil} <= ${now} or ${spans.claimedBy} = ${holder})`

export const isCorrected = sql`(${isReviewed} and ${eq(spans.reviewState, 'corrected')})`

/** The spans of the trace that a statement is at, which no single index has. */
export const ofTrace = sql`((${spans.traceKey} = ${traces.key} and ${isNoRoot})
  or (${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}))`

/** Whether a trace has a reviewed span, or one whose review is of this kind. The first condition is its index's. */
export const hasReviewed = (kind: SQL = isReviewed): SQL =>
  sql`exists (select 1 from ${spans}
    where ${spans.traceKey} = ${traces.key} and ${isNotNull(spans.reviewState)} and ${kind})`

/** What `traces.needsReview` must be: a trace without any review is not looked into. */
export const needsReview = sql`(${traces.isGeneric} = 0 and (
  not ${hasReviewed()} or exists (select 1 from ${spans} where ${ofTrace} and ${isToReview})))`
