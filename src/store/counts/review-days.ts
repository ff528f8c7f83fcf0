import { type SQL, sql } from 'drizzle-orm'
import { DAY_MS } from '../../limits.ts'
import { listOf, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { answerDays, reviewDays } from '../schema/counts.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'

/*
 * Statements that count decisions and answers, for the batch that writes them: with them or not at all. What is counted is
 * what is in force: what is new adds one, and what it replaces takes back the one that it added. Both are columns of the
 * decision and of the answer, for their spans may have another step by then.
 */

/** The day of a whole time since 1970. */
const dayOf = (time: SQL): SQL => sql`${time} / ${sql.raw(String(DAY_MS))}`

/** What becomes of a row of `review_days` to which another one is added. */
const ADDED_UP = {
  target: [
    reviewDays.projectKey,
    reviewDays.day,
    reviewDays.stepId,
    reviewDays.promptVersionId,
    reviewDays.userId,
    reviewDays.errorType,
  ],
  set: {
    accepted: sql`${reviewDays.accepted} + excluded.accepted`,
    corrected: sql`${reviewDays.corrected} + excluded.corrected`,
  },
}

/**
 * The statement that counts decisions: those under the number that follows `spans.reviewNumber`, which are in `reviews`
 * already while the span is not moved on to them. `from`: a join with its conditions that gives each such span once.
 */
export function countDecisions({ database }: Store, from: SQL) {
  const sumOf = (state: 'accepted' | 'corrected') =>
    sql`sum((decided.state = ${state}) * iif(decided.number = changed.number, -1, 1))`
  const [accepted, corrected] = [sumOf('accepted'), sumOf('corrected')]
  const place = {
    projectKey: sql`decided.project_key`,
    day: dayOf(sql`decided.created_at`),
    stepId: sql`decided.step_id`,
    promptVersionId: sql`decided.prompt_version_id`,
    userId: sql`decided.user_id`,
    errorType: sql`coalesce(decided.error_type, '')`,
  }
  return database
    .insert(reviewDays)
    .select(
      selectFor(
        reviewDays,
        { ...place, accepted, corrected },
        sql`from (select ${spans.traceKey} as trace_key, ${spans.id} as span_id, ${spans.reviewNumber} as number ${from}) as changed
            cross join ${reviews} as decided
          where decided.trace_key = changed.trace_key and decided.span_id = changed.span_id
            and decided.number between changed.number and changed.number + 1
            and decided.state is not null and decided.step_id is not null
          group by ${listOf(place)} having ${accepted} <> 0 or ${corrected} <> 0`,
      ),
    )
    .onConflictDoUpdate(ADDED_UP)
}

/** The statement that counts the answer to a job, which is in `attributions` already while the job names the one before. */
export function countAnswer({ database }: Store, isJob: SQL | undefined) {
  const place = {
    projectKey: sql`answer.project_key`,
    day: dayOf(sql`answer.created_at`),
    stepId: sql`answer.step_id`,
    errorType: sql`answer.error_type`,
  }
  const change = sql`sum(iif(answer.number = ${attributionJobs.attributionNumber}, -1, 1))`
  return database
    .insert(answerDays)
    .select(
      selectFor(
        answerDays,
        { ...place, answers: change },
        sql`from ${attributionJobs} cross join ${attributions} as answer
          where ${isJob} and answer.trace_key = ${attributionJobs.traceKey} and answer.step_id is not null
            and answer.number between ${attributionJobs.attributionNumber} and ${attributionJobs.attributionNumber} + 1
          group by ${listOf(place)} having ${change} <> 0`,
      ),
    )
    .onConflictDoUpdate({
      target: [answerDays.projectKey, answerDays.day, answerDays.stepId, answerDays.errorType],
      set: { answers: sql`${answerDays.answers} + excluded.answers` },
    })
    .returning({ answers: answerDays.answers })
}

/*
 * An explicit deletion takes back what is in force on its trace, in the batch that deletes the rows that it was counted by:
 * a step that runs twice finds them gone. `isPiece`: which rows those are. What was never counted has no step.
 */

/**
 * The statement that takes decisions back. Their spans are still there, and say which of them count. It adds what is negative
 * rather than changing what is there: a row that is under another reviewer's id by now, for the user is being deleted, ends
 * in the same sum.
 */
export function uncountDecisions({ database }: Store, isPiece: SQL) {
  const place = {
    projectKey: reviews.projectKey,
    day: dayOf(sql`${reviews.createdAt}`),
    stepId: reviews.stepId,
    promptVersionId: reviews.promptVersionId,
    userId: reviews.userId,
    errorType: sql`coalesce(${reviews.errorType}, '')`,
  }
  const accepted = sql`-sum(${reviews.state} = 'accepted')`
  const corrected = sql`-sum(${reviews.state} = 'corrected')`
  return database
    .insert(reviewDays)
    .select(
      selectFor(
        reviewDays,
        { ...place, accepted, corrected },
        sql`from ${reviews} cross join ${spans}
          where ${isPiece} and ${spans.id} = ${reviews.spanId} and ${spans.traceKey} = ${reviews.traceKey}
            and ${spans.reviewNumber} = ${reviews.number} and ${reviews.state} is not null and ${reviews.stepId} is not null
          group by ${listOf(place)}`,
      ),
    )
    .onConflictDoUpdate(ADDED_UP)
}

/** The statement that takes a trace's answer back. Its job is still there, and says which of them counts. */
export const uncountAnswers = ({ database }: Store, isPiece: SQL) =>
  database
    .update(answerDays)
    .set({ answers: sql`${answerDays.answers} - 1` })
    .from(
      sql`(select ${attributions.projectKey} as project_key, ${dayOf(sql`${attributions.createdAt}`)} as day,
          ${attributions.stepId} as step_id, ${attributions.errorType} as error_type
        from ${attributions} cross join ${attributionJobs}
        where ${isPiece} and ${attributionJobs.traceKey} = ${attributions.traceKey}
          and ${attributionJobs.attributionNumber} = ${attributions.number} and ${attributions.stepId} is not null
        limit 1) as scanned`,
    )
    .where(
      sql`${answerDays.projectKey} = scanned.project_key and ${answerDays.day} = scanned.day
        and ${answerDays.stepId} = scanned.step_id and ${answerDays.errorType} = scanned.error_type`,
    )
