import type { SpanOfTrace } from '../api/wire.ts'
import { isSameValue } from './json-text.ts'

/** How a span has changed since a reviewer saw it. */
export interface Changes {
  hasOutputChanged: boolean
  /** The new review, if a decision has been made or undone since then; otherwise, null. */
  review: SpanOfTrace['review'] | null
}

export const whatChanged = (seen: SpanOfTrace, now: SpanOfTrace): Changes => ({
  hasOutputChanged: !isSameValue(seen.output, now.output),
  review: now.review.at === seen.review.at && now.review.state === seen.review.state ? null : now.review,
})
