import { and, desc, eq, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { DeliveryState, SentType } from '../../domain/webhook.ts'
import { TEST_EVENT } from '../../domain/webhook.ts'
import { type Act, actorOf, recordAct } from '../accounts/audit.ts'
import { readEach } from '../core/across.ts'
import { isOneOf, selectFor } from '../core/rows.ts'
import { mayHaveTraces, type Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { traces } from '../schema/traces.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../schema/webhooks.ts'
import { isVeiledEvent } from './veiled-events.ts'
import type { WebhookRecord } from './webhooks.ts'

/** An event, and the state of its delivery to one webhook. */
export interface Delivery {
  /** The event's database, and its number there. */
  shard: number
  sequence: number
  /** The event's id. */
  id: string
  type: SentType
  at: number
  /** Null for a test event of a webhook that covers every project. */
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

/** The columns of an event that its payload needs, with its project and `liveTraces` joined. */
const eventColumns = {
  sequence: webhookEvents.sequence,
  id: webhookEvents.id,
  // Only this service writes types, but another release may have types that this release doesn't have.
  type: sql<SentType>`${webhookEvents.type}`,
  at: webhookEvents.at,
  project: { id: projects.id, slug: projects.slug },
  actorId: webhookEvents.actorId,
  data: webhookEvents.data,
  traceUuid: sql<string | null>`${traces.id}`,
  traceId: sql<string | null>`${traces.traceId}`,
}

/** Turns the columns of an event's trace into the event's `trace` field. */
const withTrace = <Row extends { traceUuid: string | null; traceId: string | null }>({
  traceUuid,
  traceId,
  ...row
}: Row) => ({ ...row, trace: traceUuid === null || traceId === null ? null : { id: traceUuid, traceId } })

/** The table of traces, or one without rows for a database that has none of the organization's. */
const tracesIn = (store: Store): SQL =>
  mayHaveTraces(store)
    ? sql`${traces}`
    : sql`(select null as key, null as id, null as trace_id, null as deleted_at where false) as traces`

const isLiveTrace = and(eq(traces.key, webhookEvents.traceKey), isNull(traces.deletedAt))

async function readDeliveries(
  store: Store,
  webhookKey: number,
  condition: SQL | undefined,
  limit: number,
): Promise<Delivery[]> {
  const { database, organization, shard } = store
  const rows = await database
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
    .leftJoin(tracesIn(store), isLiveTrace)
    .where(
      and(eq(webhookDeliveries.webhookKey, webhookKey), eq(webhookEvents.organizationKey, organization.key), condition),
    )
    .orderBy(desc(webhookDeliveries.sequence))
    .limit(limit)
  return rows.map(row => ({ ...withTrace(row), shard }))
}

/**
 * A page of a webhook's deliveries, newest events first. Each database numbers its events separately, so a place in the
 * list consists of the last number from each database: `<shard>:<sequence>`, separated by spaces. If a database isn't
 * in a place, all of its deliveries arrived after the first page was read.
 */
export async function listDeliveries(
  store: Store,
  webhook: { key: number },
  { state, limit, after }: { state: DeliveryState | undefined; limit: number; after: string | undefined },
): Promise<{ items: Delivery[]; nextPlace: [string] | null }> {
  const places = new Map(
    after === undefined ? store.databases.map(({ shard }) => [shard, Number.MAX_SAFE_INTEGER]) : parsePlaces(after),
  )
  const lists = await readEach(
    store,
    store.databases.filter(({ shard }) => places.has(shard)),
    each =>
      readDeliveries(
        each,
        webhook.key,
        and(state && eq(webhookDeliveries.state, state), lt(webhookDeliveries.sequence, places.get(each.shard) ?? 0)),
        limit + 1,
      ),
  )
  const items: Delivery[] = []
  while (items.length < limit) {
    const [newest] = lists
      .filter(list => list.length > 0)
      .toSorted(([one], [other]) => (other?.at ?? 0) - (one?.at ?? 0))
    const item = newest?.shift()
    if (!item) break
    items.push(item)
    places.set(item.shard, item.sequence)
  }
  const hasMore = lists.some(list => list.length > 0)
  return { items, nextPlace: hasMore ? [Array.from(places, place => place.join(':')).join(' ')] : null }
}

/** Reads a place. A forged cursor may contain any text. */
const parsePlaces = (text: string): [shard: number, sequence: number][] =>
  Array.from(text.matchAll(/(\d+):(\d+)/g), ([, shard, sequence]) => [Number(shard), Number(sequence)])

/** Finds a webhook's delivery of an event. */
export async function findDelivery(
  store: Store,
  webhook: { key: number },
  eventId: string,
): Promise<Delivery | undefined> {
  const found = await Promise.all(
    store.databases.map(each => readDeliveries(each, webhook.key, eq(webhookEvents.id, eventId), 1)),
  )
  return found.flat()[0]
}

/** Makes the next run check a webhook, even if the webhook is resting. */
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
 * Starts a delivery's attempts over. A pending delivery is attempted right away and keeps its number of attempts. If a
 * run is currently sending the delivery, it's sent a second time.
 */
export async function replayDelivery(
  store: Store,
  act: Act,
  webhook: Pick<WebhookRecord, 'key' | 'id' | 'projectKey'>,
  { shard, sequence, id }: Pick<Delivery, 'shard' | 'sequence' | 'id'>,
): Promise<void> {
  const { control } = store
  const { key, id: webhookId, projectKey } = webhook
  const reset = store
    .in(shard)
    .database.update(webhookDeliveries)
    .set({
      state: 'pending',
      attempts: sql`iif(${webhookDeliveries.state} = 'pending', ${webhookDeliveries.attempts}, 0)`,
      nextAttemptAt: act.at,
      leaseToken: null,
    })
    .where(and(eq(webhookDeliveries.webhookKey, key), eq(webhookDeliveries.sequence, sequence)))
  const others = [
    wake(control, webhook, act.at),
    recordAct(control, act, { action: 'webhook.replay', targetId: webhookId, projectKey, afterId: id }),
  ] as const
  if (shard === 0) await control.database.batch([reset, ...others])
  else {
    await reset
    await control.database.batch(others)
  }
}

/** An event to send. */
export interface SendableEvent extends Omit<Delivery, 'shard' | keyof typeof webhookDeliveries.$inferSelect> {
  sequence: number
  /** As in `webhook_events`. */
  traceKey: number | null
  subjectId: string
  /** Whether its trace was deleted in the meantime. */
  isGone: boolean
  /** Whether a blind policy hides it now. */
  isVeiled: boolean
}

/** Reads the events of deliveries in a database, by sequence. */
export async function findEvents(store: Store, sequences: readonly number[]): Promise<Map<number, SendableEvent>> {
  const { database, organization } = store
  const rows = await database
    .select({
      ...eventColumns,
      traceKey: webhookEvents.traceKey,
      subjectId: webhookEvents.subjectId,
      isGone: sql`(${webhookEvents.traceKey} is not null and ${traces.key} is null)`.mapWith(Boolean),
      isVeiled: isVeiledEvent(store).mapWith(Boolean),
    })
    .from(webhookEvents)
    .leftJoin(projects, eq(projects.key, webhookEvents.projectKey))
    .leftJoin(tracesIn(store), isLiveTrace)
    .where(and(isOneOf(webhookEvents.sequence, sequences), eq(webhookEvents.organizationKey, organization.key)))
  return new Map(rows.map(row => [row.sequence, withTrace(row)]))
}
