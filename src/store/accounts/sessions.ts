import { and, asc, eq, inArray, isNull, lt, type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { selectFor } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { apiKeys, auditLog, organizations, projects, sessions, signInLinks, users } from '../schema/accounts.ts'
import { type Credential, credentialColumns, parseRights } from './api-keys.ts'
import { type Act, type AuditAction, recordAct } from './audit.ts'
import type { Project } from './projects.ts'

/*
 * A session is a row identified by the hash of its secret. It has exactly its key's rights and ends when the key does.
 * The same is true of a sign-in link, whose row is deleted on first use.
 */

/** A session and the key that it acts as. */
export interface SessionCredential extends Credential {
  /** When it expires. */
  endsAt: number
  /** When the session was ended early, or null. */
  endedAt: number | null
}

/** A new session. */
export interface SessionDraft {
  hash: string
  /**
   * The hash of the browser's previous session, or null. That session ends when the new one begins, because the browser
   * discards its secret.
   */
  replacedHash: string | null
  createdAt: number
  endsAt: number
}

/** Finds the session whose secret has this hash, even if it has ended. */
export async function findSession({ database }: UnscopedStore, hash: string): Promise<SessionCredential | undefined> {
  const [row] = await database
    .select({ ...credentialColumns, endsAt: sessions.expiresAt, endedAt: sessions.revokedAt })
    .from(sessions)
    .innerJoin(apiKeys, eq(apiKeys.id, sessions.keyId))
    .innerJoin(organizations, eq(organizations.key, apiKeys.organizationKey))
    .leftJoin(projects, eq(projects.key, apiKeys.projectKey))
    .where(eq(sessions.hash, hash))
  return row && { ...row, ...parseRights(row) }
}

/** Starts a session that ends no later than its key. A retry doesn't start a second one. */
export async function addSession(
  { database }: UnscopedStore,
  keyId: string,
  draft: SessionDraft,
  requestId: string,
): Promise<void> {
  await database.batch([
    database
      .insert(sessions)
      .select(selectFor(sessions, newSession(draft), sql`from ${apiKeys} where ${apiKeys.id} = ${keyId}`))
      .onConflictDoNothing(),
    ...replaceSession(database, draft, requestId),
  ])
}

/**
 * Starts a session for the key that a link belongs to and deletes the link, in one batch, so if two browsers open the
 * link at the same time, only one gets a session. Returns whether the draft's session exists. A retry doesn't start a
 * second one.
 */
export async function redeemSignInLink(
  { database }: UnscopedStore,
  linkHash: string,
  draft: SessionDraft,
  requestId: string,
): Promise<boolean> {
  const [, , begun] = await database.batch([
    database
      .insert(sessions)
      .select(
        selectFor(
          sessions,
          newSession(draft),
          sql`from ${signInLinks} cross join ${apiKeys}
            where ${signInLinks.hash} = ${linkHash} and ${signInLinks.expiresAt} > ${draft.createdAt}
              and ${apiKeys.id} = ${signInLinks.keyId}`,
        ),
      )
      .onConflictDoNothing(),
    database.delete(signInLinks).where(eq(signInLinks.hash, linkHash)),
    database.select({ hash: sessions.hash }).from(sessions).where(eq(sessions.hash, draft.hash)),
    ...replaceSession(database, draft, requestId),
  ])
  return begun.length > 0
}

/** The statements that record the start of a draft's session, if it exists, and end the session that it replaces. */
function replaceSession(database: UnscopedStore['database'], draft: SessionDraft, requestId: string) {
  const { hash, replacedHash, createdAt: at } = draft
  const wasStarted = sql`exists (select 1 from ${sessions} as begun where begun.hash = ${hash})`
  return [
    recordSession(database, 'session.begin', { hash, at, requestId }),
    recordSession(database, 'session.end', { hash: replacedHash ?? '', at, requestId }, and(wasStarted, isOpen(at))),
    database
      .update(sessions)
      .set({ revokedAt: sql`coalesce(${sessions.revokedAt}, ${at})` })
      .where(and(eq(sessions.hash, replacedHash ?? ''), wasStarted)),
  ] as const
}

/**
 * The statement that audits a session's start or end as an act of its key. Records nothing if the session doesn't
 * exist.
 */
const recordSession = (
  database: UnscopedStore['database'],
  action: AuditAction,
  { hash, at, requestId }: { hash: string; at: number; requestId: string },
  condition: SQL = sql`true`,
) =>
  database
    .insert(auditLog)
    .select(
      selectFor(
        auditLog,
        {
          organizationKey: apiKeys.organizationKey,
          createdAt: at,
          id: newId(),
          projectKey: apiKeys.projectKey,
          keyId: apiKeys.id,
          userId: apiKeys.userId,
          action,
          targetId: apiKeys.id,
          beforeId: null,
          afterId: null,
          requestId,
          reason: null,
        },
        sql`from ${sessions} cross join ${apiKeys}
          where ${sessions.hash} = ${hash} and ${apiKeys.id} = ${sessions.keyId} and ${condition}`,
      ),
    )
    .onConflictDoNothing()

/** Whether a session hasn't ended by that time. */
const isOpen = (time: number): SQL => sql`(${sessions.revokedAt} is null and ${sessions.expiresAt} > ${time})`

/** The values of a new session for the current key. */
const newSession = (draft: SessionDraft) => ({
  hash: draft.hash,
  keyId: apiKeys.id,
  createdAt: draft.createdAt,
  expiresAt: endOf(draft),
  revokedAt: null,
})

/** When a session expires: at its own time or when its key expires, whichever comes first. */
const endOf = ({ endsAt }: SessionDraft) =>
  sql`min(${endsAt}, coalesce(${apiKeys.expiresAt}, ${endsAt}), coalesce(${apiKeys.revokedAt}, ${endsAt}))`

/** Ends a session unless it's already over. Returns its key's id, or undefined if there is no such session. */
export async function endSession(
  { database }: UnscopedStore,
  hash: string,
  { at, requestId }: { at: number; requestId: string },
): Promise<string | undefined> {
  const [, [row]] = await database.batch([
    recordSession(database, 'session.end', { hash, at, requestId }, isOpen(at)),
    database
      .update(sessions)
      .set({ revokedAt: sql`coalesce(${sessions.revokedAt}, ${at})` })
      .where(eq(sessions.hash, hash))
      .returning({ keyId: sessions.keyId }),
  ])
  return row?.keyId
}

/** Stores a link that signs a browser in as a key and works once. A retry doesn't store a second one. */
export async function addSignInLink(
  store: Store,
  act: Act,
  { projectKey, ...link }: { hash: string; keyId: string; projectKey: number | null; expiresAt: number },
): Promise<void> {
  await store.database.batch([
    store.database.insert(signInLinks).values(link).onConflictDoNothing(),
    recordAct(store, act, { action: 'sign_in_link.create', targetId: link.keyId, projectKey }),
  ])
}

/** Deletes up to `limit` expired sessions and as many expired links. Safe to run twice or concurrently. */
export async function deleteExpiredSessions({ database }: UnscopedStore, now: number, limit: number): Promise<void> {
  const pastSessions = database.select({ hash: sessions.hash }).from(sessions).where(lt(sessions.expiresAt, now))
  const pastLinks = database.select({ hash: signInLinks.hash }).from(signInLinks).where(lt(signInLinks.expiresAt, now))
  await database.batch([
    database.delete(sessions).where(inArray(sessions.hash, pastSessions.limit(limit))),
    database.delete(signInLinks).where(inArray(signInLinks.hash, pastLinks.limit(limit))),
  ])
}

/** The names to show for a caller. */
export interface Identity {
  organizationName: string
  /** The first `limit` projects that the caller may see, sorted by slug. */
  projects: { id: string; slug: string; name: string }[]
  user: { id: string; email: string; name: string; isAdjudicator: boolean } | undefined
  key: { id: string; name: string; prefix: string } | undefined
}

/** Finds the names for a caller's ids, in one round trip. */
export async function findIdentity(
  { database, organization }: Store,
  caller: { keyId: string | null; userId: string | null; project: Project | null },
  limit: number,
): Promise<Identity> {
  const { project, keyId, userId } = caller
  const [[named], seen, [user], [key]] = await database.batch([
    database.select({ name: organizations.name }).from(organizations).where(eq(organizations.key, organization.key)),
    database
      .select({ id: projects.id, slug: projects.slug, name: projects.name })
      .from(projects)
      .where(
        and(
          eq(projects.organizationKey, organization.key),
          isNull(projects.deletedAt),
          project ? eq(projects.slug, project.slug) : undefined,
        ),
      )
      .orderBy(asc(projects.slug))
      .limit(limit),
    database
      .select({ id: users.id, email: users.email, name: users.name, isAdjudicator: users.isAdjudicator })
      .from(users)
      .where(and(eq(users.organizationKey, organization.key), eq(users.id, userId ?? ''))),
    database
      .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.prefix })
      .from(apiKeys)
      .where(and(eq(apiKeys.organizationKey, organization.key), eq(apiKeys.id, keyId ?? ''))),
  ])
  return { organizationName: named?.name ?? '', projects: seen, user, key }
}
