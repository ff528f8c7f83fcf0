import * as v from 'valibot'
import { RATINGS } from '../domain/feedback.ts'
import { SPAN_STATUSES } from '../domain/span.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { IsoTime, isoTime, StoredObject, StoredValue, Uuid } from '../http/atoms.ts'
import type { LocatedSpan, SpanDetail } from '../store/span-detail.ts'
import type { FeedbackDetail, TraceDetail } from '../store/trace-detail.ts'
import type { CountedTrace } from '../store/trace-list.ts'

const REVIEW_STATES = ['unreviewed', 'accepted', 'corrected'] as const

export const TraceItem = v.object({
  id: Uuid,
  traceId: v.pipe(v.string(), v.metadata({ description: "The client's trace_id" })),
  name: v.string(),
  status: v.picklist(TRACE_STATUSES),
  metadata: StoredObject,
  durationMs: v.nullable(v.number()),
  createdAt: IsoTime,
  updatedAt: IsoTime,
  spanCount: v.number(),
  reviewedCount: v.number(),
  feedbackCount: v.number(),
  reviewState: v.pipe(
    v.picklist([...REVIEW_STATES, 'mixed']),
    v.metadata({ description: 'Of the spans with an output: none reviewed, all accepted, all reviewed, or some' }),
  ),
})

const Truncated = v.pipe(
  v.array(v.string()),
  v.metadata({ description: 'The fields that are shown as previews: input, output, state.<key>, ...' }),
)

export const Span = v.object({
  id: Uuid,
  parentSpanId: v.nullable(Uuid),
  stepId: v.string(),
  status: v.nullable(v.picklist(SPAN_STATUSES)),
  durationMs: v.nullable(v.number()),
  input: StoredValue,
  output: StoredValue,
  approvedOutput: v.pipe(v.null(), v.metadata({ description: 'null: not reviewed yet' })),
  state: v.pipe(v.record(v.string(), StoredValue), v.metadata({ description: 'The last value of each state key' })),
  promptVersionId: v.nullable(Uuid),
  metadata: StoredObject,
  review: v.object({
    state: v.picklist(REVIEW_STATES),
    by: v.nullable(Uuid),
    at: v.nullable(IsoTime),
    stale: v.boolean(),
  }),
  etag: v.pipe(v.string(), v.metadata({ description: 'Changes with the output and the review' })),
  truncated: Truncated,
  createdAt: IsoTime,
})

/** A span on its own, which must say what it is part of. */
export const SpanOfTrace = v.object({
  ...Span.entries,
  trace: v.object({ id: Uuid, traceId: v.string(), name: v.string() }),
})

export const Feedback = v.object({
  id: Uuid,
  spanId: Uuid,
  userId: Uuid,
  content: v.string(),
  rating: v.nullable(v.union([v.picklist(RATINGS), v.number()])),
  correction: v.nullable(StoredObject),
  labeller: v.nullable(v.object({ name: v.optional(v.string()), email: v.optional(v.string()) })),
  source: v.literal('api'),
  truncated: Truncated,
  createdAt: IsoTime,
})

export const Trace = v.object({ ...TraceItem.entries, spans: v.array(Span), feedback: v.array(Feedback) })

export const toTraceItem = (trace: CountedTrace): v.InferOutput<typeof TraceItem> => ({
  id: trace.id,
  traceId: trace.traceId,
  name: trace.name,
  status: trace.status,
  metadata: trace.metadata,
  durationMs: trace.durationMs,
  createdAt: isoTime(trace.timestamp),
  updatedAt: isoTime(trace.updatedAt),
  spanCount: trace.spanCount,
  reviewedCount: 0,
  feedbackCount: trace.feedbackCount,
  reviewState: 'unreviewed',
})

export const toTrace = (trace: TraceDetail): v.InferOutput<typeof Trace> => ({
  ...toTraceItem({
    ...trace,
    spanCount: trace.spans.length,
    feedbackCount: trace.feedback.length,
  }),
  spans: trace.spans.map(toSpan),
  feedback: trace.feedback.map(toFeedback),
})

const toSpan = (span: SpanDetail): v.InferOutput<typeof Span> => ({
  id: span.id,
  parentSpanId: span.parentId,
  stepId: span.stepId,
  status: span.status,
  durationMs: span.durationMs,
  input: span.input,
  output: span.output,
  approvedOutput: null,
  state: span.state,
  promptVersionId: span.promptVersionId,
  metadata: span.metadata,
  review: { state: 'unreviewed', by: null, at: null, stale: false },
  etag: `"${span.outputRevision}"`,
  truncated: span.truncated,
  createdAt: isoTime(span.timestamp),
})

export const toSpanOfTrace = (span: LocatedSpan): v.InferOutput<typeof SpanOfTrace> => ({
  ...toSpan(span),
  trace: span.trace,
})

const toFeedback = (feedback: FeedbackDetail): v.InferOutput<typeof Feedback> => ({
  id: feedback.id,
  spanId: feedback.spanId,
  userId: feedback.userId,
  content: feedback.comment ?? '',
  rating: feedback.rating,
  correction: feedback.correction,
  labeller: feedback.labeller,
  source: 'api',
  truncated: feedback.truncated,
  createdAt: isoTime(feedback.timestamp),
})
