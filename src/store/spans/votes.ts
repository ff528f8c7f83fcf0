import type { JsonText } from '../../domain/json.ts'
import type { Decision } from '../../domain/review-state.ts'

/** What one of several reviewers says about a span. */
export interface Vote {
  /** A user's id, or the id of a key that acts for no user. */
  userId: string
  createdAt: number
  decision: Exclude<Decision, 'reset'>
  /** The correction. `null` if the vote accepts the output. */
  approvedOutput: JsonText
  comment: string | null
  errorType: string | null
  /** The fields that hold only previews: `approvedOutput`, `comment`. */
  truncated: readonly ('approvedOutput' | 'comment')[]
}
