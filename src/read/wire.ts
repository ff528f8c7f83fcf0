import * as v from 'valibot'
import { FEEDBACK_SOURCES, RATINGS } from '../domain/feedback.ts'
import { WrittenJson } from '../domain/json.ts'
import {
  DECISIONS,
  REVIEW_BASES,
  REVIEW_STATES,
  TRACE_REVIEW_STATES,
  traceReviewState,
} from '../domain/review-state.ts'
import { PAYLOAD_MODES, SPAN_STATUSES } from '../domain/span.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { described, IsoTime, isoTime, StoredObject, StoredValue, Uuid, written } from '../http/atoms.ts'
import { NextCursor } from '../http/cursor.ts'
import { PREVIEW_LENGTH, PREVIEWED_ROWS } from '../limits.ts'
import type { SpanClaim } from '../store/core/claims.ts'
import type { Comment } from '../store/reviews/comments.ts'
import type { TextMatch } from '../store/search/texts.ts'
import type { LocatedSpan } from '../store/spans/located-spans.ts'
import type { SpanDetail, SpanReview } from '../store/spans/span-detail.ts'
import type { Suggestion as StoredSuggestion } from '../store/spans/suggestions.ts'
import type { FeedbackDetail, TraceDetail } from '../store/spans/trace-detail.ts'
import type { Vote as StoredVote } from '../store/spans/votes.ts'
import type { CountedTrace, ListedTrace as StoredTrace } from '../store/traces/trace-list.ts'
import { matchFields } from './text-search.ts'

const Usage = v.nullable(
  v.object({
    inputTokens: v.number(),
    outputTokens: v.number(),
    totalTokens: v.number(),
    cachedTokens: v.optional(v.number()),
    reasoningTokens: v.optional(v.number()),
  }),
)

export const TraceItem = v.object({
  id: Uuid,
  traceId: v.pipe(v.string(), v.metadata({ description: "The client's trace_id" })),
  name: v.string(),
  status: v.picklist(TRACE_STATUSES),
  metadata: StoredObject,
  durationMs: v.nullable(v.number()),
  createdAt: IsoTime,
  updatedAt: IsoTime,
  receivedAt: described(IsoTime, 'When the service first received data for it'),
  spanCount: v.number(),
  reviewedCount: v.pipe(v.number(), v.metadata({ description: "The number of spans with a review that isn't stale" })),
  staleCount: v.pipe(
    v.number(),
    v.metadata({
      description:
        'The number of spans whose output changed after the review. They are back in the queue. Spans that no longer have an output are not counted.',
    }),
  ),
  feedbackCount: v.number(),
  model: described(
    v.nullable(v.string()),
    'The model that wrote the most output tokens; if several are tied, the one with the most calls, and then the first by name. Null if no span has a model.',
  ),
  usage: described(
    Usage,
    "The sums over all spans. If a span's tokens are the sums of its child spans' tokens, only the child spans are added up. Null if no span has any tokens.",
  ),
  costUsd: described(v.nullable(v.number()), 'The sum over all spans, each counted once. Null if no span has a cost.'),
  reviewState: v.pipe(
    v.picklist(TRACE_REVIEW_STATES),
    v.metadata({
      description:
        'unreviewed: no span with an output is reviewed; accepted: all of them are reviewed, none with changes; corrected: all of them are reviewed, some with changes; mixed: only some of them are reviewed. Stale reviews are ignored.',
    }),
  ),
})

/** A trace in a list. */
export const ListedTrace = v.object({
  ...TraceItem.entries,
  inputPreview: described(
    v.nullable(v.string()),
    `The beginning of the input, up to ${PREVIEW_LENGTH} characters: the text of a message (in a conversation, the text of the user's last message), a string, or else JSON. If the root has no input, this is the input of the first step that has one, or null if none does. At most ${PREVIEWED_ROWS} of a trace's observations and ${PREVIEWED_ROWS} of its spans are searched.`,
  ),
  outputPreview: described(
    v.nullable(v.string()),
    'The beginning of the output, in the same form as `inputPreview`. If the root has no output, this is the output of the last step that has one.',
  ),
  errorType: described(
    v.nullable(v.string()),
    'The error type set by the newest review that sets one. If no review sets one, the error type that the engine names.',
  ),
  errorTypeBy: v.nullable(v.picklist(['reviewer', 'engine'])),
  ...matchFields,
})

