import { type SQL, sql } from 'drizzle-orm'
import { isSpanVeiled } from '../core/veil.ts'
import { spans } from '../schema/spans.ts'

const traceKey = sql.raw('webhook_events.trace_key')
const subjectId = sql.raw('webhook_events.subject_id')

/**
 * Whether a blind policy hides the current event from reviewers, who may be among its readers: what reviewers said about
 * an output before it's decided, such as that they disagree. A decision is never hidden.
 */
export const isVeiledEvent: SQL = sql`case webhook_events.type
  when 'span.disputed' then exists (select 1 from ${spans}
    where ${spans.id} = ${subjectId} and ${spans.traceKey} = ${traceKey} and ${isSpanVeiled})
  else 0 end`
