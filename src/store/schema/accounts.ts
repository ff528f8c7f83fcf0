import { isNotNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { ACTORS } from '../../domain/api-key.ts'
import { VIEW_PAGES } from '../../domain/saved-view.ts'

/*
 * `id` is public, a UUID. `key` is internal, an integer, which keeps indexes small. Times are milliseconds since 1970.
 *
 * SQL never parses JSON columns, because a statement fails if its JSON is nested over 1,000 levels deep.
 *
 * There are no foreign keys, because D1 bills each check. Statements that insert children check for the parent
 * themselves.
 *
 * Tables with a composite primary key are WITHOUT ROWID, so D1 bills a write as one row instead of two. drizzle-kit
 * can't express that: add it to the migration by hand. A test checks it.
 */

export const organizations = sqliteTable('organizations', {
  key: integer('key').primaryKey(),
  id: text('id').notNull().unique(),
  slug: text('slug').notNull().unique(),
  name: text('name').notNull(),
  createdAt: integer('created_at').notNull(),
})

export const projects = sqliteTable(
  'projects',
  {
    key: integer('key').primaryKey(),
    id: text('id').notNull().unique(),
    organizationKey: integer('organization_key').notNull(),
    slug: text('slug').notNull(),
    name: text('name').notNull(),
    createdAt: integer('created_at').notNull(),
    /** Traces older than this are deleted. Null: traces are never deleted. */
    retentionDays: integer('retention_days'),
    /** Whether traces with a reviewed span, which are ground truth, are kept past `retentionDays`. */
    retainReviewed: integer('retain_reviewed', { mode: 'boolean' }).notNull().default(true),
    /** Whether negative feedback and corrections start an attribution automatically. */
    autoAttribute: integer('auto_attribute', { mode: 'boolean' }).notNull().default(false),
    /** A deleted project keeps its row, because the audit log shows its `id`, and its `key` must never be reused. */
    deletedAt: integer('deleted_at'),
    /** When cron continues the purge of a deleted project. Null if the purge is done or the project isn't deleted. */
    purgeDueAt: integer('purge_due_at'),
    /** Which databases its traces are in, in the format of `formatEpochs`. Null: all of them are in `DB`. */
    epochs: text('epochs'),
  },
  table => [
    index('projects_with_epochs').on(table.organizationKey, table.epochs).where(isNotNull(table.epochs)),
    uniqueIndex('projects_by_slug').on(table.organizationKey, table.slug),
    index('projects_by_organization').on(table.organizationKey),
    index('projects_with_retention').on(table.key).where(isNotNull(table.retentionDays)),
    index('projects_to_purge').on(table.purgeDueAt).where(isNotNull(table.purgeDueAt)),
    index('projects_being_purged').on(table.organizationKey).where(isNotNull(table.purgeDueAt)),
  ],
)

/** Each email belongs to one user, no matter who creates it first; `users_by_email` determines which `id` wins. */
export const users = sqliteTable(
  'users',
  {
    organizationKey: integer('organization_key').notNull(),
    id: text('id').notNull(),
    email: text('email').notNull(),
    name: text('name').notNull(),
    createdAt: integer('created_at').notNull(),
    /**
     * Like `feedback.createdBy`, identifies a write: the `POST /api/users` with which a manager of the whole
     * organization created or confirmed the user. Null for a labeler: only a pipeline vouches for labelers, so
     * Cloudflare Access doesn't sign them in.
     */
    createdBy: text('created_by'),
    /**
     * When the labeler was marked because they may have lost their last record. Null if there is no reason to check.
     */
    uncheckedSince: integer('unchecked_since'),
    /**
     * Whether this person settles disagreements between reviewers. Adjudicators see every vote but don't vote
     * themselves.
     */
    isAdjudicator: integer('is_adjudicator', { mode: 'boolean' }).notNull().default(false),
  },
  table => [
    primaryKey({ columns: [table.organizationKey, table.id] }),
    uniqueIndex('users_by_email').on(table.organizationKey, table.email),
    index('users_confirmed').on(table.email).where(isNotNull(table.createdBy)),
    index('users_to_check').on(table.organizationKey).where(isNotNull(table.uncheckedSince)),
  ],
)

/** Deleted users whose records don't all have the new id yet. */
export const userDeletions = sqliteTable(
  'user_deletions',
  {
    organizationKey: integer('organization_key').notNull(),
    /** The user's former id. */
    userId: text('user_id').notNull(),
    /** The random id that replaces it in their records. */
    newId: text('new_id').notNull(),
    deletedAt: integer('deleted_at').notNull(),
    /** When cron continues. */
    dueAt: integer('due_at').notNull(),
    /** When the current pass began, and its cursor as JSON ('' at the beginning). */
    passStartedAt: integer('pass_started_at').notNull(),
    cursor: text('cursor').notNull(),
  },
  table => [
    primaryKey({ columns: [table.organizationKey, table.userId] }),
    index('user_deletions_due').on(table.dueAt),
  ],
)

export const apiKeys = sqliteTable(
  'api_keys',
  {
    key: integer('key').primaryKey(),
    id: text('id').notNull().unique(),
    /** SHA-256 of the secret in hex. The secret itself isn't stored. */
    hash: text('hash').notNull().unique(),
    prefix: text('prefix').notNull(),
    name: text('name').notNull(),
    organizationKey: integer('organization_key').notNull(),
    /** Null: every project in the organization. */
    projectKey: integer('project_key'),
    /** The user that the key acts for, or null. */
    userId: text('user_id'),
    /** Space-separated scopes. */
    scopes: text('scopes').notNull(),
    /**
     * Set when the key is created and never changed. Null for keys from before this column existed, for which the
     * default applies.
     */
    actsAs: text('acts_as', { enum: ACTORS }),
    rateLimitPerMinute: integer('rate_limit_per_minute'),
    expiresAt: integer('expires_at'),
    revokedAt: integer('revoked_at'),
    createdAt: integer('created_at').notNull(),
    /** The `id` of the key that replaced this one in a rotation, or null. */
    replacedBy: text('replaced_by'),
  },
  table => [index('api_keys_by_organization').on(table.organizationKey)],
)

/** Signed-in browsers. A browser with the secret acts as the key that it signed in with. */
export const sessions = sqliteTable(
  'sessions',
  {
    /** SHA-256 of the cookie's value in hex. */
    hash: text('hash').primaryKey(),
    /** The key's `id`. A session ends when its key becomes invalid. */
    keyId: text('key_id').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    revokedAt: integer('revoked_at'),
  },
  table => [index('sessions_by_expiry').on(table.expiresAt)],
)

/** Single-use links that sign a browser in as a key. */
export const signInLinks = sqliteTable(
  'sign_in_links',
  {
    /** SHA-256 of the token in hex. */
    hash: text('hash').primaryKey(),
    keyId: text('key_id').notNull(),
    expiresAt: integer('expires_at').notNull(),
  },
  table => [index('sign_in_links_by_expiry').on(table.expiresAt)],
)

/** The names under which a project's steps are shown. Rows of other tables keep the names that pipelines send. */
export const stepNames = sqliteTable(
  'step_names',
  {
    projectKey: integer('project_key').notNull(),
    oldName: text('old_name').notNull(),
    newName: text('new_name').notNull(),
    /** The id of the new name's dataset. Null if an earlier release renamed the step. */
    datasetId: text('dataset_id'),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.oldName] }),
    index('step_names_by_new_name').on(table.projectKey, table.newName),
    index('step_names_by_dataset').on(table.datasetId),
  ],
)

