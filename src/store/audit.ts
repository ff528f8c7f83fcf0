import { type SQL, sql } from 'drizzle-orm'
import { newId } from '../domain/ids.ts'
import { auditLog } from './schema.ts'
import type { Store } from './store.ts'

/** Who makes a write, and in which request. */
export interface Act {
  /** The key that calls; null: the ADMIN_TOKEN. */
  keyId: string | null
  /** The user that the key acts for, or null. */
  userId: string | null
  requestId: string
  /** Milliseconds since 1970. */
  at: number
}

/** What was done to what. */
export interface AuditEvent {
  /** `<resource>.<verb>`. */
  action: AuditAction
  targetId: string | SQL
  /** Null where it concerns the organization as a whole. */
  projectKey: number | SQL | null
  /** The ids of what was in force before and after. */
  beforeId?: string | SQL | null
  afterId?: string | SQL | null
}

export const AUDIT_ACTIONS = [
  'organization.create',
  'project.create',
  'project.change',
  'api_key.create',
  'api_key.revoke',
  'api_key.rotate',
  'user.create',
  'trace.delete',
  'prompt.create',
  'prompt.add_version',
  'prompt.activate',
  'prompt.delete',
  'knowledge_doc.create',
  'knowledge_doc.add_version',
  'knowledge_doc.activate',
  'knowledge_doc.delete',
  'review.accept',
  'review.correct',
  'review.reset',
  'comment.create',
  'comment.change',
  'comment.delete',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * The statement that says who did it, for the batch of the write itself: with it or not at all. `happened`: a condition
 * that holds where the write took effect. Sent twice, it leaves one row.
 */
export const recordAct = ({ database, organization }: Store, act: Act, event: AuditEvent, happened: SQL = sql`true`) =>
  database
    .insert(auditLog)
    .select(
      sql`select ${organization.key}, ${act.at}, ${newId()}, ${event.projectKey}, ${act.keyId}, ${act.userId},
          ${event.action}, ${event.targetId}, ${event.beforeId ?? null}, ${event.afterId ?? null}, ${act.requestId}
        where ${happened}`,
    )
    .onConflictDoNothing()

/** The same for many writes in one statement: `event`'s parts are of the rows of `from`, a join with its conditions. */
export const recordActs = (
  { database, organization }: Store,
  act: Act,
  event: Record<'id' | 'projectKey' | 'action' | 'targetId' | 'beforeId' | 'afterId', SQL>,
  from: SQL,
) =>
  database
    .insert(auditLog)
    .select(
      sql`select ${organization.key}, ${act.at}, ${event.id}, ${event.projectKey}, ${act.keyId}, ${act.userId},
          ${event.action}, ${event.targetId}, ${event.beforeId}, ${event.afterId}, ${act.requestId} ${from}`,
    )
    .onConflictDoNothing()
