/** The states of a problem, from found to fixed, and `dismissed`. */
export const PROBLEM_STATES = ['open', 'fixing', 'proven', 'live', 'verified', 'dismissed'] as const
export type ProblemState = (typeof PROBLEM_STATES)[number]

/** What a problem's cases have in common. */
export interface ProblemKey {
  /** The step at fault, under its current name. */
  stepId: string
  /** '' if nobody named one. */
  errorType: string
  /** '' if the cause cites none. */
  docSlug: string
}

/** Who named the type of a case: a reviewer, or nobody but an engine. */
export const NAMED_BY = ['reviewer', 'engine'] as const
export type NamedBy = (typeof NAMED_BY)[number]
