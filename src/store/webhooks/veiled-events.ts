import { type SQL, sql } from 'drizzle-orm'
import { existsShallow } from '../core/depth.ts'
import { mayHaveTraces, type Store } from '../core/store.ts'
import { isAnswerVeiled, isOnVeiledSpan, isSpanVeiled } from '../core/veil.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'

const traceKey = sql.raw('webhook_events.trace_key')
const subjectId = sql.raw('webhook_events.subject_id')

/** Whether the feedback exists, and either came from a pipeline or is on a decided span. */
const isFeedbackShown = existsShallow(sql`
  select 1 from ${feedback} where ${feedback.id} = ${subjectId} and ${feedback.traceKey} = ${traceKey}
    and (${feedback.source} <> 'review' or not ${isOnVeiledSpan})`)

const isAnswerHidden = existsShallow(sql`
  select 1 from ${traces} where ${traces.key} = ${traceKey} and ${isAnswerVeiled}`)

/**
 * Whether a blind policy hides the current event from reviewers, who may be among its readers. Until an output is
 * decided, the policy hides what reviewers say about it, including the fact that they disagree. Until then, it also
 * hides what an engine found in the output's trace. It never hides a decision. It does hide feedback that was deleted
 * in the meantime, because that feedback may have been on a hidden output. If a database has none of the organization's
 * traces, its events aren't about traces.
 */
export const isVeiledEvent = (store: Store): SQL => (mayHaveTraces(store) ? isVeiled : sql`0`)

const isVeiled = sql`case webhook_events.type
  when 'span.disputed' then exists (select 1 from ${spans}
    where ${spans.id} = ${subjectId} and ${spans.traceKey} = ${traceKey} and ${isSpanVeiled})
  when 'feedback.created' then not ${isFeedbackShown}
  when 'attribution.finished' then ${isAnswerHidden}
  else 0 end`
