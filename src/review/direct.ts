import type { Decision } from '../domain/review-state.ts'
import { inFormOf } from '../domain/shared-text.ts'
import type { Store } from '../store/core/store.ts'
import { findReviewSubjects, type ReviewSubject, type ReviewSubjects } from '../store/reviews/reviews.ts'
import type { FoldedSpan } from '../store/spans/fold-spans.ts'
import { sharedRevision } from '../store/spans/shared-review.ts'
import { revisionOf } from '../store/spans/span-detail.ts'

/** A reviewer's decision on a span. */
export interface ReviewRequest {
  spanId: string
  decision: Decision
  /** JSON, only for `correct`. */
  approvedOutput: string | undefined
  comment: string | null
  errorType: string | null
  /** Whether the output may violate its schema. */
  force: boolean
  /** Whether to decide even if somebody else holds the span. */
  takeOver: boolean
  /** The acceptable `etag`s. Undefined if any is acceptable. */
  ifMatch: string | undefined
  /** Who made the decision elsewhere, and when. Undefined if the caller decides now. */
  imported: { userId: string; at: number } | undefined
}

/** A request with the span that it decides on. */
export interface Directed {
  /** The request as it was sent. */
  asked: ReviewRequest
  /** The request for that span, in the form of its output. */
  request: ReviewRequest
  subject: ReviewSubject
  /** The named span, if it's a root that is reviewed with `subject`. */
  root: ReviewSubject | undefined
  /** The root that shows the span's review, unless the approved output can't be written in the root's form. */
  sharingRoot: ReviewSubject | undefined
  /** The span that the named root is reviewed with, if the correction can't be written in that span's form. */
  formless: ReviewSubject | undefined
  /** What the request's `ifMatch` is compared with. */
  revision: string
}

/**
 * The other span that a request concerns, if it's among the subjects: the span that a root is reviewed with, or the
 * root that shows the span's review.
 */
export const partnerOf = ({ spanId }: ReviewRequest, { subjects }: ReviewSubjects): ReviewSubject | undefined =>
  subjects.get(partnerId(subjects.get(spanId)) ?? '')

const partnerId = (subject: ReviewSubject | undefined): string | null =>
  subject?.shared?.spanId ?? subject?.sharingRootId ?? null

/**
 * Adds the other spans that requests concern, besides the spans that they name. Takes one round trip if there are any.
 */
export async function withPartners(
  store: Store,
  requests: readonly ReviewRequest[],
  found: ReviewSubjects,
  now: number,
): Promise<ReviewSubjects> {
  const ids = requests.flatMap(({ spanId }) => partnerId(found.subjects.get(spanId)) ?? [])
  const missing = ids.filter(id => !found.subjects.has(id))
  if (missing.length === 0) return found
  const { subjects } = await findReviewSubjects(store, missing, [], now)
  return { ...found, subjects: new Map([...found.subjects, ...subjects]) }
}

/**
 * Directs a request to the span that it decides on. For a root that is reviewed with another span, that's the other
 * span, unless the correction can't be written in the other span's form.
 */
export function direct(
  request: ReviewRequest,
  found: ReviewSubjects,
  outputs: ReadonlyMap<FoldedSpan, string>,
): Directed | undefined {
  const subject = found.subjects.get(request.spanId)
  if (!subject) return undefined
  const partner = partnerOf(request, found)
  const own = {
    asked: request,
    request,
    subject,
    root: undefined,
    sharingRoot: undefined,
    formless: undefined,
    revision: revisionOf(subject.span),
  }
  if (!partner) return own
  if (!subject.shared) return { ...own, sharingRoot: partner }
  const [from, to] = [outputs.get(subject.span), outputs.get(partner.span)]
  const { approvedOutput: correction } = request
  const canConvert = correction !== undefined && from !== undefined && to !== undefined
  const approvedOutput = canConvert ? inFormOf(correction, { from, to }) : undefined
  const revision = sharedRevision(own.revision, revisionOf(partner.span))
  if (request.decision === 'correct' && approvedOutput === undefined) return { ...own, formless: partner, revision }
  return {
    ...own,
    request: { ...request, spanId: partner.span.row.id, approvedOutput },
    subject: partner,
    root: subject,
    revision,
  }
}
