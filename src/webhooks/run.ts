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
  UNREADABLE_PAUSE_MS,
  WEBHOOK_DEAD_AFTER_MS,
  WEBHOOK_RUN_LEASE_MS,
} from '../limits.ts'
import type { Store } from '../store/core/store.ts'
import { findEvents, type SendableEvent } from '../store/webhooks/deliveries.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  dropDeliveries,
  fanOut,
  finishAttempt,
  giveBackReceivers,
  listSendingWebhooks,
  postponeWebhooks,
  releaseDeliveries,
  switchOff,
  takeReceivers,
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
  /** Whether the receiver has failed during this run. If so, the run sends nothing more to it. */
  isDown: boolean
}

/**
 * Sends a project's new events in a database, and other deliveries to the same webhooks in every database, for a
 * limited time. Returns when to continue, or null if nothing is left. Several runs may overlap, because a run takes a
 * lease on each webhook, and on each delivery.
 */
export async function sendEvents(env: Env, store: Store, projectKey: number | null): Promise<number | null> {
  const startedAt = Date.now()
  const webhooks = await listSendingWebhooks(store, projectKey)
  const hasMore = projectKey !== null && (await fanOutAll(store, projectKey, webhooks))
  const receivers = await open(env, store, webhooks)
  const next = receivers.length === 0 ? null : await sendTo(env, store, receivers, startedAt)
  return hasMore ? startedAt : next
}

/** Sends to the receivers that no other run is sending to. Returns when to continue, or null if nothing is left. */
async function sendTo(
  env: Env,
  store: Store,
  receivers: readonly Receiver[],
  startedAt: number,
): Promise<number | null> {
  const busyUntil = startedAt + WEBHOOK_RUN_LEASE_MS
  const webhooks = receivers.map(({ webhook }) => webhook)
  const taken = await takeReceivers(store, webhooks, { now: startedAt, busyUntil })
  const mine = new Map(
    receivers.filter(({ webhook }) => taken.has(webhook.key)).map(receiver => [receiver.webhook.key, receiver]),
  )
  if (mine.size === 0) return null
  const token = newId()
  const endsAt = startedAt + DELIVERY_RUN_MS
  for (let claims = 0; claims < DELIVERY_RUN_CLAIMS && Date.now() < endsAt; claims++) {
    const ready = [...mine.values()].filter(({ isDown }) => !isDown).map(({ webhook }) => webhook)
    const claimed = await claimDeliveries(store, ready, { token, now: Date.now() })
    if (claimed.length === 0) break
    await sendAll(env, mine, claimed, { token, endsAt })
  }
  return giveBackReceivers(store, webhooks, busyUntil)
}

/** Turns new events into deliveries. Returns whether there may be more. */
async function fanOutAll(store: Store, projectKey: number, webhooks: readonly WebhookRecord[]): Promise<boolean> {
  for (let step = 0; step < FAN_OUT_STEPS; step++) {
    const count = await fanOut(store, projectKey, webhooks, { now: Date.now(), limit: FANNED_OUT_EVENTS })
    if (count < FANNED_OUT_EVENTS) return false
  }
  return true
}

/**
 * Decrypts the webhooks' URLs and secrets. Logs an error for webhooks that were encrypted with a different key. Their
 * events wait until somebody restores the key. After five days, the webhooks are disabled.
 */
async function open(env: Env, store: Store, webhooks: readonly WebhookRecord[]): Promise<Receiver[]> {
  if (webhooks.length === 0) return []
  const receivers: Receiver[] = []
  const unreadable: WebhookRecord[] = []
  const key = await webhookKeyOf(env).catch((error: unknown) => error)
  for (const webhook of webhooks) {
    try {
      if (!(key instanceof CryptoKey)) throw key
      receivers.push({ webhook, sealed: await unseal(key, webhook.id, webhook.sealed), isDown: false })
    } catch (error) {
      const reason = error instanceof Error ? error.message : null
      logFault('webhook_unreadable', { webhookId: webhook.id, reason }, error)
      unreadable.push(webhook)
    }
  }
  if (unreadable.length > 0) await postpone(store, unreadable, Date.now())
  return receivers
}

async function postpone(store: Store, webhooks: readonly WebhookRecord[], now: number): Promise<void> {
  await postponeWebhooks(store, webhooks, { now, until: now + UNREADABLE_PAUSE_MS })
  for (const webhook of webhooks) {
    if (hasFailedLong(webhook, now)) await switchOff(store, webhook, 'failing', { now, requestId: newId() })
  }
}

/** Whether a webhook that fails now has failed for too long. */
const hasFailedLong = ({ failingSince }: WebhookRecord, now: number): boolean =>
  failingSince !== null && now - failingSince >= WEBHOOK_DEAD_AFTER_MS

/** Sends claimed deliveries, a few at a time. Starts none after `endsAt`. */
async function sendAll(
  env: Env,
  receivers: ReadonlyMap<number, Receiver>,
  claimed: readonly ClaimedDelivery[],
  { token, endsAt }: { token: string; endsAt: number },
): Promise<void> {
  const events = await findEventsOf(claimed)
  const waiting = [...claimed]
  const released: ClaimedDelivery[] = []
  const dropped: ClaimedDelivery[] = []
  const lane = async () => {
    for (let delivery = waiting.shift(); delivery; delivery = waiting.shift()) {
      const receiver = receivers.get(delivery.webhookKey)
      const event = events.get(delivery)
      if (!event || event.isGone || event.isVeiled) dropped.push(delivery)
      else if (!receiver || receiver.isDown || Date.now() >= endsAt) released.push(delivery)
      else {
        const details = await readDetails(delivery.store, event, receiver.webhook)
        if (details) await sendOne(env, receiver, delivery, { ...event, details }, token)
        else dropped.push(delivery)
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_DELIVERIES }, lane))
  await dropDeliveries(dropped, token)
  await releaseDeliveries(released, token, Date.now())
}

/** The events of deliveries, each from its own database. */
async function findEventsOf(claimed: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, SendableEvent>> {
  const found = await Promise.all(
    Array.from(
      Map.groupBy(claimed, ({ store }) => store),
      async ([store, deliveries]) => {
        const events = await findEvents(
          store,
          deliveries.map(({ sequence }) => sequence),
        )
        return deliveries.flatMap(delivery => {
          const event = events.get(delivery.sequence)
          return event ? [[delivery, event] as const] : []
        })
      },
    ),
  )
  return new Map(found.flat())
}

/** Sends one event to one receiver, and stores the outcome. */
async function sendOne(
  env: Env,
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
  await finishAttempt(delivery, token, outcome)
  const at = outcome.attemptedAt + outcome.durationMs
  if (isGone || (!outcome.isSuccess && hasFailedLong(webhook, at))) {
    await switchOff(delivery.store, webhook, isGone ? 'gone' : 'failing', { now: at, requestId: newId() })
    receiver.isDown = true
  }
}
