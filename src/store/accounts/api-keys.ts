import { and, asc, eq, getTableColumns, gt, or, type SQL, sql } from 'drizzle-orm'
import { type Actor, defaultActor, type HashedKey, SCOPES, type Scope } from '../../domain/api-key.ts'
import { Revoked } from '../../domain/failures.ts'
import { selectFor } from '../core/rows.ts'
import type { Organization, Store, UnscopedStore } from '../core/store.ts'
import { apiKeys, organizations, projects, users } from '../schema/accounts.ts'
import { type Act, recordAct } from './audit.ts'
import { organizationColumns } from './organizations.ts'
import { type PlacedProject, projectColumns } from './projects.ts'
import { handOverViews } from './saved-views.ts'

/** The rights and limits of an API key. */
export interface Credential {
  keyId: string
  organization: Organization
  /** Null if the key covers every project in the organization. */
  project: PlacedProject | null
  /** The user that the key acts for, or null. */
  userId: string | null
  /** Whether that user settles disagreements between reviewers. */
  isAdjudicator: boolean
  scopes: readonly Scope[]
  actsAs: Actor
  /** Null means the deployment's default. */
  rateLimitPerMinute: number | null
  expiresAt: number | null
  revokedAt: number | null
}

/** A key as its owners see it. The secret is only shown at creation. */
export interface ApiKey {
  id: string
  name: string
  prefix: string
  projectId: string | null
  userId: string | null
  scopes: readonly Scope[]
  actsAs: Actor
  rateLimitPerMinute: number | null
  expiresAt: number | null
  revokedAt: number | null
  /** The id of the key that replaced this one in a rotation, or null. */
  replacedBy: string | null
  createdAt: number
}

/** Changes to a key. Undefined fields stay as they are. */
export interface ApiKeyChanges {
  name?: string | undefined
  scopes?: readonly Scope[] | undefined
  rateLimitPerMinute?: number | null | undefined
  expiresAt?: number | null | undefined
}

/** A new key. The caller chooses `id`, so a retry doesn't create a second key. */
export interface ApiKeyDraft {
  id: string
  name: string
  project: PlacedProject | null
  userId: string | null
  scopes: readonly Scope[]
  actsAs: Actor
  rateLimitPerMinute: number | null
  expiresAt: number | null
  createdAt: number
}

/** The columns of a credential, from a key joined with its organization and project. */
export const credentialColumns = {
  keyId: apiKeys.id,
  userId: apiKeys.userId,
  isAdjudicator: sql`exists (select 1 from ${users} where ${users.organizationKey} = ${apiKeys.organizationKey}
    and ${users.id} = ${apiKeys.userId} and ${users.isAdjudicator})`.mapWith(Boolean),
  scopes: apiKeys.scopes,
  actsAs: apiKeys.actsAs,
  rateLimitPerMinute: apiKeys.rateLimitPerMinute,
  expiresAt: apiKeys.expiresAt,
  // A key never outlives its project, even if it was created while the project was being deleted.
  revokedAt: sql<number | null>`min(coalesce(${apiKeys.revokedAt}, ${projects.deletedAt}),
    coalesce(${projects.deletedAt}, ${apiKeys.revokedAt}))`,
  organization: organizationColumns,
  project: projectColumns,
}

/** Finds the credential whose secret has this hash, even if it's revoked or expired. */
export async function findCredential({ database }: UnscopedStore, hash: string): Promise<Credential | undefined> {
  const [row] = await database
    .select(credentialColumns)
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.key, apiKeys.organizationKey))
    .leftJoin(projects, eq(projects.key, apiKeys.projectKey))
    .where(eq(apiKeys.hash, hash))
  return row && { ...row, ...parseRights(row) }
}

/**
 * Stores a new key in the organization. A retry with the same id and secret doesn't store a second one. Throws a 403 if
 * the caller's own key no longer has the scopes to grant.
 */
export async function addApiKey(
  store: Store,
  act: Act,
  draft: ApiKeyDraft,
  { hash, prefix }: HashedKey,
): Promise<ApiKey> {
  const { database, organization } = store
  const { id, name, userId, rateLimitPerMinute, expiresAt, createdAt } = draft
  const projectKey = draft.project?.key ?? null
  const isKey = and(eq(apiKeys.organizationKey, organization.key), eq(apiKeys.id, id))
  const [, , stored] = await database.batch([
    database
      .insert(apiKeys)
      .select(
        selectFor(
          apiKeys,
          {
            key: null,
            id,
            hash,
            prefix,
            name,
            organizationKey: organization.key,
            projectKey,
            userId,
            scopes: draft.scopes.join(' '),
            actsAs: draft.actsAs,
            rateLimitPerMinute,
            expiresAt,
            revokedAt: null,
            createdAt,
            replacedBy: null,
          },
          sql`where ${mayStillManage(act, draft.scopes)}`,
        ),
      )
      .onConflictDoNothing(),
    recordAct(
      store,
      act,
      { action: 'api_key.create', targetId: id, projectKey, afterId: id },
      sql`exists (select 1 from ${apiKeys} where ${isKey})`,
    ),
    database.select({ id: apiKeys.id }).from(apiKeys).where(isKey),
  ])
  if (stored.length === 0) throw rightsRevoked()
  return newApiKey(draft, prefix)
}

