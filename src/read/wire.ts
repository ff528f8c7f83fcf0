import * as v from 'valibot'
import { RATINGS } from '../domain/feedback.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { IsoTime, isoTime, JsonObjectValue, JsonValue, Uuid } from '../http/atoms.ts'
import type { FeedbackDetail, SpanDetail, TraceDetail } from '../store/trace-detail.ts'
import type { TraceSummary } from '../store/traces.ts'

const summaryFields = {
  id: Uuid,
  traceId: v.pipe(v.string(), v.metadata({ description: "The client's trace_id" })),
  name: v.string(),
  status: v.picklist(TRACE_STATUSES),
  metadata: JsonObjectValue,
  durationMs: v.nullable(v.number()),
  createdAt: IsoTime,
  updatedAt: IsoTime,
}

export const TraceItem = v.object({ ...summaryFields, spanCount: v.number(), feedbackCount: v.number() })

export const Span = v.object({
  id: Uuid,
  parentSpanId: v.nullable(Uuid),
  stepId: v.string(),
  input: JsonValue,
  output: JsonValue,
  approvedOutput: v.pipe(JsonValue, v.metadata({ description: 'null: not reviewed yet' })),
  state: v.pipe(JsonObjectValue, v.metadata({ description: 'The last value of each state key' })),
  promptVersionId: v.nullable(Uuid),
  metadata: JsonObjectValue,
  createdAt: IsoTime,
})

export const Feedback = v.object({
  id: Uuid,
  spanId: Uuid,
  userId: Uuid,
  content: v.string(),
  rating: v.nullable(v.union([v.picklist(RATINGS), v.number()])),
  correction: v.nullable(JsonObjectValue),
  labeller: v.nullable(v.object({ name: v.optional(v.string()), email: v.optional(v.string()) })),
  source: v.literal('api'),
  createdAt: IsoTime,
})

export const Trace = v.object({ ...TraceItem.entries, spans: v.array(Span), feedback: v.array(Feedback) })

export const toTraceItem = (trace: TraceSummary): v.InferOutput<typeof TraceItem> => ({
  id: trace.id,
  traceId: trace.traceId,
  name: trace.name,
  status: trace.status,
  metadata: trace.metadata,
  durationMs: trace.durationMs,
  createdAt: isoTime(trace.timestamp),
  updatedAt: isoTime(trace.updatedAt),
  spanCount: trace.spanCount,
  feedbackCount: trace.feedbackCount,
})

export const toTrace = (trace: TraceDetail): v.InferOutput<typeof Trace> => ({
  ...toTraceItem({ ...trace, spanCount: trace.spans.length, feedbackCount: trace.feedback.length }),
  spans: trace.spans.map(toSpan),
  feedback: trace.feedback.map(toFeedback),
})

const toSpan = (span: SpanDetail): v.InferOutput<typeof Span> => ({
  id: span.id,
  parentSpanId: span.parentId,
  stepId: span.stepId,
  input: span.input ?? null,
  output: span.output ?? null,
  approvedOutput: null,
  state: span.state,
  promptVersionId: span.promptVersionId,
  metadata: span.metadata,
  createdAt: isoTime(span.timestamp),
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
  createdAt: isoTime(feedback.timestamp),
})
