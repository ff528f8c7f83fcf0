import * as v from 'valibot'
import { endpoint } from '../api/endpoint.ts'
import { EVENT_ID, WEBHOOK_ID } from '../api/story.ts'
import { newId } from '../domain/ids.ts'
import { DELIVERY_STATES } from '../domain/webhook.ts'
import { described, isoTime, Uuid } from '../http/atoms.ts'
import { NextCursor, pageOf, pageParameters } from '../http/cursor.ts'
import { EVENT_RETENTION_DAYS } from '../limits.ts'
import {
  addTestDelivery,
  listDeliveries as readDeliveries,
  replayDelivery as resetDelivery,
  type Delivery as StoredDelivery,
} from '../store/webhooks/deliveries.ts'
import type { WebhookRecord } from '../store/webhooks/webhooks.ts'
import { delivery } from './examples.ts'
import { bodyFor } from './formats.ts'
import { DISABLED, requireDelivery, requireEnabled, requireWebhook } from './frame.ts'
import { envelopeOf } from './payload.ts'
import { Delivery, timeOrNull } from './wire.ts'

export const listDeliveries = endpoint({
  family: 'webhook',
  method: 'GET',
  path: '/api/webhooks/{webhookId}/deliveries',
  summary: "List a webhook's deliveries, newest events first",
  description: `Deliveries are kept for ${EVENT_RETENTION_DAYS} days after their event, and longer while they're pending. Deleting a trace deletes its deliveries: no pending events about it are sent, except the deletion itself.`,
  scope: 'manage',
  params: v.object({ webhookId: Uuid }),
  query: v.strictObject({
    state: v.optional(described(v.picklist(DELIVERY_STATES), 'Only deliveries in this state')),
    ...pageParameters,
  }),
  responses: { 200: v.object({ deliveries: v.array(Delivery), nextCursor: NextCursor }) },
  example: {
    params: { webhookId: WEBHOOK_ID },
    answers: { 200: { deliveries: [delivery], nextCursor: null } },
  },
}).handle(async context => {
  const { params, query, store } = context
  const webhook = await requireWebhook(context, params.webhookId)
  const { items, nextCursor } = await pageOf({
    list: ['deliveries', store.organization.id, webhook.id, query.state ?? ''],
    query,
    place: ['string'],
    read: (limit, after) => readDeliveries(store, webhook, { state: query.state, limit, after: after?.[0] }),
  })
  return { status: 200, body: { deliveries: items.map(each => toDelivery(webhook, each)), nextCursor } }
})

export const testWebhook = endpoint({
  family: 'webhook',
  method: 'POST',
  path: '/api/webhooks/{webhookId}/test',
  summary: 'Send a test event to a webhook',
  description:
    'Sends a `webhook.test` event, even if deliveries are paused after failures. The list of deliveries shows the result, usually after a second.',
  scope: 'manage',
  params: v.object({ webhookId: Uuid }),
  errors: { 409: DISABLED },
  responses: { 202: Delivery },
  example: {
    params: { webhookId: WEBHOOK_ID },
    answers: { 202: { ...delivery, type: 'webhook.test', attempts: 0, attempt: null } },
  },
}).handle(async context => {
  const { params, store, act } = context
  const webhook = await requireWebhook(context, params.webhookId)
  requireEnabled(webhook)
  const id = newId()
  await addTestDelivery(store, act, webhook, id)
  return { status: 202, body: toDelivery(webhook, await requireDelivery(store, webhook, id)) }
})

export const replayDelivery = endpoint({
  family: 'webhook',
  method: 'POST',
  path: '/api/webhooks/{webhookId}/deliveries/{deliveryId}/replay',
  summary: 'Send an event to a webhook again',
  description:
    'Starts over with new attempts and the same `webhook-id`. If the delivery is pending, this only moves up its next attempt, and the attempts so far still count.',
  scope: 'manage',
  params: v.object({ webhookId: Uuid, deliveryId: Uuid }),
  errors: { 409: DISABLED },
  responses: { 202: Delivery },
  example: {
    params: { webhookId: WEBHOOK_ID, deliveryId: EVENT_ID },
    answers: { 202: { ...delivery, attempts: 0 } },
  },
}).handle(async context => {
  const { params, store, act } = context
  const webhook = await requireWebhook(context, params.webhookId)
  requireEnabled(webhook)
  const before = await requireDelivery(store, webhook, params.deliveryId)
  await resetDelivery(store, act, webhook, before)
  return { status: 202, body: toDelivery(webhook, await requireDelivery(store, webhook, params.deliveryId)) }
})

const toDelivery = (webhook: WebhookRecord, found: StoredDelivery): v.InferOutput<typeof Delivery> => ({
  id: found.id,
  type: found.type,
  at: isoTime(found.at),
  state: found.state,
  attempts: found.attempts,
  nextAttemptAt: timeOrNull(found.nextAttemptAt),
  request: { body: bodyFor(webhook, envelopeOf(found)) },
  attempt:
    found.attemptedAt === null
      ? null
      : {
          at: isoTime(found.attemptedAt),
          durationMs: found.durationMs,
          status: found.status,
          error: found.fault,
          answer: found.answer,
        },
})
