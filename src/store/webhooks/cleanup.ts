import { and, asc, eq, gt, isNull, type SQL, sql } from 'drizzle-orm'
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
import { valuesOf } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../schema/webhooks.ts'

/*
 * What removes events and deliveries: deletion of their trace or project, 30 days, and the deletion of their webhook. No
 * index finds deliveries by event, so each statement here looks for an event's deliveries to each webhook that may have
 * got it. Deliveries of deleted webhooks are found by walking the webhooks' keys.
 */

/**
 * The query of the primary keys of events' deliveries, without those of deleted webhooks. `condition` selects `event`, a
 * row of `webhook_events`.
 */
const deliveriesOf = (condition: SQL): SQL => sql`
  select receiver.key, event.sequence from ${webhookEvents} event cross join ${webhooks} receiver
  where ${condition} and receiver.organization_key = event.organization_key
    and (receiver.project_key = event.project_key or receiver.project_key is null)`

/** The condition on deliveries that they're about events that a condition selects. */
const isDeliveryOf = (condition: SQL): SQL => sql`(webhook_key, sequence) in (${deliveriesOf(condition)})`

/**
 * Deletes some of the organization's events, and their deliveries. Returns whether there may be more. `condition` is on
 * `webhook_events`.
 */
export async function deleteEvents({ database, organization }: Store, condition: SQL): Promise<boolean> {
  const piece = sql`(select sequence from ${webhookEvents}
    where ${condition} and organization_key = ${organization.key} order by sequence limit ${PURGED_EVENTS})`
  const [, { meta }] = await database.batch([
    database.delete(webhookDeliveries).where(isDeliveryOf(sql`event.sequence in ${piece}`)),
    database.delete(webhookEvents).where(sql`sequence in ${piece}`),
  ])
  return meta.changes === PURGED_EVENTS
}

/**
 * Replaces a deleted user's id in some events of a project, and in what receivers answered, which may repeat the event.
 * With null, in the organization's other events. Returns the last event's sequence, or null if there are no more.
 */
export async function renameInEvents(
  { database, organization }: Store,
  { userId, newId }: { userId: string; newId: string },
  { projectKey, after }: { projectKey: number | null; after: number },
): Promise<number | null> {
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
        sql`${isDeliveryOf(sql`event.sequence in ${piece}`)} and instr(${webhookDeliveries.answer}, ${userId}) > 0`,
      ),
  ])
  return last.sequence
}

/** The progress of a pass: first over all expired events, then over the keys of all webhooks with deliveries. */
type Place = { stage: 'events'; after: number } | { stage: 'webhooks'; after: number }

/**
 * Continues a pass over old events and deleted webhooks, by one bounded piece. Returns whether there's more to do now. Safe
 * to run twice or concurrently.
 */
export async function deleteOldEvents(unscoped: UnscopedStore, now: number): Promise<boolean> {
  const saved = await findDuePass(unscoped, 'webhooks', now)
  if (saved === undefined) return false
  const place: Place = saved === '' ? { stage: 'events', after: 0 } : JSON.parse(saved)
  const next =
    place.stage === 'events' ? await expireEvents(unscoped, place, now) : await forgetWebhooks(unscoped, place)
  const pass = next ? { cursor: JSON.stringify(next), dueAt: now } : { cursor: '', dueAt: now + WEBHOOK_PASS_MS }
  await savePass(unscoped, 'webhooks', pass)
  return next !== null
}

/** Deletes the next expired events and their deliveries, except what's still waiting to be sent. */
async function expireEvents({ database }: UnscopedStore, { after }: Place, now: number): Promise<Place> {
  const before = now - EVENT_RETENTION_DAYS * DAY_MS
  const found = await database
    .select({ sequence: webhookEvents.sequence, at: webhookEvents.at })
    .from(webhookEvents)
    .where(gt(webhookEvents.sequence, after))
    .orderBy(asc(webhookEvents.sequence))
    .limit(EXPIRED_EVENTS)
  // Events are in the order of their time, give or take a request's.
  const end = found.findIndex(({ at }) => at >= before)
  const old = end === -1 ? found : found.slice(0, end)
  const last = old.at(-1)
  if (!last) return { stage: 'webhooks', after: 0 }
  const piece = valuesOf(old.map(({ sequence }) => sequence))
  const isOld = sql`event.sequence in ${piece}`
  await database.batch([
    database.delete(webhookDeliveries).where(and(isDeliveryOf(isOld), isNull(webhookDeliveries.nextAttemptAt))),
    database.delete(webhookEvents).where(
      and(
        sql`${webhookEvents.sequence} in ${piece}`,
        eq(webhookEvents.isNew, false),
        sql`${webhookEvents.sequence} not in (
          select pending.sequence from ${webhookDeliveries} pending
          where (pending.webhook_key, pending.sequence) in (${deliveriesOf(isOld)}))`,
      ),
    ),
  ])
  return { stage: 'events', after: last.sequence }
}

/** Deletes deliveries of the next deleted webhooks. Seeks from webhook to webhook. */
async function forgetWebhooks({ database }: UnscopedStore, place: Place): Promise<Place | null> {
  const firstAfter = (key: SQL) => sql`select min(webhook_key) from ${webhookDeliveries} where webhook_key > ${key}`
  const listed = await database.all<{ key: number; isGone: number }>(sql`
    with recursive listed (key) as (
      ${firstAfter(sql`${place.after}`)} union all
      select (${firstAfter(sql`listed.key`)}) from listed where listed.key is not null limit ${CLEANED_WEBHOOKS})
    select key, not exists (select 1 from ${webhooks} where ${webhooks.key} = listed.key) as isGone
    from listed where key is not null`)
  const last = listed.at(-1)
  if (!last) return null
  const gone = listed.filter(({ isGone }) => isGone === 1).map(({ key }) => key)
  const isCut = gone.length > 0 && (await deleteDeliveries(database, gone)).meta.changes === PURGE_ROWS
  return isCut ? place : { stage: 'webhooks', after: last.key }
}

/** The statement that deletes some deliveries of webhooks. */
export const deleteDeliveries = (database: Store['database'], webhookKeys: readonly number[]) =>
  database.delete(webhookDeliveries).where(
    sql`(webhook_key, sequence) in (select webhook_key, sequence from ${webhookDeliveries}
      where webhook_key in ${valuesOf(webhookKeys)} limit ${PURGE_ROWS})`,
  )
