import { and, asc, eq, gte, inArray, isNotNull, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import type { BatchItem } from 'drizzle-orm/batch'
import type { EventType } from '../../domain/webhook.ts'
import {
  CLAIMED_DELIVERIES,
  DELIVERY_LEASE_MS,
  MAX_WEBHOOK_REST_MS,
  MIN_WEBHOOK_REST_MS,
  RESEND_AFTER_MS,
} from '../../limits.ts'
import { recordAct } from '../accounts/audit.ts'
import { organizationColumns } from '../accounts/organizations.ts'
import { readEach } from '../core/across.ts'
import { isOneOf, rowSet, selectFor } from '../core/rows.ts'
import type { Organization, Store, UnscopedStore } from '../core/store.ts'
import { organizations, projects } from '../schema/accounts.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../schema/webhooks.ts'
import { newDelivery } from './deliveries.ts'
import { isVeiledEvent } from './veiled-events.ts'
import { selectWebhooks, type WebhookRecord } from './webhooks.ts'

/*
 * How events reach receivers. An event becomes a delivery for each webhook that subscribes to it, in the event's
 * database, and a run claims a few deliveries at a time under a lease. The rows are authoritative; queue messages only
 * say that there may be work. Webhooks are in the control database. A run that sends to a webhook takes the webhook's
 * deliveries from every database.
 */

/**
 * The enabled webhooks that get a project's events. If the key is null, returns the webhooks that cover every project.
 */
export const listSendingWebhooks = ({ control }: Store, projectKey: number | null): Promise<WebhookRecord[]> =>
  selectWebhooks(
    control,
    and(eq(webhooks.isEnabled, true), or(eq(webhooks.projectKey, projectKey ?? 0), isNull(webhooks.projectKey))),
  ).orderBy(asc(webhooks.key))

/**
 * Reserves, until `busyUntil`, the webhooks that no other run is sending to, and returns their keys. A slow receiver
 * therefore keeps only one run waiting at a time, no matter how many messages say that there's work.
 */
export async function takeReceivers(
  { control }: Store,
  receivers: readonly WebhookRecord[],
  { now, busyUntil }: { now: number; busyUntil: number },
): Promise<Set<number>> {
  const taken = await control.database
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

/** Pauses webhooks that can't be decrypted, and records a failure for each. */
export async function postponeWebhooks(
  { control }: Store,
  receivers: readonly WebhookRecord[],
  { now, until }: { now: number; until: number },
): Promise<void> {
  await control.database
    .update(webhooks)
    .set({ dueAt: until, failingSince: sql`coalesce(${webhooks.failingSince}, ${now})` })
    .where(and(hasKeyOf(receivers), lte(webhooks.dueAt, now)))
}

const PAIRS = rowSet(['webhookKey', 'sequence'])

/**
 * Turns some of a project's new events in a database into deliveries, oldest first. Drops events that no webhook
 * subscribes to or that a blind policy hides. Returns how many events it looked at. Safe to run twice or concurrently.
 */
export async function fanOut(
  store: Store,
  projectKey: number,
  receivers: readonly WebhookRecord[],
  { now, limit }: { now: number; limit: number },
): Promise<number> {
  const { database, organization, control } = store
  const isOfProject = and(
    eq(webhookEvents.projectKey, projectKey),
    eq(webhookEvents.organizationKey, organization.key),
    sql`${webhookEvents.isNew} = 1`,
  )
  const events = await database
    .select({
      sequence: webhookEvents.sequence,
      type: sql<EventType>`${webhookEvents.type}`,
      isVeiled: isVeiledEvent(store).mapWith(Boolean),
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
  const wake = control.database
    .update(webhooks)
    .set({ dueAt: sql`min(coalesce(${webhooks.dueAt}, ${now}), ${now})` })
    .where(and(inArray(webhooks.key, reached), eq(webhooks.isEnabled, true)))
  // If the deliveries are in another database, update the webhooks first. It's fine if they turn out to have nothing
  // due.
  if (store !== control) await wake
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
    ...(store === control ? [wake] : []),
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

/** A delivery that a run has claimed. */
export interface ClaimedDelivery {
  /** The store of its database. */
  store: Store
  webhookKey: number
  sequence: number
  /** The number of attempts, including the one that the claim is for. */
  attempts: number
}

/**
 * Claims the due deliveries of webhooks that aren't resting, a few per webhook in each database, for
 * `DELIVERY_LEASE_MS`. The oldest deliveries of each webhook come first. A database that doesn't respond is left out
 * for the rest of the run.
 */
export async function claimDeliveries(
  store: Store,
  receivers: readonly WebhookRecord[],
  claim: { token: string; now: number },
): Promise<ClaimedDelivery[]> {
  const { control, databases, missing } = store
  if (receivers.length === 0) return []
  const isReady = and(hasKeyOf(receivers), mayReceive(claim.now))
  const ready =
    databases.length === 1 ? [] : await control.database.select({ key: webhooks.key }).from(webhooks).where(isReady)
  const claimed = await readEach(
    store,
    databases.filter(({ shard }) => !missing.has(shard)),
    each => claimIn(each, each === control ? receivers : ready, claim),
  )
  return claimed
    .flat()
    .toSorted((left, right) => left.place - right.place)
    .map(({ row }) => row)
}

/** Whether a webhook may be sent anything now. */
const mayReceive = (now: number): SQL =>
  sql`(${webhooks.isEnabled} = 1 and coalesce(${webhooks.restsUntil}, 0) <= ${now})`

/** Claims deliveries in one database. The control database checks the webhooks again in the same statement. */
async function claimIn(
  store: Store,
  receivers: readonly { key: number }[],
  { token, now }: { token: string; now: number },
): Promise<{ row: ClaimedDelivery; place: number }[]> {
  const { database } = store
  const isReady = (key: number) =>
    store === store.control
      ? sql` and exists (select 1 from ${webhooks} where ${webhooks.key} = ${key} and ${mayReceive(now)})`
      : sql``
  const [first, ...others] = receivers.map(({ key }) =>
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
              ${isReady(key)}
            order by due.next_attempt_at limit ${CLAIMED_DELIVERIES})`,
        ),
      )
      .returning({
        webhookKey: webhookDeliveries.webhookKey,
        sequence: webhookDeliveries.sequence,
        attempts: webhookDeliveries.attempts,
      }),
  )
  if (!first) return []
  const claimed = await database.batch([first, ...others])
  return claimed.flatMap(rows => rows.map((row, place) => ({ row: { ...row, store }, place })))
}

/** The outcome of an attempt. */
export interface Outcome {
  attemptedAt: number
  durationMs: number
  status: number | null
  fault: string | null
  answer: string | null
  /** When to try again. Null if it succeeded, or if no attempts are left. */
  retryAt: number | null
  isSuccess: boolean
  /** Whether the receiver seems to be down, so that it should rest. */
  isDown: boolean
}

const isHeld = ({ webhookKey, sequence }: Omit<ClaimedDelivery, 'store'>, token: string): SQL | undefined =>
  and(
    eq(webhookDeliveries.webhookKey, webhookKey),
    eq(webhookDeliveries.sequence, sequence),
    eq(webhookDeliveries.leaseToken, token),
  )

/** Stores the outcome of an attempt, and what the outcome shows about the receiver. */
export async function finishAttempt(
  delivery: ClaimedDelivery,
  token: string,
  { retryAt, isSuccess, isDown, ...attempt }: Outcome,
): Promise<void> {
  const { database, control } = delivery.store
  const at = attempt.attemptedAt + attempt.durationMs
  const rest = sql`min(${MIN_WEBHOOK_REST_MS} << min(${webhooks.restCount}, 20), ${MAX_WEBHOOK_REST_MS})`
  const isThis = eq(webhooks.key, delivery.webhookKey)
  const finish = database
    .update(webhookDeliveries)
    .set({
      ...attempt,
      state: isSuccess ? 'delivered' : retryAt === null ? 'failed' : 'pending',
      nextAttemptAt: retryAt,
      leaseToken: null,
    })
    .where(isHeld(delivery, token))
  const learn = isSuccess
    ? control.database
        .update(webhooks)
        .set({ failingSince: null, restCount: 0, restsUntil: null })
        .where(and(isThis, or(sql`${webhooks.failingSince} is not null`, sql`${webhooks.restCount} > 0`)))
    : control.database
        .update(webhooks)
        .set({
          failingSince: sql`coalesce(${webhooks.failingSince}, ${attempt.attemptedAt})`,
          ...(isDown && {
            restsUntil: sql`iif(coalesce(${webhooks.restsUntil}, 0) > ${at}, ${webhooks.restsUntil}, ${at} + ${rest})`,
            restCount: sql`iif(coalesce(${webhooks.restsUntil}, 0) > ${at}, ${webhooks.restCount}, ${webhooks.restCount} + 1)`,
          }),
        })
        .where(isThis)
  if (delivery.store === control) await database.batch([finish, learn])
  else {
    await finish
    await learn
  }
}

/** Releases claimed deliveries without attempting them, because their receiver turned out to be down. */
export const releaseDeliveries = (deliveries: readonly ClaimedDelivery[], token: string, now: number): Promise<void> =>
  inEach(deliveries, ({ database }, delivery) =>
    database
      .update(webhookDeliveries)
      .set({ nextAttemptAt: now, leaseToken: null, attempts: sql`${webhookDeliveries.attempts} - 1` })
      .where(isHeld(delivery, token)),
  )

/** Removes deliveries of events that must no longer be sent. */
export const dropDeliveries = (deliveries: readonly ClaimedDelivery[], token: string): Promise<void> =>
  inEach(deliveries, ({ database }, delivery) => database.delete(webhookDeliveries).where(isHeld(delivery, token)))

/** Runs a statement for each delivery, as one batch in each database. */
async function inEach(
  deliveries: readonly ClaimedDelivery[],
  statementOf: (store: Store, delivery: ClaimedDelivery) => BatchItem<'sqlite'>,
): Promise<void> {
  await Promise.all(
    Array.from(
      Map.groupBy(deliveries, ({ store }) => store),
      async ([store, some]) => {
        const [first, ...others] = some.map(delivery => statementOf(store, delivery))
        if (first) await store.database.batch([first, ...others])
      },
    ),
  )
}

/**
 * Releases a run's webhooks, and stores when a run has to check each of them again: when the webhook's next delivery is
 * due and its rest is over. Returns the earliest of these times, or null if there's nothing left. A single statement
 * does both. If a message arrives at the same time, either it finds the webhook free, or this statement sees the
 * message's event.
 */
export async function giveBackReceivers(
  store: Store,
  receivers: readonly WebhookRecord[],
  busyUntil: number,
): Promise<number | null> {
  const { control, databases } = store
  const isMine = and(hasKeyOf(receivers), eq(webhooks.busyUntil, busyUntil))
  if (databases.length > 1) return giveBackFromEach(store, isMine)
  const nextAt = sql`(select max(min(pending.next_attempt_at), coalesce(${sql.raw('webhooks.rests_until')}, 0))
    from ${webhookDeliveries} pending
    where pending.webhook_key = ${sql.raw('webhooks.key')} and pending.next_attempt_at is not null)`
  const rows = await control.database
    .update(webhooks)
    .set({ dueAt: sql`iif(${webhooks.isEnabled}, ${nextAt}, null)`, busyUntil: null })
    .where(isMine)
    .returning({ dueAt: webhooks.dueAt })
  return earliest(rows.flatMap(({ dueAt }) => dueAt ?? []))
}

const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times))

const NEXT_TIMES = rowSet(['key', 'at'])

/**
 * Like `giveBackReceivers`, but for deliveries in several databases, which a single statement can't read. So this first
 * makes the webhooks free and due. If a message arrives at the same time, either it finds the webhooks free, or its
 * event is among those that are read here.
 */
async function giveBackFromEach(store: Store, isMine: SQL | undefined): Promise<number | null> {
  const { control, databases, missing } = store
  const now = Date.now()
  const free = await control.database
    .update(webhooks)
    .set({ dueAt: sql`iif(${webhooks.isEnabled}, ${now}, null)`, busyUntil: null })
    .where(isMine)
    .returning({ key: webhooks.key, restsUntil: webhooks.restsUntil, dueAt: webhooks.dueAt })
  const keys = free.filter(({ dueAt }) => dueAt !== null).map(({ key }) => key)
  if (keys.length === 0) return null
  const pending = await readEach(store, databases, ({ database }) =>
    database
      .select({ key: webhookDeliveries.webhookKey, at: sql<number>`min(${webhookDeliveries.nextAttemptAt})` })
      .from(webhookDeliveries)
      .where(and(isOneOf(webhookDeliveries.webhookKey, keys), isNotNull(webhookDeliveries.nextAttemptAt)))
      .groupBy(webhookDeliveries.webhookKey),
  )
  const times = free.map(({ key, restsUntil }) => {
    const all = pending.flat().flatMap(each => (each.key === key ? [each.at] : []))
    // A database that doesn't respond may have other deliveries that are due.
    const at = earliest(missing.size > 0 ? [...all, now + RESEND_AFTER_MS] : all)
    return { key, at: at === null ? null : Math.max(at, restsUntil ?? 0) }
  })
  const { row } = NEXT_TIMES
  await control.database
    .update(webhooks)
    .set({ dueAt: row.at })
    .from(NEXT_TIMES.from(NEXT_TIMES.encodeAll(times)))
    .where(and(sql`${webhooks.key} = ${row.key}`, eq(webhooks.dueAt, now), isNull(webhooks.busyUntil)))
  return earliest(times.flatMap(({ at }) => at ?? []))
}

/** Disables a webhook, because its receiver is gone or has failed for too long. */
export async function switchOff(
  { control }: Store,
  { key, id, projectKey }: Pick<WebhookRecord, 'key' | 'id' | 'projectKey'>,
  reason: 'gone' | 'failing',
  { now, requestId }: { now: number; requestId: string },
): Promise<void> {
  const isOn = and(eq(webhooks.key, key), eq(webhooks.isEnabled, true))
  const act = { keyId: null, userId: null, requestId, at: now }
  await control.database.batch([
    recordAct(
      control,
      act,
      { action: 'webhook.switch_off', targetId: id, projectKey, reason },
      sql`exists (select 1 from ${webhooks} where ${isOn})`,
    ),
    control.database
      .update(webhooks)
      .set({ isEnabled: false, disabledAt: now, disabledReason: reason, dueAt: null, updatedAt: now })
      .where(isOn),
  ])
}

/** A project whose events are waiting to be sent. */
export interface DueProject {
  organizationKey: number
  /** Null for deliveries of webhooks that cover every project. */
  projectKey: number | null
}

/** The first project with new events that meets a condition. */
const firstNew = (condition: SQL): SQL =>
  sql`select min(project_key) from ${webhookEvents} where is_new = 1 and ${condition}`

const organizationOf = sql`(select organization_key from projects where projects.key = waiting.project_key)`

/**
 * Finds up to `limit` projects with new events in a database and, in the control database, also up to `limit` projects
 * with due deliveries. Seeks from project to project, so a project's long backlog costs no more than a short one.
 */
export async function listDueProjects(
  { database, shard }: UnscopedStore,
  now: number,
  limit: number,
): Promise<DueProject[]> {
  const withNew = database
    .select({ organizationKey: sql<number>`${organizationOf}`, projectKey: sql<number>`waiting.project_key` })
    .from(
      sql`(with recursive listed (project_key) as (
        ${firstNew(sql`true`)} union all
        select (${firstNew(sql`project_key > listed.project_key`)}) from listed
        where listed.project_key is not null limit ${limit})
      select project_key from listed where project_key is not null) as waiting`,
    )
  if (shard !== 0) return withNew
  const [fresh, due] = await database.batch([
    withNew,
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

/**
 * Finds the existing project with the lowest key, starting at `fromKey`, that sends events of this type to a webhook.
 */
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
