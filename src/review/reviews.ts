import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { CORRECTION, JUDGED, REVIEW_ID, SPAN_ID, USER_ID } from '../api/story.ts'
import type { Caller } from '../auth/authenticate.ts'
import { requirePerson } from '../auth/require-person.ts'
import { requireFound } from '../auth/require-project.ts'
import { DECISIONS } from '../domain/review-state.ts'
import type { PayloadMode } from '../domain/span.ts'
import { Email, IsoTime, isoTime, jsonPayload, StoredValue, shownAs, text, timestamp, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import {
  ApiError,
  badRequest,
  forbidden,
  HELD,
  IMPORT_NEEDS_MANAGE,
  personRequired,
  unprocessable,
} from '../http/errors.ts'
import { BatchResult, Results } from '../http/results.ts'
import { parse } from '../http/validation.ts'
import {
  ENVELOPE_BYTES,
  escaped,
  MAX_BATCH_BYTES,
  MAX_COMMENT_LENGTH,
  MAX_NAME_LENGTH,
  MAX_OBSERVATION_BYTES,
  MAX_REVIEWS,
} from '../limits.ts'
import { review, reviewedSpan } from '../read/examples.ts'
import { Basis, SpanOfTrace, toSpanOfTrace } from '../read/wire.ts'
import { isForeignSpan } from '../store/accounts/ownership.ts'
import { findUserIds } from '../store/accounts/users.ts'
import { type PastReview, listReviews as readReviews } from '../store/reviews/history.ts'
import { decideAll } from './decide.ts'
import type { ReviewRequest } from './direct.ts'
import { SCHEMA_MISMATCH } from './judge.ts'
import type { ReviewedSpan, Scope } from './rounds.ts'
import { suggestAll } from './suggest.ts'

const TOO_LARGE = 'Approved output too large'

const common = {
  comment: v.optional(v.pipe(text(1, MAX_COMMENT_LENGTH), v.metadata({ description: 'The reason for the decision' }))),
  errorType: v.optional(
    v.pipe(
      text(1, MAX_NAME_LENGTH),
      v.metadata({
        description: 'The error_type that explains what the output got wrong',
        examples: ['hallucinated_content'],
      }),
    ),
  ),
  force: v.optional(
    v.pipe(
      v.boolean(),
      v.metadata({ description: "Whether to approve an output even if it violates the step's outputSchema" }),
    ),
    false,
  ),
  takeOver: v.optional(
    v.pipe(v.boolean(), v.metadata({ description: 'Whether to decide even if somebody else has claimed the span' })),
    false,
  ),
}

/** The schema of a decision, with additional fields for its target. */
const decisionOn = <Fields extends v.ObjectEntries>(fields: Fields) =>
  v.variant('decision', [
    v.strictObject({ ...fields, ...common, decision: v.literal('correct'), approvedOutput: jsonPayload(TOO_LARGE) }),
    v.strictObject({ ...fields, ...common, decision: v.picklist(['accept', 'reset']) }),
  ])

const Review = decisionOn({})

const ReviewOfSpan = decisionOn({
  spanId: Uuid,
  ifMatch: v.optional(
    v.pipe(v.string(), v.metadata({ description: 'Works like the If-Match header when you review a single span' })),
  ),
  source: v.optional(
    v.pipe(
      v.literal('import'),
      v.metadata({
        description:
          'Imports a decision that the user in `by` made elsewhere, at the time in `at`. Requires the manage scope.',
      }),
    ),
  ),
  by: v.optional(v.pipe(Email, v.metadata({ description: 'For imports only: the email of the user who decided' }))),
  at: v.optional(timestamp('For imports only: when the decision was made, between 1970 and now')),
})

export const putReview = endpoint({
  family: 'review',
  method: 'PUT',
  path: '/api/spans/{spanId}/review',
  summary: 'Review a span',
  description:
    "Accepts or corrects the span's output, or resets its review. Repeating a decision changes nothing. If the step needs several reviewers, a person's decision on an undecided span is a vote, and the span is decided once enough votes agree; only an adjudicator's decision is final right away. A key that acts as an agent only suggests a decision, which `suggestions` shows; a pipeline's key gets a 403 `person_required`.",
  scope: 'review',
  params: v.object({ spanId: Uuid }),
  body: Review,
  maxBytes: MAX_OBSERVATION_BYTES + escaped(4 * MAX_COMMENT_LENGTH) + ENVELOPE_BYTES,
  etag: 'guard',
  errors: { 409: HELD, 413: TOO_LARGE, 422: SCHEMA_MISMATCH },
  responses: { 200: SpanOfTrace },
  example: {
    params: { spanId: SPAN_ID },
    body: review,
    answers: { 200: reviewedSpan },
  },
}).handle(async ({ params, body, headers, ...scope }) => {
  const ifMatch = headers.get('if-match') ?? undefined
  const [outcome] = await reviewAll(scope, [requestOf({ ...body, spanId: params.spanId, ifMatch })], 'full')
  if (!outcome || outcome instanceof ApiError) throw outcome
  const span = toSpanOfTrace(outcome)
  return { status: 200, body: span, etag: span.etag }
})

export const postReviews = endpoint({
  family: 'review',
  method: 'POST',
  path: '/api/reviews',
  summary: 'Review many spans at once',
  description:
    "Each span gets its own result. Values over 256 bytes are shown as previews. As with a single span, a decision may be a vote. A key that acts as an agent only suggests decisions. A person's key with the manage scope can import decisions that users made elsewhere, with `source`, `by`, and `at`. An import never replaces a decision from the same time or later. The result's `import` is `repeated` if the span already has this decision, `outdated` if the span has another decision from that time or later, and `added` otherwise. Imports don't request attributions.",
  scope: 'review',
  body: v.strictObject({
    reviews: v.pipe(
      shownAs(v.array(v.unknown()), v.array(ReviewOfSpan)),
      v.maxLength(MAX_REVIEWS, `must have at most ${MAX_REVIEWS} reviews`),
    ),
  }),
  maxBytes: MAX_BATCH_BYTES,
  responses: { 207: v.object({ results: v.array(BatchResult) }) },
  example: {
    body: { reviews: [{ spanId: SPAN_ID, ...review, source: 'import', by: 'ada@example.com', at: JUDGED }] },
    answers: { 207: { results: [{ status: 200, body: { ...reviewedSpan, import: 'added' } }] } },
  },
}).handle(async ({ body, requestId, ...scope }) => {
  const results = new Results(requestId)
  const spanIds = new Set<string>()
  const inputs = body.reviews.flatMap((input, index) =>
    results.take(index, `reviews.${index}`, () => {
      const review = parse(ReviewOfSpan, input)
      if (spanIds.has(review.spanId)) throw badRequest('appears in an earlier review in this call', 'spanId')
      spanIds.add(review.spanId)
      return { index, review, origin: originOf(review, scope) }
    }),
  )
  const emails = new Set(inputs.flatMap(({ origin }) => origin?.by ?? []))
  const userIds = emails.size > 0 ? await findUserIds(scope.store, [...emails]) : new Map<string, string>()
  const requests = inputs.flatMap(({ index, review, origin }) =>
    results.take(index, `reviews.${index}`, () => {
      const userId = userIds.get(origin?.by ?? '')
      if (origin && userId === undefined) throw unprocessable(NO_USER, 'by')
      return { index, request: requestOf(review, origin && userId ? { userId, at: origin.at } : undefined) }
    }),
  )
  const outcomes = await reviewAll(
    scope,
    requests.map(({ request }) => request),
    'preview',
  )
  for (const [place, { index }] of requests.entries()) {
    results.settle(index, `reviews.${index}`, () => {
      const outcome = outcomes[place]
      if (!outcome || outcome instanceof ApiError) throw outcome
      return { status: 200, body: { ...toSpanOfTrace(outcome), ...(outcome.import && { import: outcome.import }) } }
    })
  }
  return { status: 207, body: { results: results.inOrder() } }
})

const NO_USER = 'No user in the organization has this email; create the user first'

/**
 * Who made an imported decision elsewhere, and when. Undefined if the decision isn't imported. 403 if the caller may
 * not import.
 */
function originOf(
  { source, by, at }: v.InferOutput<typeof ReviewOfSpan>,
  { caller, now }: { caller: Caller; now: number },
): { by: string; at: number } | undefined {
  if (source === undefined) {
    for (const [field, value] of Object.entries({ by, at })) {
      if (value !== undefined) throw badRequest('is only allowed with the source "import"', field)
    }
    return undefined
  }
  if (by === undefined || at === undefined) {
    throw badRequest('is required with the source "import"', by === undefined ? 'by' : 'at')
  }
  if (at > now) throw badRequest('must not be in the future', 'at')
  if (at < 0) throw badRequest('must not be before 1970', 'at')
  requirePerson(caller)
  if (!caller.scopes.includes('manage')) throw forbidden(IMPORT_NEEDS_MANAGE)
  return { by, at }
}

/** Applies a person's decisions, or stores an agent's as suggestions. 403 `person_required` for a pipeline. */
async function reviewAll(
  scope: Scope,
  requests: readonly ReviewRequest[],
  mode: PayloadMode,
): Promise<(ReviewedSpan | ApiError)[]> {
  switch (scope.caller.actsAs) {
    case 'person':
      return decideAll(scope, requests, mode)
    case 'agent':
      return suggestAll(scope, requests, mode)
    case 'pipeline':
      return requests.map(() => personRequired('pipeline'))
  }
}

function requestOf(
  body: v.InferOutput<typeof Review> & { spanId: string; ifMatch?: string | undefined },
  imported?: ReviewRequest['imported'],
): ReviewRequest {
  return {
    spanId: body.spanId,
    decision: body.decision,
    approvedOutput: body.decision === 'correct' ? body.approvedOutput : undefined,
    comment: body.comment ?? null,
    errorType: body.errorType ?? null,
    force: body.force,
    takeOver: body.takeOver,
    ifMatch: body.ifMatch,
    imported,
  }
}

export const ReviewRecord = v.object({
  id: Uuid,
  decision: v.picklist(DECISIONS),
  by: Uuid,
  at: IsoTime,
  importedAt: v.pipe(v.nullable(IsoTime), v.metadata({ description: 'Null if the decision was made here' })),
  basis: Basis,
  before: v.pipe(
    StoredValue,
    v.metadata({ description: 'The approved output before the decision. Null if unreviewed.' }),
  ),
  after: v.pipe(
    StoredValue,
    v.metadata({ description: 'The approved output after the decision. Null if unreviewed.' }),
  ),
  comment: v.nullable(v.string()),
  errorType: v.nullable(v.string()),
})

const toReviewRecord = (review: PastReview): v.InferOutput<typeof ReviewRecord> => ({
  id: review.id,
  decision: review.decision,
  by: review.userId,
  at: isoTime(review.createdAt),
  importedAt: review.importedAt === null ? null : isoTime(review.importedAt),
  basis: review.basis,
  before: review.before,
  after: review.after,
  comment: review.comment,
  errorType: review.errorType,
})

export const listReviews = endpoint({
  family: 'review',
  method: 'GET',
  path: '/api/spans/{spanId}/reviews',
  summary: 'List all decisions on a span, newest first',
  scope: 'review',
  at: 'span',
  params: v.object({ spanId: Uuid }),
  query: v.strictObject(pageParameters),
  responses: { 200: v.object({ reviews: v.array(ReviewRecord), nextCursor: NextCursor }) },
  example: {
    params: { spanId: SPAN_ID },
    answers: {
      200: {
        reviews: [
          {
            id: REVIEW_ID,
            decision: 'correct',
            by: USER_ID,
            at: JUDGED,
            importedAt: null,
            basis: null,
            before: null,
            after: CORRECTION,
            comment: review.comment,
            errorType: review.errorType,
          },
        ],
        nextCursor: null,
      },
    },
  },
}).handle(async ({ params: { spanId }, query, caller, store, unscoped }) => {
  const isForeign = () => isForeignSpan(unscoped, store.organization, spanId)
  const { items, nextCursor } = await pageOf({
    list: ['reviews', store.organization.id, spanId],
    query,
    place: ['number'],
    read: async (limit, after) => {
      const page = { limit, before: after?.[0] ?? Number.MAX_SAFE_INTEGER }
      const { items, hasMore } = await requireFound(caller, await readReviews(store, spanId, page), isForeign)
      const last = items.at(-1)
      return { items, nextPlace: hasMore && last ? [last.number] : null }
    },
  })
  return { status: 200, body: { reviews: items.map(toReviewRecord), nextCursor } }
})