/** The query parameter that controls how much of each value to show. */
export const Payloads = v.optional(
  v.pipe(
    v.picklist(PAYLOAD_MODES),
    v.metadata({
      description: 'preview: truncates strings over 256 bytes and shows only the beginning of large values, as JSON',
    }),
  ),
  'full',
)

const Truncated = v.pipe(
  v.array(v.string()),
  v.metadata({
    description: 'Fields shown as previews: input, output, state.<key>, suggestions.0.approvedOutput, ...',
  }),
)

/** A decision that an agent suggests. */
export const Suggestion = v.object({
  id: Uuid,
  by: described(Uuid, "The agent: its key's user, or the key if it acts for no user"),
  at: IsoTime,
  decision: v.picklist(DECISIONS),
  approvedOutput: described(StoredValue, 'The suggested correction. Null if `decision` is `accept` or `reset`.'),
  comment: v.nullable(v.string()),
  errorType: v.nullable(v.string()),
})

/** A vote: one of several reviewers' verdicts on a span. */
export const Vote = v.object({
  by: described(Uuid, 'The reviewer: a user, or the key if it acts for no user'),
  at: IsoTime,
  decision: v.picklist(['accept', 'correct']),
  approvedOutput: described(StoredValue, 'The correction. Null if `decision` is `accept`.'),
  comment: v.nullable(v.string()),
  errorType: v.nullable(v.string()),
})

export const Basis = described(
  v.nullable(v.picklist(REVIEW_BASES)),
  "votes: several reviewers agreed; `by` is the first voter, and `at` is the time of the last vote. adjudication: an adjudicator decided, either after the votes disagreed or before all of them were in. Null if it's one reviewer's own decision.",
)

export const Span = v.object({
  id: Uuid,
  parentSpanId: v.nullable(Uuid),
  stepId: v.string(),
  status: v.nullable(v.picklist(SPAN_STATUSES)),
  durationMs: v.nullable(v.number()),
  model: v.nullable(v.string()),
  provider: v.nullable(v.string()),
  usage: described(Usage, 'The tokens of a model call'),
  costUsd: v.nullable(v.number()),
  input: StoredValue,
  output: StoredValue,
  approvedOutput: v.pipe(
    StoredValue,
    v.metadata({ description: 'The output that a reviewer approved. Null if not reviewed yet.' }),
  ),
  state: v.pipe(v.record(v.string(), StoredValue), v.metadata({ description: 'The last value of each state key' })),
  promptVersionId: v.nullable(Uuid),
  metadata: StoredObject,
  review: v.object({
    state: v.picklist(REVIEW_STATES),
    by: v.nullable(Uuid),
    at: v.nullable(IsoTime),
    stale: v.pipe(v.boolean(), v.metadata({ description: 'Whether the output has changed since the review' })),
    comment: v.nullable(v.string()),
    errorType: v.nullable(v.string()),
    basis: Basis,
    reviewedBy: described(
      v.nullable(Uuid),
      'If the root has the same text as a span below it, the ID of that span, which this review belongs to. A review of the root applies to that span.',
    ),
  }),
  claim: described(
    v.nullable(v.object({ heldBy: Uuid, until: IsoTime })),
    "Who is reviewing the span (the user, or the key if it acts for no user), and when the claim ends unless it's renewed. If several people may claim the span, this is your own claim or, if you have none, another person's. Null if nobody has claimed the span. Claims don't change the ETag.",
  ),
  assignees: described(
    v.array(v.object({ userId: Uuid, dueAt: v.nullable(IsoTime) })),
    'The people that the span is assigned to, with their due dates. Empty once it is reviewed.',
  ),
  suggestions: described(
    v.array(Suggestion),
    'Decisions that agents suggest for the current output, oldest first; one per agent. They have no effect until a person decides.',
  ),
  reviewers: described(
    v.number(),
    "How many people review the span: the policy's number at the first vote or, before that, its current number. Once the span is decided, how many votes it needed, or 1 if it was decided without votes. Under a blind policy, reviewers see the current number until the span is decided.",
  ),
  votes: described(
    v.array(Vote),
    "If the step needs several reviewers, their votes on the current output or, once the span is decided, the votes before that decision. Oldest first. Votes don't change the ETag.",
  ),
  isDisputed: described(v.boolean(), "Whether all votes are in but don't agree. If so, an adjudicator decides."),
  etag: v.pipe(v.string(), v.metadata({ description: 'Changes whenever the output or the review changes' })),
  truncated: Truncated,
  createdAt: IsoTime,
  receivedAt: described(
    v.nullable(IsoTime),
    'When the service first received data for it. Null if the span arrived before the service began to record this time.',
  ),
})

