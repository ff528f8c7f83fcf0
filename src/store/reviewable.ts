import { eq, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import { isNoRoot, observations, spans, traces } from './schema.ts'

/*
 * Which spans there are to review, as conditions on the rows of `spans` and `traces` that a statement is at.
 */

/** Whether an output, or null as one, came before its span: asked of the observations that the trace at hand has so far. */
export const hasObservedOutput = (id: SQL, toNull: SQL) => sql`exists (
  select 1 from ${observations}
  where ${observations.traceKey} = ${traces.key} and coalesce(${observations.spanId}, ${traces.rootSpanId}) = ${id}
    and ${observations.type} = 'output' and ${observations.data} ${toNull} 'null')`

/** The text of the output that a span's observations fold to, over what was given to the span itself. */
const foldedOutput = sql`coalesce((
  select observed.data from ${observations} observed
  where observed.trace_key = ${spans.traceKey} and observed.type = 'output'
    and (observed.span_id = ${spans.id} or (observed.span_id is null and ${spans.isRoot} = 1))
  order by observed.timestamp desc, observed.received_at desc, observed.id desc limit 1), ${spans.output}, 'null')`

/** Whether a span has an output now. Only one that null arrived at too needs to be folded for it. */
export const hasOutput = sql`(${spans.hasOutput} = 1 and (${spans.hasNullOutput} = 0 or ${foldedOutput} <> 'null'))`

/** Whether a span has an output and no review. */
export const isUnreviewed = sql`(${hasOutput} and ${isNull(spans.reviewState)})`

/** The same of the steps of an AI pipeline, which are what there is to review. */
export const isToReview = sql`(${spans.isGeneric} = 0 and ${isUnreviewed})`

/** Whether nobody but this one holds a span. */
export const isFree = (holder: string, now: number): SQL =>
  sql`(${spans.claimedUntil} is null or ${spans.claimedUntil} <= ${now} or ${spans.claimedBy} = ${holder})`

export const isCorrected = eq(spans.reviewState, 'corrected')

/** The spans of the trace that a statement is at, which no single index has. */
export const ofTrace = sql`((${spans.traceKey} = ${traces.key} and ${isNoRoot})
  or (${spans.id} = ${traces.rootSpanId} and ${spans.traceKey} = ${traces.key}))`

/** Whether a trace has a span with a review, or with one of this kind. */
export const hasReviewed = (kind: SQL = isNotNull(spans.reviewState)): SQL =>
  sql`exists (select 1 from ${spans} where ${spans.traceKey} = ${traces.key} and ${kind})`

/** What `traces.needsReview` must be: a trace without any review is not looked into. */
export const needsReview = sql`(${traces.isGeneric} = 0 and (
  not ${hasReviewed()} or exists (select 1 from ${spans} where ${ofTrace} and ${isToReview})))`