/**
 * Whether the caller's key may still manage and grant these scopes. An isolate caches keys for 30 seconds. Without this
 * check, a revoked key could use that time to create keys and links that outlive it.
 */
export const mayStillManage = ({ keyId, at }: Act, scopes: readonly Scope[] = []): SQL =>
  keyId === null
    ? sql`true`
    : sql`exists (select 1 from ${apiKeys} as actor where actor.id = ${keyId}
        and coalesce(actor.revoked_at, ${at} + 1) > ${at}
        and not exists (select 1 from json_each(${JSON.stringify(['manage', ...scopes])}) as item
          where instr(actor.scopes, item.value) = 0))`

/** Builds the 403 for a caller whose key has lost its rights. */
export const rightsRevoked = () => new Revoked('This key may no longer do that: it was revoked or changed')

/** A key right after its creation. */
export function newApiKey({ project, ...fields }: ApiKeyDraft, prefix: string): ApiKey {
  return { ...fields, prefix, projectId: project?.id ?? null, revokedAt: null, replacedBy: null }
}

/** Finds a key in the organization. Callers must check what the request may do with it. */
export async function findApiKey(store: Store, id: string): Promise<ApiKey | undefined> {
  const [row] = await selectApiKeys(store, eq(apiKeys.id, id))
  return row && { ...row, ...parseRights(row) }
}

/** Revokes a key immediately. Does nothing if it's already revoked. */
export async function revokeApiKey(store: Store, act: Act, id: string): Promise<void> {
  const isKey = and(eq(apiKeys.organizationKey, store.organization.key), eq(apiKeys.id, id))
  await store.database.batch([
    // Record the act first: once the key is revoked, this would look like a second revocation, which isn't audited.
    recordAct(
      store,
      act,
      { action: 'api_key.revoke', targetId: id, projectKey: projectKeyOf(isKey), beforeId: id },
      sql`exists (select 1 from ${apiKeys} where ${isKey} and ${isUnrevokedAt(act.at)})`,
    ),
    store.database
      .update(apiKeys)
      .set({ revokedAt: earlierRevocation(act.at) })
      .where(isKey),
  ])
}

/**
 * Changes a key. Returns undefined if it's revoked. Setting the same values again changes nothing and isn't audited.
 * Throws a 403 like `addApiKey`.
 */
export async function updateApiKey(
  store: Store,
  act: Act,
  old: ApiKey,
  { scopes, ...changes }: ApiKeyChanges,
): Promise<ApiKey | undefined> {
  const { database } = store
  const isKey = and(eq(apiKeys.organizationKey, store.organization.key), eq(apiKeys.id, old.id))
  const set = { ...changes, scopes: scopes?.join(' ') }
  const differences = (['name', 'scopes', 'rateLimitPerMinute', 'expiresAt'] as const).flatMap(field =>
    set[field] === undefined ? [] : [sql`${apiKeys[field]} is not ${set[field]}`],
  )
  const differs = or(...differences) ?? sql`false`
  const isChange = and(isKey, isUnrevokedAt(act.at), differs, mayStillManage(act, scopes))
  const [, , [row]] = await database.batch([
    recordAct(
      store,
      act,
      { action: 'api_key.change', targetId: old.id, projectKey: projectKeyOf(isKey) },
      sql`exists (select 1 from ${apiKeys} where ${isChange})`,
    ),
    database
      .update(apiKeys)
      // New scopes must not change who an older key acts as.
      .set({ actsAs: sql`coalesce(${apiKeys.actsAs}, ${old.actsAs})`, ...set })
      .where(isChange),
    database
      .select({ ...getTableColumns(apiKeys), isUnchanged: sql<number>`${differs}` })
      .from(apiKeys)
      .where(isKey),
  ])
  if (!row || (row.revokedAt !== null && row.revokedAt <= act.at)) return undefined
  if (row.isUnchanged) throw rightsRevoked()
  const { name, rateLimitPerMinute, expiresAt, revokedAt, replacedBy } = row
  return { ...old, name, ...parseRights(row), rateLimitPerMinute, expiresAt, revokedAt, replacedBy }
}

/**
 * Stores a key's successor with the same rights, gives it the key's views, and revokes the old key at `revokedAt`.
 * Returns undefined if the old key is revoked, if it has a successor that isn't revoked, or if the caller's own key has
 * lost its rights. A retry with the same id and secret doesn't store a second successor.
 */