/** A single span, with the trace that it belongs to. */
export const SpanOfTrace = v.object({
  ...Span.entries,
  trace: v.object({ id: Uuid, traceId: v.string(), name: v.string() }),
  ...matchFields,
})

export const Feedback = v.object({
  id: Uuid,
  spanId: Uuid,
  userId: Uuid,
  content: v.string(),
  name: described(v.nullable(v.string()), 'What the feedback is about, if the client specified it'),
  rating: v.nullable(v.union([v.picklist(RATINGS), v.number()])),
  correction: v.nullable(StoredObject),
  labeller: v.nullable(v.object({ name: v.optional(v.string()), email: v.optional(v.string()) })),
  source: v.pipe(v.picklist(FEEDBACK_SOURCES), v.metadata({ description: "review: a reviewer's comment" })),
  truncated: Truncated,
  createdAt: IsoTime,
  receivedAt: IsoTime,
})

export const Trace = v.object({
  ...TraceItem.entries,
  project: v.object({ id: Uuid, slug: v.string() }),
  spans: v.array(written(Span)),
  nextSpanCursor: described(NextCursor, 'The cursor of the next page of spans. Null on the last page.'),
  feedback: v.array(Feedback),
  nextFeedbackCursor: described(NextCursor, 'The cursor of the next page of feedback. Null on the last page.'),
})

const toTraceItem = (trace: CountedTrace): v.InferOutput<typeof TraceItem> => ({
  id: trace.id,
  traceId: trace.traceId,
  name: trace.name,
  status: trace.status,
  metadata: trace.metadata,
  durationMs: trace.durationMs,
  createdAt: isoTime(trace.timestamp),
  updatedAt: isoTime(trace.updatedAt),
  receivedAt: isoTime(trace.receivedAt),
  spanCount: trace.spanCount,
  reviewedCount: trace.reviewedCount,
  staleCount: trace.staleCount,
  feedbackCount: trace.feedbackCount,
  model: trace.model,
  usage: trace.usage,
  costUsd: trace.costUsd,
  reviewState: traceReviewState(trace),
})

export const toListedTrace = (
  trace: StoredTrace & { matches?: readonly TextMatch[] },
): v.InferOutput<typeof ListedTrace> => ({
  ...toTraceItem(trace),
  inputPreview: trace.inputPreview,
  outputPreview: trace.outputPreview,
  errorType: trace.errorType,
  errorTypeBy: trace.errorTypeBy,
  matches: trace.matches && [...trace.matches],
})

/** A span in a response that shows its trace, written as JSON. */
export const writeSpan = (span: SpanDetail) => new WrittenJson(toSpan(span))

export const toTrace = (
  trace: TraceDetail<ReturnType<typeof writeSpan>>,
  cursors: { nextSpanCursor: string | null; nextFeedbackCursor: string | null },
): v.InferOutput<typeof Trace> => ({
  ...toTraceItem(trace),
  project: { id: trace.projectId, slug: trace.projectSlug },
  spans: trace.spans,
  nextSpanCursor: cursors.nextSpanCursor,
  feedback: trace.feedback.map(toFeedback),
  nextFeedbackCursor: cursors.nextFeedbackCursor,
})

