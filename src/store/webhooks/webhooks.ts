import { and, asc, eq, getTableColumns, gt, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { EventType, WebhookFormat } from '../../domain/webhook.ts'
import { MAX_WEBHOOKS } from '../../limits.ts'
import { type Act, recordAct } from '../accounts/audit.ts'
import { hasExistingProject, isExistingProject, type Project, requireExisting } from '../accounts/projects.ts'
import { readSome } from '../core/across.ts'
import { selectFor } from '../core/rows.ts'
import type { Store } from '../core/store.ts'
import { projects } from '../schema/accounts.ts'
import { webhooks } from '../schema/webhooks.ts'
import { deleteDeliveries } from './cleanup.ts'

/** A webhook as it's stored. `sealed` has its URL and secrets. */
export interface WebhookRecord extends Omit<typeof webhooks.$inferSelect, 'events' | 'organizationKey'> {
  events: readonly EventType[]
  /** Null for every project in the organization. */
  projectId: string | null
}

/** The settings that a manager chooses. */
interface WebhookSettings {
  sealed: string
  events: readonly EventType[]
  format: WebhookFormat
  includesValues: boolean
  description: string
  origin: string
}

/** A new webhook. The caller chooses `id`, so a retry doesn't create a second one. */
interface WebhookDraft extends WebhookSettings {
  id: string
  requestHash: string
  createdAt: number
}

const { events: _, organizationKey: __, ...plainColumns } = getTableColumns(webhooks)

const columns = {
  ...plainColumns,
  events: sql<string>`${webhooks.events}`.mapWith(parseEvents),
  projectId: projects.id,
}

/**
 * Each stored type has a space before and after it. Another release may have stored types that this release doesn't
 * have.
 */
function parseEvents(stored: string): EventType[] {
  return stored.trim().split(' ') as EventType[]
}

const writeEvents = (events: readonly EventType[]): string => ` ${events.join(' ')} `

/** `hasExistingProject` is null for a webhook that covers every project. */
const isOwn = (store: Store): SQL =>
  sql`(${eq(webhooks.organizationKey, store.organization.key)}
    and coalesce(${hasExistingProject(store, webhooks.projectKey)}, true))`

/** The statement that reads the organization's webhooks. */
export const selectWebhooks = (store: Store, condition: SQL | undefined) =>
  store.database
    .select(columns)
    .from(webhooks)
    .leftJoin(projects, eq(projects.key, webhooks.projectKey))
    .where(and(isOwn(store), condition))

/** Which webhooks to list. */
interface WebhookFilter {
  /** Only webhooks that send this project's events. Null for all webhooks. */
  project: Pick<Project, 'key'> | null
  /** Whether to leave out webhooks that cover every project. */
  isOwnOnly: boolean
}

/** A page of the organization's webhooks, oldest first. */
export const listWebhooks = (
  store: Store,
  { project, isOwnOnly }: WebhookFilter,
  { limit, after }: { limit: number; after: number },
): Promise<WebhookRecord[]> =>
  selectWebhooks(
    store,
    and(
      project === null
        ? undefined
        : or(eq(webhooks.projectKey, project.key), isOwnOnly ? undefined : isNull(webhooks.projectKey)),
      gt(webhooks.key, after),
    ),
  )
    .orderBy(asc(webhooks.key))
    .limit(limit)

/** Finds a webhook in the organization. */
export async function findWebhook(store: Store, id: string): Promise<WebhookRecord | undefined> {
  const [row] = await selectWebhooks(store, eq(webhooks.id, id))
  return row
}

/**
 * Creates a webhook for a project, or for every project. If a webhook with this id already exists, returns it. Returns
 * undefined if the limit is reached.
 */
export async function addWebhook(
  store: Store,
  act: Act,
  project: Project | null,
  draft: WebhookDraft,
): Promise<WebhookRecord | undefined> {
  const { database, organization } = store
  const { id, createdAt, events, includesValues, ...settings } = draft
  const isThis = and(eq(webhooks.organizationKey, organization.key), eq(webhooks.id, id))
  const isNew = sql`exists (select 1 from ${webhooks} where ${isThis} and ${webhooks.sealed} = ${draft.sealed})`
  await database.batch([
    database
      .insert(webhooks)
      .select(
        selectFor(
          webhooks,
          {
            ...settings,
            key: null,
            id,
            organizationKey: organization.key,
            projectKey: project?.key ?? null,
            events: writeEvents(events),
            includesValues: Number(includesValues),
            oldSecretUntil: null,
            isEnabled: 1,
            disabledAt: null,
            disabledReason: null,
            failingSince: null,
            restCount: 0,
            restsUntil: null,
            dueAt: null,
            busyUntil: null,
            createdAt,
            updatedAt: createdAt,
          },
          sql`where ${project ? isExistingProject(store, project) : sql`true`} and (
            select count(*) from ${webhooks} where ${webhooks.organizationKey} = ${organization.key}
              and ${webhooks.projectKey} is ${project?.key ?? null}) < ${MAX_WEBHOOKS}`,
        ),
      )
      .onConflictDoNothing(),
    recordAct(
      store,
      act,
      { action: 'webhook.create', targetId: id, projectKey: project?.key ?? null, afterId: id },
      isNew,
    ),
  ])
  const stored = await findWebhook(store, id)
  if (!stored && project) await requireExisting(store, project)
  return stored
}

/** Changes to a webhook. Undefined fields stay as they are. */
export type WebhookChanges = { [Name in keyof WebhookSettings]?: WebhookSettings[Name] | undefined } & {
  isEnabled?: boolean | undefined
}

/** Identifies a webhook, and the URL and secrets that a change is based on. */
type WebhookVersion = Pick<WebhookRecord, 'key' | 'id' | 'projectKey' | 'sealed'>

const isVersion = (store: Store, { key, sealed }: WebhookVersion): SQL =>
  sql`(${isOwn(store)} and ${webhooks.key} = ${key} and ${webhooks.sealed} = ${sealed})`

const existsVersion = (store: Store, version: WebhookVersion): SQL =>
  sql`exists (select 1 from ${webhooks} where ${isVersion(store, version)})`

/** Resets a webhook's failures, because those before a manager's change say nothing about what happens after it. */
const FRESH_START = { failingSince: null, restCount: 0, restsUntil: null }
const ENABLED = { isEnabled: true, disabledAt: null, disabledReason: null, ...FRESH_START }
const DISABLED = { isEnabled: false, disabledReason: 'manager', dueAt: null } as const

/**
 * Changes a webhook. Enabling a disabled webhook resumes the remaining deliveries. Returns undefined if the webhook was
 * changed or deleted since it was read.
 */
export async function updateWebhook(
  store: Store,
  act: Act,
  before: WebhookRecord,
  { events, isEnabled, ...changes }: WebhookChanges,
): Promise<WebhookRecord | undefined> {
  const { database } = store
  const others = { ...changes, events: events && writeEvents(events) }
  const isSwitch = isEnabled !== undefined && isEnabled !== before.isEnabled
  const switched = isSwitch ? (isEnabled ? { ...ENABLED, dueAt: act.at } : { ...DISABLED, disabledAt: act.at }) : {}
  const moved = changes.sealed === undefined ? {} : FRESH_START
  const differs = (column: SQLiteColumn, value: string | boolean | undefined) =>
    value === undefined ? undefined : sql`${column} <> ${typeof value === 'boolean' ? Number(value) : value}`
  const isDifferent = or(
    differs(webhooks.sealed, others.sealed),
    differs(webhooks.events, others.events),
    differs(webhooks.format, others.format),
    differs(webhooks.includesValues, others.includesValues),
    differs(webhooks.description, others.description),
    differs(webhooks.isEnabled, isEnabled),
  )
  const isChange = and(isVersion(store, before), isDifferent ?? sql`false`)
  await database.batch([
    // Add the audit entry first, because the update changes the version. A change that has no effect isn't audited.
    recordAct(
      store,
      act,
      { action: 'webhook.change', targetId: before.id, projectKey: before.projectKey },
      sql`exists (select 1 from ${webhooks} where ${isChange})`,
    ),
    database
      .update(webhooks)
      .set({ ...others, ...moved, ...switched, updatedAt: act.at })
      .where(isChange),
  ])
  // The remaining deliveries resume right away.
  if (isSwitch && isEnabled) store.outbox.add(before.projectKey)
  const after = await findWebhook(store, before.id)
  return after && after.sealed === (changes.sealed ?? before.sealed) ? after : undefined
}

/** Replaces a webhook's secrets. Returns undefined if the webhook was changed or deleted since it was read. */
export async function replaceSecret(
  store: Store,
  act: Act,
  before: WebhookRecord,
  { sealed, oldSecretUntil }: { sealed: string; oldSecretUntil: number },
): Promise<WebhookRecord | undefined> {
  await store.database.batch([
    recordAct(
      store,
      act,
      { action: 'webhook.rotate_secret', targetId: before.id, projectKey: before.projectKey },
      existsVersion(store, before),
    ),
    store.database.update(webhooks).set({ sealed, oldSecretUntil, updatedAt: act.at }).where(isVersion(store, before)),
  ])
  const after = await findWebhook(store, before.id)
  return after?.sealed === sealed ? after : undefined
}

/** Deletes a webhook, and some of its deliveries. Nothing reads the rest, and cron deletes them. */
export async function deleteWebhook(store: Store, act: Act, { key, id, projectKey }: WebhookRecord): Promise<void> {
  const { database } = store
  const isThis = and(isOwn(store), eq(webhooks.key, key))
  await database.batch([
    recordAct(
      store,
      act,
      { action: 'webhook.delete', targetId: id, projectKey, beforeId: id },
      sql`exists (select 1 from ${webhooks} where ${isThis})`,
    ),
    database.delete(webhooks).where(isThis),
    deleteDeliveries(database, [key]),
  ])
  await readSome(
    store.databases.filter(each => each !== store.control),
    each => deleteDeliveries(each.database, [key]),
  )
}
