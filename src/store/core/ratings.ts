import { type SQL, sql } from 'drizzle-orm'
import { feedback } from '../schema/reviews.ts'
import { isNegative, traces } from '../schema/traces.ts'
import { existsShallow } from './depth.ts'
import type { Viewer } from './store.ts'
import { ifAnyBlind, isCommentShown } from './veil.ts'

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

/** Whether a trace has any negative feedback, apart from the feedback with the id `exceptId`. */
export const hasNegative = (exceptId: string | null = null) => sql`exists (
  select 1 from ${feedback} where ${feedback.traceKey} = ${traces.key} and ${isNegativeRating}
    and ${feedback.id} is not ${exceptId})`

/**
 * Whether a trace has negative feedback that the viewer may see. Uses the index of traces with negative feedback,
 * unless the condition is part of a larger expression.
 */
export function isNegativeTo(viewer: Viewer): SQL {
  const isShown = isCommentShown(viewer)
  if (!isShown) return isNegative
  const hasShown = existsShallow(sql`
    select 1 from ${feedback} where ${feedback.traceKey} = ${traces.key} and ${isNegativeRating} and ${isShown}`)
  return sql`${isNegative} and ${ifAnyBlind(hasShown, sql`1`)}`
}
