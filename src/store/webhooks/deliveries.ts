import { and, desc, eq, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { DeliveryState, SentType } from '../../domain/webhook.ts'
import { TEST_EVENT } from '../../domain/webhook.ts'
import { type Act, actorOf, recordAct } from '../accounts/audit.ts'
import { isOneOf, selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { traces } from '../schema/traces.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../schema/webhooks.ts'
import { isVeiledEvent } from './veiled-events.ts'
import type { WebhookRecord } from './webhooks.ts'

/** An event, and the state of its delivery to one webhook. */
export interface Delivery {
  sequence: number
  /** The event's. */
  id: string
  type: SentType
  at: number
  /** Null for a test event of a webhook for every project. */
  project: { id: string; slug: string } | null
  actorId: string | null
  /** As in `webhook_events`. */
  data: string
  /** The live trace. Null if there is none or it's deleted. */
  trace: { id: string; traceId: string } | null
  state: DeliveryState
  attempts: number
  nextAttemptAt: number | null
  attemptedAt: number | null
  durationMs: number | null
  status: number | null
  fault: string | null
  answer: string | null
}

/** The columns of an event that its payload needs, with its project and `ofLiveTrace` joined. */
const eventColumns = {
  sequence: webhookEvents.sequence,
  id: webhookEvents.id,
  // Only this code writes types, but another release may know more of them.
  type: sql<SentType>`${webhookEvents.type}`,
  at: webhookEvents.at,
  project: { id: projects.id, slug: projects.slug },
  actorId: webhookEvents.actorId,
  data: webhookEvents.data,
  trace: { id: traces.id, traceId: traces.traceId },
}

const ofLiveTrace = and(eq(traces.key, webhookEvents.traceKey), isNull(traces.deletedAt))

const selectDeliveries = ({ database, organization }: Store, webhookKey: number, condition: SQL | undefined) =>
  database
    .select({
      ...eventColumns,
      state: webhookDeliveries.state,
      attempts: webhookDeliveries.attempts,
      nextAttemptAt: webhookDeliveries.nextAttemptAt,
      attemptedAt: webhookDeliveries.attemptedAt,
      durationMs: webhookDeliveries.durationMs,
      status: webhookDeliveries.status,
      fault: webhookDeliveries.fault,
      answer: webhookDeliveries.answer,
    })
    .from(webhookDeliveries)
    .innerJoin(webhookEvents, eq(webhookEvents.sequence, webhookDeliveries.sequence))
    .leftJoin(projects, eq(projects.key, webhookEvents.projectKey))
    .leftJoin(traces, ofLiveTrace)
    .where(
      and(eq(webhookDeliveries.webhookKey, webhookKey), eq(webhookEvents.organizationKey, organization.key), condition),
    )

/** A page of a webhook's deliveries, newest events first. */
export const listDeliveries = (
  store: Store,
  webhook: { key: number },
  { state, limit, before }: { state: DeliveryState | undefined; limit: number; before: number | undefined },
): Promise<Delivery[]> =>
  selectDeliveries(
    store,
    webhook.key,
    and(
      state && eq(webhookDeliveries.state, state),
      before === undefined ? undefined : lt(webhookDeliveries.sequence, before),
    ),
  )
    .orderBy(desc(webhookDeliveries.sequence))
    .limit(limit)

/** Finds a webhook's delivery of an event. */
export async function findDelivery(
  store: Store,
  webhook: { key: number },
  eventId: string,
): Promise<Delivery | undefined> {
  const [row] = await selectDeliveries(store, webhook.key, eq(webhookEvents.id, eventId))
  return row
}

/** Lets the next run look at a webhook, even if it rests. */
function wake(
  { database, outbox }: Store,
  { key, projectKey }: Pick<WebhookRecord, 'key' | 'projectKey'>,
  now: number,
) {
  outbox.add(projectKey)
  return database.update(webhooks).set({ dueAt: now, restsUntil: null }).where(eq(webhooks.key, key))
}

/** Adds a test event for one webhook. A retry with the same id doesn't add a second one. */
export async function addTestDelivery(
  store: Store,
  act: Act,
  webhook: Pick<WebhookRecord, 'key' | 'id' | 'projectKey'>,
  id: string,
): Promise<void> {
  const { database, organization } = store
  const { key: webhookKey, id: webhookId, projectKey } = webhook
  const now = act.at
  const isThis = sql`${webhookEvents.id} = ${id}`
  await database.batch([
    database
      .insert(webhookEvents)
      .values({
        id,
        organizationKey: organization.key,
        projectKey,
        type: TEST_EVENT,
        traceKey: null,
        subjectId: id,
        actorId: actorOf(act),
        at: now,
        data: '{}',
        isNew: false,
      })
      .onConflictDoNothing(),
    database
      .insert(webhookDeliveries)
      .select(
        selectFor(
          webhookDeliveries,
          { ...newDelivery(now), webhookKey, sequence: webhookEvents.sequence },
          sql`from ${webhookEvents} where ${isThis}`,
        ),
      )
      .onConflictDoNothing(),
    wake(store, webhook, now),
    recordAct(store, act, { action: 'webhook.test', targetId: webhookId, projectKey, afterId: id }),
  ])
}

/** The columns of a delivery before its first attempt. */
export const newDelivery = (now: number) => ({
  state: 'pending' as const,
  attempts: 0,
  nextAttemptAt: now,
  leaseToken: null,
  attemptedAt: null,
  durationMs: null,
  status: null,
  fault: null,
  answer: null,
})

/**
 * Starts a delivery's attempts over. A pending one is attempted at once, and keeps its count. One that a run is sending
 * right now is sent once more.
 */
export async function replayDelivery(
  store: Store,
  act: Act,
  webhook: Pick<WebhookRecord, 'key' | 'id' | 'projectKey'>,
  { sequence, id }: Pick<Delivery, 'sequence' | 'id'>,
): Promise<void> {
  const { database } = store
  const { key, id: webhookId, projectKey } = webhook
  await database.batch([
    database
      .update(webhookDeliveries)
      .set({
        state: 'pending',
        attempts: sql`iif(${webhookDeliveries.state} = 'pending', ${webhookDeliveries.attempts}, 0)`,
        nextAttemptAt: act.at,
        leaseToken: null,
      })
      .where(and(eq(webhookDeliveries.webhookKey, key), eq(webhookDeliveries.sequence, sequence))),
    wake(store, webhook, act.at),
    recordAct(store, act, { action: 'webhook.replay', targetId: webhookId, projectKey, afterId: id }),
  ])
}

/** An event to send. */
export interface SendableEvent extends Omit<Delivery, keyof typeof webhookDeliveries.$inferSelect> {
  sequence: number
  /** As in `webhook_events`. */
  traceKey: number | null
  subjectId: string
  /** Whether its trace was deleted in the meantime. */
  isGone: boolean
  /** Whether a blind policy hides it now. */
  isVeiled: boolean
}

/** Reads the events of deliveries, by sequence. */
export async function findEvents(
  { database, organization }: Store,
  sequences: readonly number[],
): Promise<Map<number, SendableEvent>> {
  const rows = await database
    .select({
      ...eventColumns,
      traceKey: webhookEvents.traceKey,
      subjectId: webhookEvents.subjectId,
      isGone: sql`(${webhookEvents.traceKey} is not null and ${traces.key} is null)`.mapWith(Boolean),
      isVeiled: isVeiledEvent.mapWith(Boolean),
    })
    .from(webhookEvents)
    .leftJoin(projects, eq(projects.key, webhookEvents.projectKey))
    .leftJoin(traces, ofLiveTrace)
    .where(and(isOneOf(webhookEvents.sequence, sequences), eq(webhookEvents.organizationKey, organization.key)))
  return new Map(rows.map(row => [row.sequence, row]))
}
