import type { SpanOfTrace } from '../api/wire.ts'
import { isSameValue } from './json-text.ts'

/** What became of a span since somebody looked at it. */
export interface Changes {
  isOutputOther: boolean
  /** A decision that was made, or taken back, meanwhile; null: none. */
  review: SpanOfTrace['review'] | null
}

export const whatChanged = (seen: SpanOfTrace, now: SpanOfTrace): Changes => ({
  isOutputOther: !isSameValue(seen.output, now.output),
  review: now.review.at === seen.review.at && now.review.state === seen.review.state ? null : now.review,
})
