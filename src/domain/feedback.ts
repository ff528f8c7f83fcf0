export const RATINGS = ['positive', 'negative'] as const

/** A word, or a number from 0 to 1. */
export type Rating = (typeof RATINGS)[number] | number

/** The source of feedback: the ingestion interface, or a reviewer's comment. */
export const FEEDBACK_SOURCES = ['api', 'review'] as const
export type FeedbackSource = (typeof FEEDBACK_SOURCES)[number]

/** The person who gave feedback, as sent by the client. */
export interface Labeler {
  name?: string | undefined
  email?: string | undefined
}

/** Whether a rating says that something is wrong. */
export const isNegativeRating = (rating: Rating | null): boolean =>
  rating === 'negative' || (typeof rating === 'number' && rating < 0.5)
