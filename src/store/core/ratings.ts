import { sql } from 'drizzle-orm'
import { feedback } from '../schema/reviews.ts'
import { traces } from '../schema/traces.ts'

/*
 * SQL conditions on the rating in a row of `feedback`. Ratings are stored as JSON: a quoted word or a number. A number
 * above 0.5 is positive, and one below 0.5 is negative.
 */

export const isPositive = sql`(${feedback.rating} = '"positive"'
  or ${feedback.rating} glob '[0-9]*' and cast(${feedback.rating} as real) > 0.5)`

/** A rating of exactly 0.5 isn't praise. */
export const isNotPraise = sql`(${feedback.rating} = '"negative"'
  or ${feedback.rating} glob '[0-9]*' and cast(${feedback.rating} as real) <= 0.5)`

const isNegativeRating = sql`(${feedback.rating} = '"negative"'
  or ${feedback.rating} glob '[0-9]*' and cast(${feedback.rating} as real) < 0.5)`

/** Whether any of a trace's feedback is negative, not counting the feedback with an id. */
export const hasNegative = (exceptId: string | null = null) => sql`exists (
  select 1 from ${feedback} where ${feedback.traceKey} = ${traces.key} and ${isNegativeRating}
    and ${feedback.id} is not ${exceptId})`