const toSpan = (span: SpanDetail): v.InferOutput<typeof Span> => ({
  id: span.id,
  parentSpanId: span.parentId,
  stepId: span.stepId,
  status: span.status,
  durationMs: span.durationMs,
  model: span.model,
  provider: span.provider,
  usage: span.usage,
  costUsd: span.costUsd,
  input: span.input,
  output: span.output,
  approvedOutput: span.approvedOutput,
  state: span.state,
  promptVersionId: span.promptVersionId,
  metadata: span.metadata,
  review: { ...toReview(span.review), reviewedBy: span.reviewedBy },
  claim: toClaim(span.claims),
  assignees: span.assignees.map(({ userId, dueAt }) => ({ userId, dueAt: dueAt === null ? null : isoTime(dueAt) })),
  suggestions: span.suggestions.map(toSuggestion),
  reviewers: span.reviewers,
  votes: span.votes.map(toVote),
  isDisputed: span.isDisputed,
  etag: `"${span.revision}"`,
  truncated: [
    ...span.truncated,
    ...span.suggestions.flatMap(({ truncated }, index) => truncated.map(field => `suggestions.${index}.${field}`)),
    ...span.votes.flatMap(({ truncated }, index) => truncated.map(field => `votes.${index}.${field}`)),
  ],
  createdAt: isoTime(span.timestamp),
  receivedAt: span.receivedAt === null ? null : isoTime(span.receivedAt),
})

/** The first of these claims that hasn't ended. */
function toClaim(claims: readonly SpanClaim[]): v.InferOutput<typeof Span>['claim'] {
  const now = Date.now()
  const claim = claims.find(({ until }) => until > now)
  return claim ? { heldBy: claim.heldBy, until: isoTime(claim.until) } : null
}

const toSuggestion = (suggestion: StoredSuggestion): v.InferOutput<typeof Suggestion> => ({
  id: suggestion.id,
  by: suggestion.userId,
  at: isoTime(suggestion.createdAt),
  decision: suggestion.decision,
  approvedOutput: suggestion.approvedOutput,
  comment: suggestion.comment,
  errorType: suggestion.errorType,
})

const toVote = (vote: StoredVote): v.InferOutput<typeof Vote> => ({
  by: vote.userId,
  at: isoTime(vote.createdAt),
  decision: vote.decision,
  approvedOutput: vote.approvedOutput,
  comment: vote.comment,
  errorType: vote.errorType,
})

const toReview = (review: SpanReview | undefined): Omit<v.InferOutput<typeof Span>['review'], 'reviewedBy'> =>
  review
    ? {
        state: review.state,
        by: review.userId,
        at: isoTime(review.createdAt),
        stale: review.isStale,
        comment: review.comment,
        errorType: review.errorType,
        basis: review.basis,
      }
    : { state: 'unreviewed', by: null, at: null, stale: false, comment: null, errorType: null, basis: null }

export const toSpanOfTrace = (
  span: LocatedSpan & { matches?: readonly TextMatch[] },
): v.InferOutput<typeof SpanOfTrace> => ({
  ...toSpan(span),
  trace: span.trace,
  matches: span.matches && [...span.matches],
})

/** A reviewer's comment in the form of feedback. */
export const toComment = ({
  id,
  spanId,
  userId,
  content,
  rating,
  createdAt,
}: Comment): v.InferOutput<typeof Feedback> => ({
  id,
  spanId,
  userId,
  content,
  name: null,
  rating,
  correction: null,
  labeller: null,
  source: 'review',
  truncated: [],
  createdAt: isoTime(createdAt),
  receivedAt: isoTime(createdAt),
})

export const toFeedback = (feedback: FeedbackDetail): v.InferOutput<typeof Feedback> => ({
  id: feedback.id,
  spanId: feedback.spanId,
  userId: feedback.userId,
  content: feedback.comment ?? '',
  name: feedback.name,
  rating: feedback.rating,
  correction: feedback.correction,
  labeller: feedback.labeller,
  source: feedback.source,
  truncated: feedback.truncated,
  createdAt: isoTime(feedback.timestamp),
  receivedAt: isoTime(feedback.receivedAt),
})
