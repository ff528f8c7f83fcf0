import { newUuid } from './ids.ts'
import type { Recorder } from './recorder.ts'
import type { FeedbackBody } from './wire.ts'

/** Feedback on a trace or one of its spans. */
export interface FeedbackFields {
  /** What the feedback is about, for example `helpfulness`. */
  name?: FeedbackBody['name']
  /** `positive`, `negative`, or a number from 0.0 to 1.0. */
  rating?: FeedbackBody['rating']
  comment?: FeedbackBody['comment']
  /** The correct result, in fields of your choice: `answer`, `category`, `explanation`, ... */
  correction?: object | undefined
  /** The person who gave the feedback. */
  labeller?: FeedbackBody['labeller']
  /** The id of earlier feedback, to update it. */
  feedbackId?: string | undefined
  /** The span that the feedback is about. If absent, it's about the whole trace. */
  spanId?: string | undefined
  /** When the feedback was given. Default: now. */
  timestamp?: Date | string | undefined
}

/**
 * Records feedback. Returns its id.
 * @internal
 */
export function recordFeedback(recorder: Recorder, traceId: string, fields: FeedbackFields): string {
  const { name, rating, comment, correction, labeller, feedbackId = newUuid(), spanId, timestamp } = { ...fields }
  const event = { type: 'feedback', traceId, id: feedbackId } as const
  recorder.add(
    event,
    {
      trace_id: traceId,
      feedback_id: feedbackId,
      span_id: spanId,
      name,
      rating,
      comment,
      labeller,
      timestamp: recorder.time(event, timestamp),
    },
    { correction: correction && recorder.encode(event, 'correction', () => correction) },
  )
  return feedbackId
}
