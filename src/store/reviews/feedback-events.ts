import { type SQL, sql } from 'drizzle-orm'
import { recordEvents } from '../core/outbox.ts'
import { readStepId } from '../core/step-names.ts'
import type { Store } from '../core/store.ts'
import { feedback } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'
import { traces } from '../schema/traces.ts'
import { joinedSpanId } from '../traces/span-ids.ts'

/**
 * The statements (one or none) that record new feedback: a pipeline's, or a reviewer's comment. `rows` are the tables
 * to join with the feedback table, so that `isNew` can use them. Run the statements after those that add the feedback.
 */
export function recordFeedback(
  store: Store,
  projectKey: number,
  { id, at, rows, isNew }: { id: string | SQL; at: number; rows?: SQL; isNew: SQL | undefined },
) {
  const spanId = sql`coalesce(${joinedSpanId('feedback')}, ${traces.rootSpanId})`
  const stepId = sql`(select ${readStepId(sql`${projectKey}`, sql`judged.step_id`)} from ${spans} judged
    where judged.id = ${spanId} and judged.trace_key = ${traces.key})`
  const has = (column: typeof feedback.comment | typeof feedback.correction) =>
    sql`json(iif(${column} is null, 'false', 'true'))`
  const { traceKey, userId, source, name, rating, comment, correction } = feedback
  const event = {
    id,
    traceKey,
    subjectId: feedback.id,
    actorId: userId,
    at: Math.floor(at),
    data: {
      feedbackId: feedback.id,
      spanId,
      stepId,
      source,
      name,
      rating: sql`json(${rating})`,
      hasComment: has(comment),
      hasCorrection: has(correction),
    },
  }
  return recordEvents(
    store,
    'feedback.created',
    projectKey,
    event,
    sql`from ${rows ? sql`${rows} cross join ` : sql``}${traces} cross join ${feedback}
      where ${feedback.traceKey} = ${traces.key} and ${isNew}`,
  )
}
