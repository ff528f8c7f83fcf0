import { and, asc, eq, gt, isNull, lte, or, type SQL, sql } from 'drizzle-orm'
import {
  CLEANED_WEBHOOKS,
  DAY_MS,
  DELETION_EVENTS,
  EVENT_RETENTION_DAYS,
  EXPIRED_EVENTS,
  PURGE_ROWS,
  PURGED_EVENTS,
  WEBHOOK_PASS_MS,
} from '../../limits.ts'
import { isOneOf, rowSet, valuesOf } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../schema/webhooks.ts'

/*
 * Events and deliveries are removed with their trace or project, or after 30 days. Deliveries are also removed with
 * their webhook. No index finds deliveries by event, so each statement here looks for an event's deliveries to each
 * webhook that may have received it. Deliveries of deleted webhooks are found by walking the webhooks' keys.
 */

const RECEIVERS = rowSet(['key', 'organizationKey', 'projectKey'])

/**
 * The webhooks of these organizations, under the alias `receiver`, for statements in a database that may not have the
 * table of webhooks.
 */
async function receiversFor(
  { shard, control }: { shard: number; control: { database: Store['database'] } },
  organizationKeys: readonly number[],
): Promise<SQL> {
  if (shard === 0) return sql`${webhooks} receiver`
  const { key, organizationKey, projectKey } = webhooks
  const found = await control.database
    .select({ key, organizationKey, projectKey })
    .from(webhooks)
    .where(isOneOf(organizationKey, organizationKeys))
  const { row } = RECEIVERS
  return sql`(select ${row.key} as key, ${row.organizationKey} as organization_key, ${row.projectKey} as project_key
    from ${RECEIVERS.from(RECEIVERS.encodeAll(found))}) receiver`
}

/** The query for the keys of the deliveries of events that a condition selects. */
const deliveriesOf = (condition: SQL, receivers: SQL): SQL => sql`
  select receiver.key, event.sequence from ${webhookEvents} event cross join ${receivers}
  where ${condition} and receiver.organization_key = event.organization_key
    and (receiver.project_key = event.project_key or receiver.project_key is null)`

/** Whether a delivery is of an event that a condition selects. */
const isDeliveryOf = (condition: SQL, receivers: SQL): SQL =>
  sql`(webhook_key, sequence) in (${deliveriesOf(condition, receivers)})`

/**
 * Deletes some of the organization's events in a database, and their deliveries. Returns whether there may be more.
 * `condition` applies to `webhook_events`.
 */
export async function deleteEvents(store: Store, condition: SQL): Promise<boolean> {
  const { database, organization } = store
  const receivers = await receiversFor(store, [organization.key])
  const piece = sql`(select sequence from ${webhookEvents}
    where ${condition} and organization_key = ${organization.key} order by sequence limit ${PURGED_EVENTS})`
  const [, { meta }] = await database.batch([
    database.delete(webhookDeliveries).where(isDeliveryOf(sql`event.sequence in ${piece}`, receivers)),
    database.delete(webhookEvents).where(sql`sequence in ${piece}`),
  ])
  return meta.changes === PURGED_EVENTS
}

/**
 * Replaces a deleted user's id in some of a project's events, and in the receivers' answers, which may repeat the
 * events. If `projectKey` is null, changes the organization's events that belong to no project. Returns the sequence of
 * the last event that was checked, or null if there are no more.
 */
export async function renameInEvents(
  store: Store,
  { userId, newId }: { userId: string; newId: string },
  { projectKey, after }: { projectKey: number | null; after: number },
): Promise<number | null> {
  const { database, organization } = store
  const found = await database
    .select({ sequence: webhookEvents.sequence })
    .from(webhookEvents)
    .where(
      and(
        eq(webhookEvents.organizationKey, organization.key),
        projectKey === null ? isNull(webhookEvents.projectKey) : eq(webhookEvents.projectKey, projectKey),
        gt(webhookEvents.sequence, after),
      ),
    )
    .orderBy(asc(webhookEvents.sequence))
    .limit(DELETION_EVENTS)
  const last = found.at(-1)
  if (!last) return null
  const receivers = await receiversFor(store, [organization.key])
  const piece = valuesOf(found.map(({ sequence }) => sequence))
  await database.batch([
    database
      .update(webhookEvents)
      .set({
        actorId: sql`iif(${webhookEvents.actorId} = ${userId}, ${newId}, ${webhookEvents.actorId})`,
        data: sql`replace(${webhookEvents.data}, ${userId}, ${newId})`,
      })
      .where(
        sql`${webhookEvents.sequence} in ${piece}
          and (${webhookEvents.actorId} = ${userId} or instr(${webhookEvents.data}, ${userId}) > 0)`,
      ),
    database
      .update(webhookDeliveries)
      .set({ answer: sql`replace(${webhookDeliveries.answer}, ${userId}, ${newId})` })
      .where(
        sql`${isDeliveryOf(sql`event.sequence in ${piece}`, receivers)} and instr(${webhookDeliveries.answer}, ${userId}) > 0`,
      ),
  ])
  return last.sequence
}

/** The progress of a pass: first over all expired events, then over the keys of all webhooks with deliveries. */
type Place = { stage: 'events'; after: number } | { stage: 'webhooks'; after: number }

/**
 * Continues a pass over a database's old events and deleted webhooks by one bounded step. Returns whether there's more
 * to do now. Safe to run twice or concurrently.
 */