export async function rotateApiKey(
  store: Store,
  act: Act,
  old: ApiKey,
  { id, createdAt, revokedAt }: { id: string; createdAt: number; revokedAt: number },
  { hash, prefix }: HashedKey,
): Promise<ApiKey | undefined> {
  const { database } = store
  const isOld = and(eq(apiKeys.organizationKey, store.organization.key), eq(apiKeys.id, old.id))
  const isSuccessor = and(eq(apiKeys.organizationKey, store.organization.key), eq(apiKeys.id, id))
  const hasSucceeded = sql`exists (select 1 from ${apiKeys} where ${isSuccessor})`
  const handOver = (from: string | SQL) => handOverViews(store, { from, to: id }, hasSucceeded)
  const [, , , , [successor]] = await database.batch([
    database
      .insert(apiKeys)
      .select(
        selectFor(
          apiKeys,
          {
            ...getTableColumns(apiKeys),
            key: null,
            id,
            hash,
            prefix,
            revokedAt: null,
            createdAt,
            replacedBy: null,
          },
          sql`from ${apiKeys} where ${isOld} and ${isUnrevokedAt(createdAt)} and not ${hasSuccessor(createdAt)}
            and ${mayStillManage(act, old.scopes)}`,
        ),
      )
      .onConflictDoNothing(),
    handOver(old.id),
    // An earlier successor, revoked because its secret was lost, took the views that the key had then.
    handOver(sql`(select ${apiKeys.replacedBy} from ${apiKeys} where ${isOld})`),
    database
      .update(apiKeys)
      .set({ revokedAt: earlierRevocation(revokedAt), replacedBy: id })
      .where(and(isOld, hasSucceeded)),
    database.select({ id: apiKeys.id }).from(apiKeys).where(isSuccessor),
    recordAct(
      store,
      act,
      { action: 'api_key.rotate', targetId: old.id, projectKey: projectKeyOf(isOld), beforeId: old.id, afterId: id },
      hasSucceeded,
    ),
  ])
  return successor && { ...old, id, prefix, createdAt, revokedAt: null, replacedBy: null }
}

/**
 * Whether a key has a successor that is valid or has itself been replaced. A key can have only one chain of successors.
 */
const hasSuccessor = (time: number): SQL => sql`exists (select 1 from ${apiKeys} as successor
  where successor.id = ${apiKeys.replacedBy}
    and (successor.replaced_by is not null or coalesce(successor.revoked_at, ${time} + 1) > ${time}))`

/** Never postpones an earlier revocation. */
const earlierRevocation = (revokedAt: number): SQL =>
  sql`min(coalesce(${apiKeys.revokedAt}, ${revokedAt}), ${revokedAt})`

/** Whether a key isn't revoked at that time. */
const isUnrevokedAt = (time: number): SQL => sql`coalesce(${apiKeys.revokedAt}, ${time} + 1) > ${time}`

const projectKeyOf = (isKey: SQL | undefined): SQL => sql`(select ${apiKeys.projectKey} from ${apiKeys} where ${isKey})`

/** A page of the organization's keys, oldest first. With `project`, only that project's keys. */
export async function listApiKeys(
  store: Store,
  project: PlacedProject | null,
  { limit, after }: { limit: number; after: number },
): Promise<(ApiKey & { key: number })[]> {
  const rows = await selectApiKeys(
    store,
    project ? eq(apiKeys.projectKey, project.key) : undefined,
    gt(apiKeys.key, after),
  )
    .orderBy(asc(apiKeys.key))
    .limit(limit)
  return rows.map(row => ({ ...row, ...parseRights(row) }))
}

const selectApiKeys = (store: Store, ...conditions: (SQL | undefined)[]) =>
  store.database
    .select({
      key: apiKeys.key,
      id: apiKeys.id,
      name: apiKeys.name,
      prefix: apiKeys.prefix,
      projectId: projects.id,
      userId: apiKeys.userId,
      scopes: apiKeys.scopes,
      actsAs: apiKeys.actsAs,
      rateLimitPerMinute: apiKeys.rateLimitPerMinute,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
      replacedBy: apiKeys.replacedBy,
      createdAt: apiKeys.createdAt,
    })
    .from(apiKeys)
    .leftJoin(projects, eq(projects.key, apiKeys.projectKey))
    .where(and(eq(apiKeys.organizationKey, store.organization.key), ...conditions))

/** The scopes in a key's row, and who the key acts as. */
export function parseRights(row: { scopes: string; actsAs: Actor | null }): { scopes: Scope[]; actsAs: Actor } {
  const words = row.scopes.split(' ')
  const scopes = SCOPES.filter(scope => words.includes(scope))
  return { scopes, actsAs: row.actsAs ?? defaultActor(scopes) }
}
