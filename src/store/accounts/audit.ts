import { and, asc, desc, eq, getTableColumns, gt, gte, lt, lte, or, type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { AUDIT_PASS_MS, AUDIT_SWEEP_ORGANIZATIONS, MAX_SCANNED_ENTRIES } from '../../limits.ts'
import { mergePages, placeOrder, readShards } from '../core/across.ts'
import { selectFor } from '../core/rows.ts'
import { pageFromScan } from '../core/scanned.ts'
import type { Organization, Store, UnscopedStore } from '../core/store.ts'
import { findDuePass, savePass } from '../core/sweeps.ts'
import { isEntryShown } from '../core/veil.ts'
import { auditLog, organizations, projects } from '../schema/accounts.ts'

/** Who makes a write, and in which request. */
export interface Act {
  /**
   * The calling key. Null for the ADMIN_TOKEN, a user who signed in through Cloudflare Access, or the service itself.
   */
  keyId: string | null
  /** The user that the key acts for, or who signed in through Cloudflare Access; null if there is none. */
  userId: string | null
  requestId: string
  /** Milliseconds since 1970. */
  at: number
}

type Actor = { userId: string | null; keyId: string } | { userId: string; keyId: null }

/** The actor's id: the user's, or the key's if the key acts for no user. */
export function actorOf(actor: Actor): string
export function actorOf(act: Pick<Act, 'userId' | 'keyId'>): string | null
export function actorOf({ userId, keyId }: Pick<Act, 'userId' | 'keyId'>): string | null {
  return userId ?? keyId
}

/** A write as the audit log records it. */
export interface AuditEvent {
  /** The entry's id, if other statements refer to it. By default, a new id. */
  id?: string
  /** `<resource>.<verb>`. */
  action: AuditAction
  targetId: string | SQL
  /** Null if the write concerns the whole organization. */
  projectKey: number | SQL | null
  /** The ids of the current version, review, or key before and after. */
  beforeId?: string | SQL | null
  afterId?: string | SQL | null
  /** Why somebody overrode a gate, or why the service returned to an earlier version. */
  reason?: string | SQL | null
}

export const AUDIT_ACTIONS = [
  'organization.create',
  'project.create',
  'project.change',
  'project.delete',
  'api_key.create',
  'api_key.change',
  'api_key.revoke',
  'api_key.rotate',
  'user.create',
  'user.change',
  'user.delete',
  'session.begin',
  'session.end',
  'sign_in_link.create',
  'trace.delete',
  'prompt.create',
  'prompt.add_version',
  'prompt.activate',
  'prompt.roll_back',
  'prompt.delete',
  'knowledge_doc.create',
  'knowledge_doc.add_version',
  'knowledge_doc.activate',
  'knowledge_doc.change',
  'knowledge_doc.delete',
  'review.accept',
  'review.correct',
  'review.reset',
  'review.import',
  'review.vote',
  'review.assign',
  'review.unassign',
  'comment.create',
  'comment.change',
  'comment.delete',
  'error_type.change',
  'step_names.change',
  'dataset.create',
  'dataset.import',
  'dataset.change_item',
  'dataset.set_evaluator',
  'gate.set',
  'gate.delete',
  'view.save',
  'view.delete',
  'guideline.set',
  'review_policy.set',
  'problem.change',
  'problem.suggest',
  'webhook.create',
  'webhook.change',
  'webhook.delete',
  'webhook.rotate_secret',
  'webhook.test',
  'webhook.replay',
  'webhook.switch_off',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** A store, or its equivalent for an organization that is being created and whose key exists only in SQLite. */
interface Place {
  database: Store['database']
  organization: { key: Organization['key'] | SQL }
}

/**
 * The statement that records a write. Run it in the write's own batch, so that either both happen or neither does.
 * `happened` is a condition that is true if the write took effect. Running the statement twice adds one row.
 */
export const recordAct = ({ database, organization }: Place, act: Act, event: AuditEvent, happened: SQL = sql`true`) =>
  database
    .insert(auditLog)
    .select(
      selectFor(
        auditLog,
        {
          ...actColumns(act),
          ...event,
          organizationKey: organization.key,
          id: event.id ?? newId(),
          beforeId: event.beforeId ?? null,
          afterId: event.afterId ?? null,
          reason: event.reason ?? null,
        },
        sql`where ${happened}`,
      ),
    )
    .onConflictDoNothing()

/**
 * Like `recordAct`, but for many writes in one statement: the values of `event` come from the rows of `from`, a join
 * with its conditions.
 */
export const recordActs = (
  { database, organization }: Store,
  act: Act,
  event: Record<'id' | 'projectKey' | 'action' | 'targetId' | 'beforeId' | 'afterId', SQL>,
  from: SQL,
) =>
  database
    .insert(auditLog)
    .select(
      selectFor(auditLog, { ...actColumns(act), ...event, organizationKey: organization.key, reason: null }, from),
    )
    .onConflictDoNothing()

const actColumns = ({ at, keyId, userId, requestId }: Act) => ({ createdAt: at, keyId, userId, requestId })

/** Conditions on audit entries. Undefined fields don't filter. */
export interface AuditFilter {
  action?: AuditAction | undefined
  keyId?: string | undefined
  userId?: string | undefined
  targetId?: string | undefined
  /** Only entries about this project. Null for entries about the whole organization and any of its projects. */
  project: { key: number } | null
  /** Inclusive. */
  from?: number | undefined
  /** Exclusive. */
  to?: number | undefined
}

/** An entry in the audit log. */
export interface AuditEntry {
  id: string
  createdAt: number
  action: string
  keyId: string | null
  userId: string | null
  projectId: string | null
  targetId: string
  beforeId: string | null
  afterId: string | null
  requestId: string
  reason: string | null
}

/** A position in the log, newest first. A page starts after it. */
export interface AuditPosition {
  createdAt: number
  id: string
}

/**
 * A page of the organization's matching entries that the viewer may see, newest first. Scans at most 5,000 entries in
 * each database, so `items` may be short even if more entries follow. The next page starts after `nextPlace`, which is
 * null on the last page.
 */
export async function listEntries(
  store: Store,
  filter: AuditFilter,
  page: { limit: number; after: AuditPosition | undefined },
): Promise<{ items: AuditEntry[]; nextPlace: AuditPosition | null }> {
  const pages = await readShards(store, shard => listIn(shard, filter, page), store.databases)
  return mergePages<AuditEntry, AuditPosition>(pages, {
    limit: page.limit,
    placeOf: entry => entry,
    compare: (one, other) => newest([one.createdAt, one.id], [other.createdAt, other.id]),
  })
}

const newest = placeOrder('descending')

async function listIn(
  store: Store,
  filter: AuditFilter,
  { limit, after }: { limit: number; after: AuditPosition | undefined },
): Promise<{ items: AuditEntry[]; nextPlace: AuditPosition | null }> {
  const { database, organization } = store
  const { createdAt, id, ...columns } = getTableColumns(auditLog)
  const position = sql<number>`row_number() over (order by ${createdAt} desc, ${id} desc)`.as('position')
  const scanned = database
    .select({ createdAt, id, ...columns, position })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.organizationKey, organization.key),
        filter.from === undefined ? undefined : gte(createdAt, filter.from),
        filter.to === undefined ? undefined : lt(createdAt, filter.to),
        after && lte(createdAt, after.createdAt),
        after && sql`(${createdAt}, ${id}) < (${after.createdAt}, ${after.id})`,
      ),
    )
    .orderBy(desc(createdAt), desc(id))
    .limit(MAX_SCANNED_ENTRIES)
    .as('scanned')
  const conditions = (['action', 'keyId', 'userId', 'targetId'] as const).map(field => {
    const value = filter[field]
    return value === undefined ? undefined : eq(scanned[field], value)
  })
  const ofProject = filter.project ? eq(scanned.projectKey, filter.project.key) : undefined
  const isMatch = and(ofProject, ...conditions, isEntryShown(store, scanned)) ?? sql`true`
  const rows = await database
    .select({
      id: scanned.id,
      createdAt: scanned.createdAt,
      action: scanned.action,
      keyId: scanned.keyId,
      userId: scanned.userId,
      projectId: sql<
        string | null
      >`(select ${projects.id} from ${projects} where ${projects.key} = ${scanned.projectKey})`,
      targetId: scanned.targetId,
      beforeId: scanned.beforeId,
      afterId: scanned.afterId,
      requestId: scanned.requestId,
      reason: scanned.reason,
      isMatch: sql<number>`coalesce(${isMatch}, 0)`,
      position: scanned.position,
    })
    .from(scanned)
    .where(or(isMatch, eq(scanned.position, MAX_SCANNED_ENTRIES)))
    .limit(limit + 1)
  return pageFromScan(rows, limit, MAX_SCANNED_ENTRIES)
}

