import type { JsonObject } from '../domain/json.ts'
import type { WebhookFormat } from '../domain/webhook.ts'
import type { Envelope } from './payload.ts'
import { slackMessage } from './slack.ts'

/** The body of a delivery, in the webhook's format. */
export const bodyFor = (
  { format, origin }: { format: WebhookFormat; origin: string },
  envelope: Envelope,
): JsonObject => (format === 'slack' ? slackMessage(envelope, origin) : { ...envelope })
