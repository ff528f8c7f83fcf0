import { and, asc, eq, gte, inArray, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import type { EventType } from '../../domain/webhook.ts'
import { CLAIMED_DELIVERIES, DELIVERY_LEASE_MS, MAX_WEBHOOK_REST_MS, MIN_WEBHOOK_REST_MS } from '../../limits.ts'
import { recordAct } from '../accounts/audit.ts'
import { organizationColumns } from '../accounts/organizations.ts'
import { isOneOf, rowSet, selectFor } from '../core/rows.ts'
import type { Organization, Store, UnscopedStore } from '../core/store.ts'
import { organizations, projects } from '../schema/accounts.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../schema/webhooks.ts'
import { newDelivery } from './deliveries.ts'
import { isVeiledEvent } from './veiled-events.ts'
import { selectWebhooks, type WebhookRecord } from './webhooks.ts'

/*
 * How events reach receivers. An event becomes a delivery for each webhook that asks for it, and a run claims a few
 * deliveries at a time under a lease. The rows are authoritative; queue messages only say that there may be work.
 */

/** The enabled webhooks that get a project's events. With null, those for every project. */
export const listSendingWebhooks = (store: Store, projectKey: number | null): Promise<WebhookRecord[]> =>
  selectWebhooks(
    store,
    and(eq(webhooks.isEnabled, true), or(eq(webhooks.projectKey, projectKey ?? 0), isNull(webhooks.projectKey))),
  ).orderBy(asc(webhooks.key))

/**
 * Takes the webhooks to which no other run is sending, until `busyUntil`. However many messages say that there's work, a
 * slow receiver so keeps one run waiting at a time. Returns their keys.
 */
export async function takeReceivers(
  { database }: Store,
  receivers: readonly WebhookRecord[],
  { now, busyUntil }: { now: number; busyUntil: number },
): Promise<Set<number>> {
  const taken = await database
    .update(webhooks)
    .set({ busyUntil })
    .where(and(hasKeyOf(receivers), or(isNull(webhooks.busyUntil), lte(webhooks.busyUntil, now))))
    .returning({ key: webhooks.key })
  return new Set(taken.map(({ key }) => key))
}

const hasKeyOf = (receivers: readonly WebhookRecord[]): SQL =>
  inArray(
    webhooks.key,
    receivers.map(({ key }) => key),
  )

/** Lets webhooks wait that can't be decrypted. Counts as a failure. */
export async function postponeWebhooks(
  { database }: Store,
  receivers: readonly WebhookRecord[],
  { now, until }: { now: number; until: number },
): Promise<void> {
  await database
    .update(webhooks)
    .set({ dueAt: until, failingSince: sql`coalesce(${webhooks.failingSince}, ${now})` })
    .where(and(hasKeyOf(receivers), lte(webhooks.dueAt, now)))
}

const PAIRS = rowSet(['webhookKey', 'sequence'])

/**
 * Turns some of a project's new events into deliveries, oldest first. Drops what nobody asks for, and what a blind policy
 * hides. Returns how many events it looked at. Safe to run twice or concurrently.
 */
export async function fanOut(
  store: Store,
  projectKey: number,
  receivers: readonly WebhookRecord[],
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  const { database, organization } = store
  const isOfProject = and(
    eq(webhookEvents.projectKey, projectKey),
    eq(webhookEvents.organizationKey, organization.key),
    sql`${webhookEvents.isNew} = 1`,
  )
  const events = await database
    .select({
      sequence: webhookEvents.sequence,
      type: sql<EventType>`${webhookEvents.type}`,
      isVeiled: isVeiledEvent.mapWith(Boolean),
    })
    .from(webhookEvents)
    .where(isOfProject)
    .orderBy(asc(webhookEvents.sequence))
    .limit(limit)
  if (events.length === 0) return 0
  const pairs = events
    .filter(({ isVeiled }) => !isVeiled)
    .flatMap(({ sequence, type }) =>
      receivers.filter(({ events: wanted }) => wanted.includes(type)).map(({ key }) => ({ webhookKey: key, sequence })),
    )
  const wanted = new Set(pairs.map(({ sequence }) => sequence))
  const unwanted = events.map(({ sequence }) => sequence).filter(sequence => !wanted.has(sequence))
  const reached = [...new Set(pairs.map(({ webhookKey }) => webhookKey))]
  const isStillNew = sql`exists (select 1 from ${webhookEvents}
    where ${webhookEvents.sequence} = ${PAIRS.row.sequence} and ${webhookEvents.isNew} = 1)`
  await database.batch([
    database
      .insert(webhookDeliveries)
      .select(
        selectFor(
          webhookDeliveries,
          { ...newDelivery(now), ...PAIRS.row },
          sql`from ${PAIRS.from(PAIRS.encodeAll(pairs))} where ${isStillNew}`,
        ),
      )
      .onConflictDoNothing(),
    database
      .update(webhooks)
      .set({ dueAt: sql`min(coalesce(${webhooks.dueAt}, ${now}), ${now})` })
      .where(and(inArray(webhooks.key, reached), eq(webhooks.isEnabled, true))),
    database
      .update(webhookEvents)
      .set({ isNew: false })
      .where(isOneOf(webhookEvents.sequence, [...wanted])),
    database
      .delete(webhookEvents)
      .where(and(isOneOf(webhookEvents.sequence, unwanted), sql`${webhookEvents.isNew} = 1`)),
  ])
  return events.length
}

/** A delivery that a run holds. */
export interface ClaimedDelivery {
  webhookKey: number
  sequence: number
  /** Including the one that the claim begins. */
  attempts: number
}

/**
 * Claims the due deliveries of webhooks that don't rest, a few of each, for `DELIVERY_LEASE_MS`. The oldest deliveries
 * of each webhook come first.
 */
export async function claimDeliveries(
  { database }: Store,
  receivers: readonly WebhookRecord[],
  { token, now }: { token: string; now: number },
): Promise<ClaimedDelivery[]> {
  const claims = receivers.map(({ key }) =>
    database
      .update(webhookDeliveries)
      .set({
        leaseToken: token,
        nextAttemptAt: now + DELIVERY_LEASE_MS,
        attempts: sql`${webhookDeliveries.attempts} + 1`,
      })
      .where(
        and(
          eq(webhookDeliveries.webhookKey, key),
          sql`${webhookDeliveries.sequence} in (
            select due.sequence from ${webhookDeliveries} due
            where due.webhook_key = ${key} and due.next_attempt_at is not null and due.next_attempt_at <= ${now}
              and exists (select 1 from ${webhooks} where ${webhooks.key} = ${key} and ${webhooks.isEnabled} = 1
                and coalesce(${webhooks.restsUntil}, 0) <= ${now})
            order by due.next_attempt_at limit ${CLAIMED_DELIVERIES})`,
        ),
      )
      .returning({
        webhookKey: webhookDeliveries.webhookKey,
        sequence: webhookDeliveries.sequence,
        attempts: webhookDeliveries.attempts,
      }),
  )
  const [first, ...others] = claims
  if (!first) return []
  const claimed = await database.batch([first, ...others])
  return claimed
    .flatMap(rows => rows.map((row, place) => ({ row, place })))
    .toSorted((left, right) => left.place - right.place)
    .map(({ row }) => row)
}

/** The outcome of an attempt. */
export interface Outcome {
  attemptedAt: number
  durationMs: number
  status: number | null
  fault: string | null
  answer: string | null
  /** When to try again. Null if it succeeded, or if no attempt is left. */
  retryAt: number | null
  isSuccess: boolean
  /** Whether the receiver seems to be down, so that it should rest. */
  isDown: boolean
}

const isHeld = ({ webhookKey, sequence }: ClaimedDelivery, token: string): SQL | undefined =>
  and(
    eq(webhookDeliveries.webhookKey, webhookKey),
    eq(webhookDeliveries.sequence, sequence),
    eq(webhookDeliveries.leaseToken, token),
  )

/** Stores the outcome of an attempt, and what it says about the receiver. */
export async function finishAttempt(
  { database }: Store,
  delivery: ClaimedDelivery,
  token: string,
  { retryAt, isSuccess, isDown, ...attempt }: Outcome,
): Promise<void> {
  const at = attempt.attemptedAt + attempt.durationMs
  const rest = sql`min(${MIN_WEBHOOK_REST_MS} << min(${webhooks.restCount}, 20), ${MAX_WEBHOOK_REST_MS})`
  const isThis = eq(webhooks.key, delivery.webhookKey)
  await database.batch([
    database
      .update(webhookDeliveries)
      .set({
        ...attempt,
        state: isSuccess ? 'delivered' : retryAt === null ? 'failed' : 'pending',
        nextAttemptAt: retryAt,
        leaseToken: null,
      })
      .where(isHeld(delivery, token)),
    isSuccess
      ? database
          .update(webhooks)
          .set({ failingSince: null, restCount: 0, restsUntil: null })
          .where(and(isThis, or(sql`${webhooks.failingSince} is not null`, sql`${webhooks.restCount} > 0`)))
      : database
          .update(webhooks)
          .set({
            failingSince: sql`coalesce(${webhooks.failingSince}, ${attempt.attemptedAt})`,
            ...(isDown && {
              restsUntil: sql`iif(coalesce(${webhooks.restsUntil}, 0) > ${at}, ${webhooks.restsUntil}, ${at} + ${rest})`,
              restCount: sql`iif(coalesce(${webhooks.restsUntil}, 0) > ${at}, ${webhooks.restCount}, ${webhooks.restCount} + 1)`,
            }),
          })
          .where(isThis),
  ])
}

/** Gives claimed deliveries back without an attempt, because their receiver turned out to be down. */
export async function releaseDeliveries(
  { database }: Store,
  deliveries: readonly ClaimedDelivery[],
  token: string,
  now: number,
): Promise<void> {
  const [first, ...others] = deliveries.map(delivery =>
    database
      .update(webhookDeliveries)
      .set({ nextAttemptAt: now, leaseToken: null, attempts: sql`${webhookDeliveries.attempts} - 1` })
      .where(isHeld(delivery, token)),
  )
  if (first) await database.batch([first, ...others])
}

/** Removes deliveries of events that may not be sent anymore. */
export async function dropDeliveries(
  { database }: Store,
  deliveries: readonly ClaimedDelivery[],
  token: string,
): Promise<void> {
  const [first, ...others] = deliveries.map(delivery =>
    database.delete(webhookDeliveries).where(isHeld(delivery, token)),
  )
  if (first) await database.batch([first, ...others])
}

/**
 * Gives the webhooks of a run back, and stores when a run has to look at each of them again: when its next delivery is due
 * and its rest is over. Returns the earliest time, or null if there's nothing left. Both happen at once, so that a message
 * that arrives now finds either a free webhook, or a run that sees its event.
 */
export async function giveBackReceivers(
  store: Store,
  receivers: readonly WebhookRecord[],
  busyUntil: number,
): Promise<number | null> {
  const nextAt = sql`(select max(min(pending.next_attempt_at), coalesce(${sql.raw('webhooks.rests_until')}, 0))
    from ${webhookDeliveries} pending
    where pending.webhook_key = ${sql.raw('webhooks.key')} and pending.next_attempt_at is not null)`
  const rows = await store.database
    .update(webhooks)
    .set({ dueAt: sql`iif(${webhooks.isEnabled}, ${nextAt}, null)`, busyUntil: null })
    .where(and(hasKeyOf(receivers), eq(webhooks.busyUntil, busyUntil)))
    .returning({ dueAt: webhooks.dueAt })
  const times = rows.flatMap(({ dueAt }) => dueAt ?? [])
  return times.length === 0 ? null : Math.min(...times)
}

/** Disables a webhook, because its receiver is gone or has failed for too long. */
export async function switchOff(
  store: Store,
  { key, id, projectKey }: Pick<WebhookRecord, 'key' | 'id' | 'projectKey'>,
  reason: 'gone' | 'failing',
  { now, requestId }: { now: number; requestId: string },
): Promise<void> {
  const isOn = and(eq(webhooks.key, key), eq(webhooks.isEnabled, true))
  const act = { keyId: null, userId: null, requestId, at: now }
  await store.database.batch([
    recordAct(
      store,
      act,
      { action: 'webhook.switch_off', targetId: id, projectKey, reason },
      sql`exists (select 1 from ${webhooks} where ${isOn})`,
    ),
    store.database
      .update(webhooks)
      .set({ isEnabled: false, disabledAt: now, disabledReason: reason, dueAt: null, updatedAt: now })
      .where(isOn),
  ])
}

/** Where events wait to be sent. */
export interface DueProject {
  organizationKey: number
  /** Null: deliveries of webhooks for every project. */
  projectKey: number | null
}

/** The first project with new events that meets a condition. */
const firstNew = (condition: SQL): SQL =>
  sql`select min(project_key) from ${webhookEvents} where is_new = 1 and ${condition}`

const organizationOf = sql`(select organization_key from projects where projects.key = waiting.project_key)`

/**
 * Finds projects with new events or due deliveries, up to `limit` of each. Seeks from project to project, so a long
 * backlog of one costs no more than a short one.
 */
export async function listDueProjects({ database }: UnscopedStore, now: number, limit: number): Promise<DueProject[]> {
  const [fresh, due] = await database.batch([
    database
      .select({ organizationKey: sql<number>`${organizationOf}`, projectKey: sql<number>`waiting.project_key` })
      .from(
        sql`(with recursive listed (project_key) as (
          ${firstNew(sql`true`)} union all
          select (${firstNew(sql`project_key > listed.project_key`)}) from listed
          where listed.project_key is not null limit ${limit})
        select project_key from listed where project_key is not null) as waiting`,
      ),
    database
      .select({ organizationKey: webhooks.organizationKey, projectKey: webhooks.projectKey })
      .from(webhooks)
      .where(lte(webhooks.dueAt, now))
      .orderBy(asc(webhooks.dueAt))
      .limit(limit),
  ])
  const distinct = new Map([...fresh, ...due].map(project => [JSON.stringify(project), project]))
  return [...distinct.values()]
}

/** Finds the first existing project, from a key on, that sends a type of events to a webhook. */
export async function findSendingProject(
  { database }: UnscopedStore,
  type: EventType,
  fromKey: number,
): Promise<{ key: number; id: string; organization: Organization } | undefined> {
  const [row] = await database
    .select({ key: projects.key, id: projects.id, organization: organizationColumns })
    .from(webhooks)
    .innerJoin(
      projects,
      and(
        eq(projects.organizationKey, webhooks.organizationKey),
        or(isNull(webhooks.projectKey), eq(webhooks.projectKey, projects.key)),
        isNull(projects.deletedAt),
        gte(projects.key, fromKey),
      ),
    )
    .innerJoin(organizations, eq(organizations.key, projects.organizationKey))
    .where(and(eq(webhooks.isEnabled, true), sql`instr(${webhooks.events}, ${` ${type} `}) > 0`))
    .orderBy(asc(projects.key))
    .limit(1)
  return row
}
