import { and, asc, eq, inArray, isNull, lt, type SQL, sql } from 'drizzle-orm'
import { newId } from '../../domain/ids.ts'
import { selectFor } from '../core/rows.ts'
import type { Store, UnscopedStore } from '../core/store.ts'
import { apiKeys, auditLog, organizations, projects, sessions, signInLinks, users } from '../schema/accounts.ts'
import { type Credential, credentialColumns, parseScopes } from './api-keys.ts'
import { type Act, type AuditAction, recordAct } from './audit.ts'
import type { Project } from './projects.ts'

/*
 * A session is a row by the hash of its secret, and all that it may do is its key's: what happens to the key happens to it.
 * The same holds for a sign-in link, whose row goes with its first use.
 */

/** A session, and the key that it acts as. */
export interface SessionCredential extends Credential {
  /** When it ends by itself. */
  endsAt: number
  /** When it was signed out; null: it was not. */
  endedAt: number | null
}

/** A session that is to be: by whose secret's hash, and for how long. */
export interface SessionDraft {
  hash: string
  /** The hash of the one that the browser has, which ends as this one begins: nobody would have its secret. Null: none. */
  replacedHash: string | null
  createdAt: number
  endsAt: number
}

/** The session whose secret has this hash, ended ones included. */
export async function findSession({ database }: UnscopedStore, hash: string): Promise<SessionCredential | undefined> {
  const [row] = await database
    .select({ ...credentialColumns, endsAt: sessions.expiresAt, endedAt: sessions.revokedAt })
    .from(sessions)
    .innerJoin(apiKeys, eq(apiKeys.id, sessions.keyId))
    .innerJoin(organizations, eq(organizations.key, apiKeys.organizationKey))
    .leftJoin(projects, eq(projects.key, apiKeys.projectKey))
    .where(eq(sessions.hash, hash))
  return row && { ...row, scopes: parseScopes(row.scopes) }
}

/** Begins a session of a key, which ends with it at the latest. Sent twice, it is one. */
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
 * Begins a session of the key that a link was made with, and spends the link, in one batch: of two that open it at the same
 * time one gets a session. Returns whether the draft's session is there; sent twice, it is one.
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

/** The statements that record that a draft's session began, if it is there, and end the one that it replaces. */
function replaceSession(database: UnscopedStore['database'], draft: SessionDraft, requestId: string) {
  const { hash, replacedHash, createdAt: at } = draft
  const hasBegun = sql`exists (select 1 from ${sessions} as begun where begun.hash = ${hash})`
  return [
    recordSession(database, 'session.begin', { hash, at, requestId }),
    recordSession(database, 'session.end', { hash: replacedHash ?? '', at, requestId }, and(hasBegun, isOpen(at))),
    database
      .update(sessions)
      .set({ revokedAt: sql`coalesce(${sessions.revokedAt}, ${at})` })
      .where(and(eq(sessions.hash, replacedHash ?? ''), hasBegun)),
  ] as const
}

/** The statement that says in the audit log what became of a session, as an act of its key; of none, nothing. */
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
        },
        sql`from ${sessions} cross join ${apiKeys}
          where ${sessions.hash} = ${hash} and ${apiKeys.id} = ${sessions.keyId} and ${condition}`,
      ),
    )
    .onConflictDoNothing()

/** Whether a session has not ended by then. */
const isOpen = (time: number): SQL => sql`(${sessions.revokedAt} is null and ${sessions.expiresAt} > ${time})`

/** A new session of the key that a statement is at. */
const newSession = (draft: SessionDraft) => ({
  hash: draft.hash,
  keyId: apiKeys.id,
  createdAt: draft.createdAt,
  expiresAt: endOf(draft),
  revokedAt: null,
})

/** The time at which a session ends by itself: its own, or its key's if that comes first. */
const endOf = ({ endsAt }: SessionDraft) =>
  sql`min(${endsAt}, coalesce(${apiKeys.expiresAt}, ${endsAt}), coalesce(${apiKeys.revokedAt}, ${endsAt}))`

/** Ends a session, unless it was ended before. Returns the id of its key; undefined where there is no such session. */
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

/** Stores a link that signs a browser in as a key, once. Sent twice, it is one. */
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

/** Deletes up to `limit` sessions, and as many links, that are past their time. Safe to run twice and at the same time. */
export async function deleteExpiredSessions({ database }: UnscopedStore, now: number, limit: number): Promise<void> {
  const pastSessions = database.select({ hash: sessions.hash }).from(sessions).where(lt(sessions.expiresAt, now))
  const pastLinks = database.select({ hash: signInLinks.hash }).from(signInLinks).where(lt(signInLinks.expiresAt, now))
  await database.batch([
    database.delete(sessions).where(inArray(sessions.hash, pastSessions.limit(limit))),
    database.delete(signInLinks).where(inArray(signInLinks.hash, pastLinks.limit(limit))),
  ])
}

/** Who a caller is, in words. */
export interface Identity {
  organizationName: string
  /** The projects that it may see, by slug: the first `limit`. */
  projects: { id: string; slug: string; name: string }[]
  user: { id: string; email: string; name: string } | undefined
  key: { id: string; name: string; prefix: string } | undefined
}

/** The names behind a caller's ids, in one round trip. */
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
      .select({ id: users.id, email: users.email, name: users.name })
      .from(users)
      .where(and(eq(users.organizationKey, organization.key), eq(users.id, userId ?? ''))),
    database
      .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.prefix })
      .from(apiKeys)
      .where(and(eq(apiKeys.organizationKey, organization.key), eq(apiKeys.id, keyId ?? ''))),
  ])
  return { organizationName: named?.name ?? '', projects: seen, user, key }
}