export async function deleteOldEvents(unscoped: UnscopedStore, now: number): Promise<boolean> {
  const saved = await findDuePass(unscoped, 'webhooks', now)
  if (saved === undefined) return false
  const place: Place = saved === '' ? { stage: 'events', after: 0 } : JSON.parse(saved)
  const next =
    place.stage === 'events' ? await expireEvents(unscoped, place, now) : await visitWebhooks(unscoped, place, now)
  const pass = next ? { cursor: JSON.stringify(next), dueAt: now } : { cursor: '', dueAt: now + WEBHOOK_PASS_MS }
  await savePass(unscoped, 'webhooks', pass)
  return next !== null
}

/** Deletes the next expired events and their deliveries, except those still waiting to be sent. */
async function expireEvents(unscoped: UnscopedStore, { after }: Place, now: number): Promise<Place> {
  const { database } = unscoped
  const before = now - EVENT_RETENTION_DAYS * DAY_MS
  const found = await database
    .select({
      sequence: webhookEvents.sequence,
      at: webhookEvents.at,
      organizationKey: webhookEvents.organizationKey,
    })
    .from(webhookEvents)
    .where(gt(webhookEvents.sequence, after))
    .orderBy(asc(webhookEvents.sequence))
    .limit(EXPIRED_EVENTS)
  // Events are in the order of their times, give or take the length of a request.
  const end = found.findIndex(({ at }) => at >= before)
  const old = end === -1 ? found : found.slice(0, end)
  const last = old.at(-1)
  if (!last) return { stage: 'webhooks', after: 0 }
  const piece = valuesOf(old.map(({ sequence }) => sequence))
  const isOld = sql`event.sequence in ${piece}`
  const receivers = await receiversFor(unscoped, [...new Set(old.map(({ organizationKey }) => organizationKey))])
  await database.batch([
    database
      .delete(webhookDeliveries)
      .where(and(isDeliveryOf(isOld, receivers), isNull(webhookDeliveries.nextAttemptAt))),
    database.delete(webhookEvents).where(
      and(
        sql`${webhookEvents.sequence} in ${piece}`,
        eq(webhookEvents.isNew, false),
        sql`${webhookEvents.sequence} not in (
          select pending.sequence from ${webhookDeliveries} pending
          where (pending.webhook_key, pending.sequence) in (${deliveriesOf(isOld, receivers)}))`,
      ),
    ),
  ])
  return { stage: 'events', after: last.sequence }
}

/** Deletes deliveries of the next deleted webhooks, and wakes the other webhooks. Seeks from webhook to webhook. */
async function visitWebhooks(unscoped: UnscopedStore, place: Place, now: number): Promise<Place | null> {
  const { database, shard } = unscoped
  const firstAfter = (key: SQL) => sql`select min(webhook_key) from ${webhookDeliveries} where webhook_key > ${key}`
  const isGone = shard === 0 ? sql`not exists (select 1 from ${webhooks} where ${webhooks.key} = listed.key)` : sql`0`
  const listed = await database.all<{ key: number; isGone: number }>(sql`
    with recursive listed (key) as (
      ${firstAfter(sql`${place.after}`)} union all
      select (${firstAfter(sql`listed.key`)}) from listed where listed.key is not null limit ${CLEANED_WEBHOOKS})
    select key, ${isGone} as isGone from listed where key is not null`)
  const last = listed.at(-1)
  if (!last) return null
  const keys = listed.map(({ key }) => key)
  const gone =
    shard === 0
      ? listed.filter(each => each.isGone === 1).map(({ key }) => key)
      : await wakeWebhooks(unscoped, keys, now)
  const isCut = gone.length > 0 && (await deleteDeliveries(database, gone)).meta.changes === PURGE_ROWS
  return isCut ? place : { stage: 'webhooks', after: last.key }
}

/**
 * Makes webhooks due if their deliveries in a shard are due. A run does the same. But webhooks and deliveries are in
 * different databases, so a run may be interrupted after it has changed only one of them. Returns the keys of webhooks
 * that don't exist anymore.
 */
async function wakeWebhooks(
  { database, control }: UnscopedStore,
  keys: readonly number[],
  now: number,
): Promise<number[]> {
  const waiting = await database
    .selectDistinct({ key: webhookDeliveries.webhookKey })
    .from(webhookDeliveries)
    .where(and(isOneOf(webhookDeliveries.webhookKey, keys), lte(webhookDeliveries.nextAttemptAt, now)))
  const isWaiting = isOneOf(
    webhooks.key,
    waiting.map(({ key }) => key),
  )
  await control.database
    .update(webhooks)
    .set({ dueAt: now })
    .where(and(isWaiting, eq(webhooks.isEnabled, true), or(isNull(webhooks.dueAt), gt(webhooks.dueAt, now))))
  const existing = await control.database
    .select({ key: webhooks.key })
    .from(webhooks)
    .where(isOneOf(webhooks.key, keys))
  const existingKeys = new Set(existing.map(({ key }) => key))
  return keys.filter(key => !existingKeys.has(key))
}

/** The statement that deletes some deliveries of webhooks. */
export const deleteDeliveries = (database: Store['database'], webhookKeys: readonly number[]) =>
  database.delete(webhookDeliveries).where(
    sql`(webhook_key, sequence) in (select webhook_key, sequence from ${webhookDeliveries}
      where webhook_key in ${valuesOf(webhookKeys)} limit ${PURGE_ROWS})`,
  )
