import { sql } from 'drizzle-orm'
import { feedback } from '../schema/reviews.ts'

/*
 * What a rating says, as conditions on a row of `feedback`. Ratings lie as JSON: a word in quotes, or a number, of which
 * one above 0.5 is positive and one below it negative.
 */

export const isPositive = sql`(${feedback.rating} = '"positive"'
  or ${feedback.rating} glob '[0-9]*' and cast(${feedback.rating} as real) > 0.5)`

/** The middle is no praise. */
export const isNoPraise = sql`(${feedback.rating} = '"negative"'
  or ${feedback.rating} glob '[0-9]*' and cast(${feedback.rating} as real) <= 0.5)`

export const isNegativeRating = sql`(${feedback.rating} = '"negative"'
  or ${feedback.rating} glob '[0-9]*' and cast(${feedback.rating} as real) < 0.5)`
