import { type SQL, sql } from 'drizzle-orm'
import type { ReviewOutcome } from '../../domain/review-state.ts'
import { DAY_MS } from '../../limits.ts'
import { selectFor, sqlList } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { attributionJobs, attributions } from '../schema/attribution.ts'
import { answerDays, reviewDays } from '../schema/counts.ts'
import { reviews } from '../schema/reviews.ts'
import { spans } from '../schema/spans.ts'

/*
 * Statements that count decisions and answers. Run them in the batch that writes the decisions and answers, so both
 * happen or neither does. Only current decisions and answers are counted: a new decision or answer is added, and the
 * one that it replaces is subtracted. The columns to count by are stored with the decision or answer, because its
 * span's step may change.
 */

/** Whether a row of `reviews` is counted for as long as it's the current decision. */
export const isCounted = sql`(${reviews.state} is not null and ${reviews.stepId} is not null)`

/** The day of a time in whole milliseconds since 1970. */
const dayOf = (time: SQL): SQL => sql`${time} / ${sql.raw(String(DAY_MS))}`

const target = [
  reviewDays.projectKey,
  reviewDays.day,
  reviewDays.stepId,
  reviewDays.promptVersionId,
  reviewDays.userId,
  reviewDays.errorType,
]
const addDecided = {
  accepted: sql`${reviewDays.accepted} + excluded.accepted`,
  corrected: sql`${reviewDays.corrected} + excluded.corrected`,
  byVotes: sql`${reviewDays.byVotes} + excluded.by_votes`,
}
const addExpired = {
  expiredAccepted: sql`${reviewDays.expiredAccepted} + excluded.expired_accepted`,
  expiredCorrected: sql`${reviewDays.expiredCorrected} + excluded.expired_corrected`,
}

/** Adds all counts to an existing row of `review_days`. */
export const ADD_COUNTS = { target, set: { ...addDecided, ...addExpired } }

/** The counts of a row that has no expired decisions. */
const NONE_EXPIRED = { expiredAccepted: 0, expiredCorrected: 0 }

/**
 * The statement that counts new decisions. Run it after the decisions are in `reviews`, with the next number after
 * `spans.reviewNumber`, but before their spans refer to them. `from` is a join, including its conditions, that returns
 * each of these spans once.
 */
export function countDecisions({ database }: Store, from: SQL) {
  const sumOf = (condition: SQL) => sql`sum((${condition}) * iif(decided.number = changed.number, -1, 1))`
  const accepted = sumOf(sql`decided.state = 'accepted'`)
  const corrected = sumOf(sql`decided.state = 'corrected'`)
  const byVotes = sumOf(sql`decided.basis is 'votes'`)
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
        { ...place, accepted, corrected, byVotes, ...NONE_EXPIRED },
        sql`from (select ${spans.traceKey} as trace_key, ${spans.id} as span_id, ${spans.reviewNumber} as number ${from}) as changed
            cross join ${reviews} as decided
          where decided.trace_key = changed.trace_key and decided.span_id = changed.span_id
            and decided.number between changed.number and changed.number + 1
            and decided.state is not null and decided.step_id is not null
          group by ${sqlList(place)} having ${accepted} <> 0 or ${corrected} <> 0 or ${byVotes} <> 0`,
      ),
    )
    .onConflictDoUpdate({ target, set: addDecided })
}

/**
 * The statement that counts a job's new answer. Run it after the answer is in `attributions` but before the job refers
 * to it.
 */
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
        { ...place, answers: change, expired: 0 },
        sql`from ${attributionJobs} cross join ${attributions} as answer
          where ${isJob} and answer.trace_key = ${attributionJobs.traceKey} and answer.step_id is not null
            and answer.number between ${attributionJobs.attributionNumber} and ${attributionJobs.attributionNumber} + 1
          group by ${sqlList(place)} having ${change} <> 0`,
      ),
    )
    .onConflictDoUpdate({
      target: [answerDays.projectKey, answerDays.day, answerDays.stepId, answerDays.errorType],
      set: { answers: sql`${answerDays.answers} + excluded.answers` },
    })
    .returning({ answers: answerDays.answers })
}

/*
 * When a trace is deleted explicitly, the batch that deletes its decisions and answers also subtracts them from the
 * counts. When a trace expires, the batch counts them as expired instead. If part of the purge runs twice, it finds no
 * rows the second time. `isPiece` selects the rows to delete. Rows that were never counted have no pipeline step.
 */

/** How many of the decisions to delete are current and have this outcome. */
const endedIn = (state: ReviewOutcome) => sql`sum(${reviews.state} = ${state})`
const followedFromVotes = sql`sum(${reviews.basis} is 'votes')`

/**
 * The statement that subtracts decisions. Their spans must still exist, because they determine which decisions are
 * current. It inserts negative counts instead of updating a row, so the sum is correct even if the reviewer is being
 * deleted and the row already has a different reviewer id.
 */
export const subtractDecisions = (store: Store, isPiece: SQL) =>
  countDeleted(
    store,
    {
      accepted: sql`-${endedIn('accepted')}`,
      corrected: sql`-${endedIn('corrected')}`,
      byVotes: sql`-${followedFromVotes}`,
      ...NONE_EXPIRED,
    },
    isPiece,
  )

/**
 * The statement that counts decisions as expired. As for `subtractDecisions`, their spans must still exist. The
 * decisions also stay in the other counts.
 */
export const countExpired = (store: Store, isPiece: SQL) =>
  countDeleted(
    store,
    {
      accepted: 0,
      corrected: 0,
      byVotes: 0,
      expiredAccepted: endedIn('accepted'),
      expiredCorrected: endedIn('corrected'),
    },
    isPiece,
  )

function countDeleted(
  { database }: Store,
  counts: Readonly<Record<keyof typeof addDecided | keyof typeof addExpired, SQL | number>>,
  isPiece: SQL,
) {
  const place = {
    projectKey: reviews.projectKey,
    day: dayOf(sql`${reviews.createdAt}`),
    stepId: reviews.stepId,
    promptVersionId: reviews.promptVersionId,
    userId: reviews.userId,
    errorType: sql`coalesce(${reviews.errorType}, '')`,
  }
  return database
    .insert(reviewDays)
    .select(
      selectFor(
        reviewDays,
        { ...place, ...counts },
        sql`from ${reviews} cross join ${spans}
          where ${isPiece} and ${spans.id} = ${reviews.spanId} and ${spans.traceKey} = ${reviews.traceKey}
            and ${spans.reviewNumber} = ${reviews.number} and ${isCounted}
          group by ${sqlList(place)}`,
      ),
    )
    .onConflictDoUpdate(ADD_COUNTS)
}

/**
 * The statement that subtracts a trace's answer. Its job must still exist, because it determines which answer is
 * current.
 */
export const subtractAnswers = (store: Store, isPiece: SQL) =>
  updateAnswerDay(store, { answers: sql`${answerDays.answers} - 1` }, isPiece)

/**
 * The statement that counts a trace's answer as expired. As for `subtractAnswers`, the trace's job must still exist.
 * The answer also stays in the other count.
 */
export const expireAnswers = (store: Store, isPiece: SQL) =>
  updateAnswerDay(store, { expired: sql`${answerDays.expired} + 1` }, isPiece)

const updateAnswerDay = ({ database }: Store, counts: { answers: SQL } | { expired: SQL }, isPiece: SQL) =>
  database
    .update(answerDays)
    .set(counts)
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