/** A list's filters, saved under a name for one user or for everyone in the project. */
export const savedViews = sqliteTable(
  'saved_views',
  {
    projectKey: integer('project_key').notNull(),
    /** The user who saved it, or the key if it acts for no user. */
    ownerId: text('owner_id').notNull(),
    page: text('page', { enum: VIEW_PAGES }).notNull(),
    name: text('name').notNull(),
    id: text('id').notNull(),
    /** The page's URL query, which contains the filters. */
    query: text('query').notNull(),
    isShared: integer('is_shared', { mode: 'boolean' }).notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.ownerId, table.page, table.name] }),
    uniqueIndex('saved_views_by_id').on(table.id),
    index('saved_views_shared').on(table.projectKey).where(sql`${table.isShared} = 1`),
  ],
)

export const modelCalls = sqliteTable('model_calls', {
  projectKey: integer('project_key').primaryKey(),
  /** The last UTC day on which a model was called, in days since 1970. */
  day: integer('day').notNull(),
  calls: integer('calls').notNull(),
})

/** One row for each write by a manager or reviewer. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    organizationKey: integer('organization_key').notNull(),
    createdAt: integer('created_at').notNull(),
    id: text('id').notNull(),
    /** Null if the entry concerns the whole organization. */
    projectKey: integer('project_key'),
    /** The calling key. Null for the ADMIN_TOKEN, the service itself, or, if there is a user, Cloudflare Access. */
    keyId: text('key_id'),
    /** The user that the key acts for, or who signed in through Cloudflare Access. */
    userId: text('user_id'),
    /** `<resource>.<verb>`. */
    action: text('action').notNull(),
    targetId: text('target_id').notNull(),
    /** The ids of the current version, review, or key before and after. */
    beforeId: text('before_id'),
    afterId: text('after_id'),
    requestId: text('request_id').notNull(),
    /** Why somebody overrode a gate, or why the service reactivated an earlier version. */
    reason: text('reason'),
  },
  table => [primaryKey({ columns: [table.organizationKey, table.createdAt, table.id] })],
)