/**
 * Continues a pass over all organizations, a few at a time. Deletes up to `limit` entries older than `before` and
 * returns how many it deleted. Safe to run twice or concurrently.
 */
export async function deleteOldEntries(
  unscoped: UnscopedStore,
  { now, before, limit }: { now: number; before: number; limit: number },
): Promise<number> {
  const { database, control } = unscoped
  const cursor = await findDuePass(unscoped, 'audit', now)
  if (cursor === undefined) return 0
  const page = await control.database
    .select({ key: organizations.key })
    .from(organizations)
    .where(gt(organizations.key, Number(cursor)))
    .orderBy(asc(organizations.key))
    .limit(AUDIT_SWEEP_ORGANIZATIONS)
  const keys = JSON.stringify(page.map(({ key }) => key))
  const { meta } = await database.run(sql`
    delete from ${auditLog} where (organization_key, created_at, id) in (
      select old.organization_key, old.created_at, old.id from json_each(${keys}) as item cross join ${auditLog} old
      where old.organization_key = item.value and old.created_at < ${before} limit ${limit})`)
  const deleted = meta.changes
  // If these organizations have more entries, the next run starts with them.
  const last = deleted === limit ? cursor : String(page.at(-1)?.key ?? '')
  const isDone = deleted < limit && page.length < AUDIT_SWEEP_ORGANIZATIONS
  await savePass(unscoped, 'audit', isDone ? { cursor: '', dueAt: now + AUDIT_PASS_MS } : { cursor: last, dueAt: now })
  return deleted
}
