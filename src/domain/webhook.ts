/** The events that a webhook can subscribe to. */
export const EVENT_TYPES = [
  'span.reviewed',
  'span.disputed',
  'feedback.created',
  'attribution.finished',
  'prompt.activated',
  'prompt.rolled_back',
  'experiment.finished',
  'problem.changed',
  'trace.deleted',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** The event that only `POST …/test` sends, to one webhook. */
export const TEST_EVENT = 'webhook.test'

/** What an event or a delivery is about. */
export type SentType = EventType | typeof TEST_EVENT

/** `json` is the Standard Webhooks envelope. `slack` is a message for a Slack incoming webhook. */
export const WEBHOOK_FORMATS = ['json', 'slack'] as const
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number]

/** Why a webhook sends nothing. */
export const DISABLED_REASONS = ['manager', 'gone', 'failing'] as const

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]
