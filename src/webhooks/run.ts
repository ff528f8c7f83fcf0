import { newId } from '../domain/ids.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Env } from '../env.ts'
import { logFault } from '../http/errors.ts'
import {
  CONCURRENT_DELIVERIES,
  DELIVERY_RUN_CLAIMS,
  DELIVERY_RUN_MS,
  FAN_OUT_STEPS,
  FANNED_OUT_EVENTS,
  WEBHOOK_DEAD_AFTER_MS,
} from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import { findEvents, type SendableEvent } from '../store/webhooks/deliveries.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  dropDeliveries,
  fanOut,
  finishAttempt,
  listSendingWebhooks,
  planNextRun,
  releaseDeliveries,
  switchOff,
} from '../store/webhooks/sending.ts'
import type { WebhookRecord } from '../store/webhooks/webhooks.ts'
import { attemptDelivery } from './deliver.ts'
import { readDetails } from './details.ts'
import { bodyFor } from './formats.ts'
import { envelopeOf } from './payload.ts'
import { type Sealed, unseal, webhookKeyOf } from './secrets.ts'

/** A receiver during a run. */
interface Receiver {
  webhook: WebhookRecord
  sealed: Sealed
  /** Whether it failed during this run, so that it gets nothing more in it. */
  isDown: boolean
}

/**
 * Sends a project's events, for a limited time. Returns when to continue, or null if nothing is left. Several runs may
 * overlap, because a run takes a lease on each delivery.
 */
export async function sendEvents(env: Env, store: Store, projectKey: number | null): Promise<number | null> {
  const startedAt = Date.now()
  const webhooks = await listSendingWebhooks(store, projectKey)
  const hasMore = projectKey !== null && (await fanOutAll(store, projectKey, webhooks))
  const receivers = await open(env, webhooks)
  if (receivers.size === 0) return hasMore ? startedAt : null
  const token = newId()
  for (let claims = 0; claims < DELIVERY_RUN_CLAIMS && Date.now() - startedAt < DELIVERY_RUN_MS; claims++) {
    const ready = [...receivers.values()].filter(({ isDown }) => !isDown).map(({ webhook }) => webhook)
    const claimed = await claimDeliveries(store, ready, { token, now: Date.now() })
    if (claimed.length === 0) break
    await sendAll(env, store, receivers, claimed, token)
  }
  // A webhook that can't be decrypted stays due. Planning for it would send this job again at once.
  const readable = Array.from(receivers.values(), ({ webhook }) => webhook)
  const next = await planNextRun(store, readable)
  return hasMore ? startedAt : next
}

/** Turns new events into deliveries. Returns whether there may be more. */
async function fanOutAll(store: Store, projectKey: number, webhooks: readonly WebhookRecord[]): Promise<boolean> {
  for (let step = 0; step < FAN_OUT_STEPS; step++) {
    const count = await fanOut(store, projectKey, webhooks, { now: Date.now(), limit: FANNED_OUT_EVENTS })
    if (count < FANNED_OUT_EVENTS) return false
  }
  return true
}

/** Decrypts the webhooks' URLs and secrets. Leaves out and logs those that were stored under a different key. */
async function open(env: Env, webhooks: readonly WebhookRecord[]): Promise<Map<number, Receiver>> {
  const receivers = new Map<number, Receiver>()
  if (webhooks.length === 0) return receivers
  const key = await webhookKeyOf(env)
  for (const webhook of webhooks) {
    try {
      const sealed = await unseal(key, webhook.id, webhook.sealed)
      receivers.set(webhook.key, { webhook, sealed, isDown: false })
    } catch (error) {
      logFault('webhook_unreadable', { webhookId: webhook.id }, error)
    }
  }
  return receivers
}

/** Sends claimed deliveries, a few at a time. */
async function sendAll(
  env: Env,
  store: Store,
  receivers: ReadonlyMap<number, Receiver>,
  claimed: readonly ClaimedDelivery[],
  token: string,
): Promise<void> {
  const events = await findEvents(
    store,
    claimed.map(({ sequence }) => sequence),
  )
  const waiting = [...claimed]
  const released: ClaimedDelivery[] = []
  const dropped: ClaimedDelivery[] = []
  const lane = async () => {
    for (let delivery = waiting.shift(); delivery; delivery = waiting.shift()) {
      const receiver = receivers.get(delivery.webhookKey)
      const event = events.get(delivery.sequence)
      if (!event || event.isGone || event.isVeiled) dropped.push(delivery)
      else if (!receiver || receiver.isDown) released.push(delivery)
      else {
        const details = await readDetails(store, event, receiver.webhook)
        if (details) await sendOne(env, store, receiver, delivery, { ...event, details }, token)
        else dropped.push(delivery)
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_DELIVERIES }, lane))
  await dropDeliveries(store, dropped, token)
  await releaseDeliveries(store, released, token, Date.now())
}

/** Sends one event to one receiver, and stores the outcome. */
async function sendOne(
  env: Env,
  store: Store,
  receiver: Receiver,
  delivery: ClaimedDelivery,
  event: SendableEvent & { details: JsonObject },
  token: string,
): Promise<void> {
  const { webhook, sealed } = receiver
  const isOldValid = webhook.oldSecretUntil !== null && webhook.oldSecretUntil > Date.now()
  const { isGone, ...outcome } = await attemptDelivery(
    {
      url: sealed.url,
      id: event.id,
      body: JSON.stringify(bodyFor(webhook, envelopeOf(event, event.details))),
      secrets: [sealed.secret, ...(isOldValid && sealed.oldSecret !== null ? [sealed.oldSecret] : [])],
      attempts: delivery.attempts,
      isSlack: webhook.format === 'slack',
    },
    env,
  )
  if (outcome.isDown || isGone) receiver.isDown = true
  await finishAttempt(store, delivery, token, outcome)
  const at = outcome.attemptedAt + outcome.durationMs
  const hasFailedLong =
    !outcome.isSuccess && webhook.failingSince !== null && at - webhook.failingSince >= WEBHOOK_DEAD_AFTER_MS
  if (isGone || hasFailedLong) {
    await switchOff(store, webhook, isGone ? 'gone' : 'failing', { now: at, requestId: newId() })
    receiver.isDown = true
  }
}
