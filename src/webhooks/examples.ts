import type { Shown } from '../api/contract.ts'
import {
  CREATED,
  EVENT_ID,
  JUDGED,
  PROJECT_ID,
  REVIEW_ID,
  SPAN_ID,
  TRACE_ID,
  TRACE_UUID,
  USER_ID,
  WEBHOOK_ID,
} from '../api/story.ts'
import type { Delivery, Webhook, WebhookWithSecret } from './wire.ts'

export const webhook: Shown<typeof Webhook> = {
  id: WEBHOOK_ID,
  projectId: PROJECT_ID,
  url: 'https://hooks.example.com/countersign',
  isReadable: true,
  events: ['span.reviewed', 'span.disputed'],
  format: 'json',
  includeValues: false,
  description: 'Copies corrections to the warehouse',
  enabled: true,
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  previousSecretUntil: null,
  createdAt: CREATED,
  updatedAt: CREATED,
}

export const newWebhook: Shown<typeof WebhookWithSecret> = {
  ...webhook,
  secret: 'whsec_Zm9yIHRoZSBkb2N1bWVudGF0aW9uIG9ubHkhISEhISE=',
}

export const delivery: Shown<typeof Delivery> = {
  id: EVENT_ID,
  type: 'span.reviewed',
  at: JUDGED,
  state: 'pending',
  attempts: 1,
  nextAttemptAt: '2026-11-21T11:13:00.000Z',
  request: {
    body: {
      type: 'span.reviewed',
      timestamp: JUDGED,
      data: {
        sequence: 4711,
        at: JUDGED,
        projectId: PROJECT_ID,
        projectSlug: 'support',
        trace: { id: TRACE_UUID, traceId: TRACE_ID },
        reviewId: REVIEW_ID,
        spanId: SPAN_ID,
        stepId: 'generate-answer',
        decision: 'correct',
        state: 'corrected',
        errorType: 'wrong_value',
        promptVersionId: null,
        by: USER_ID,
      },
    },
  },
  attempt: { at: JUDGED, durationMs: 84, status: 502, error: 'The receiver returned 502', answer: 'Bad gateway' },
}
