import { isNotNull } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'

/*
 * `id` is public (a UUID); `key` is internal (an integer, short in every index). Times are milliseconds since 1970.
 * JSON columns hold text that SQL never looks into: SQLite fails a statement on JSON nested over 1,000 levels.
 * There are no foreign keys: children are inserted by statements guarded by their parent, and D1 bills each check.
 * Tables with a composite primary key are WITHOUT ROWID (one billed row a write instead of two); drizzle-kit cannot say
 * so, it is added to the migration by hand, and a test reads it back.
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
    /** Traces older than this are deleted; null: none ever. */
    retentionDays: integer('retention_days'),
    /** Whether a trace with a reviewed span, which is ground truth, outlives `retentionDays`. */
    retainReviewed: integer('retain_reviewed', { mode: 'boolean' }).notNull().default(true),
    /** Whether negative feedback and corrections are analyzed without being asked. */
    autoAttribute: integer('auto_attribute', { mode: 'boolean' }).notNull().default(false),
    /** A deleted project's row stays: the audit log shows its `id`, and its `key` is never another's. */
    deletedAt: integer('deleted_at'),
    /** When cron goes on with the purge of a deleted project; null once it is through, and while the project lives. */
    purgeDueAt: integer('purge_due_at'),
  },
  table => [
    uniqueIndex('projects_by_slug').on(table.organizationKey, table.slug),
    index('projects_by_organization').on(table.organizationKey),
    index('projects_with_retention').on(table.key).where(isNotNull(table.retentionDays)),
    index('projects_to_purge').on(table.purgeDueAt).where(isNotNull(table.purgeDueAt)),
    index('projects_being_purged').on(table.organizationKey).where(isNotNull(table.purgeDueAt)),
  ],
)

/** One e-mail is one user, however it is first seen; `users_by_email` decides which `id` that is. */
export const users = sqliteTable(
  'users',
  {
    organizationKey: integer('organization_key').notNull(),
    id: text('id').notNull(),
    email: text('email').notNull(),
    name: text('name').notNull(),
    createdAt: integer('created_at').notNull(),
    /**
     * Names the write of `POST /api/users` by which a manager of the whole organization created or confirmed the user, as
     * feedback's does; null: a labeller, who is nobody's word but a pipeline's, and whom Cloudflare Access lets in nowhere.
     */
    createdBy: text('created_by'),
    /** Since when a labeller may have no record left; null: there is no reason to look. */
    uncheckedSince: integer('unchecked_since'),
  },
  table => [
    primaryKey({ columns: [table.organizationKey, table.id] }),
    uniqueIndex('users_by_email').on(table.organizationKey, table.email),
    index('users_confirmed').on(table.email).where(isNotNull(table.createdBy)),
    index('users_to_check').on(table.organizationKey).where(isNotNull(table.uncheckedSince)),
  ],
)

/** Users who were deleted, until all their records are under another id. */
export const userDeletions = sqliteTable(
  'user_deletions',
  {
    organizationKey: integer('organization_key').notNull(),
    /** The id that the user had. */
    userId: text('user_id').notNull(),
    /** The random id that their records get. */
    newId: text('new_id').notNull(),
    deletedAt: integer('deleted_at').notNull(),
    /** When cron goes on. */
    dueAt: integer('due_at').notNull(),
    /** When the pass that is under way began, and how far it has come, as JSON; '': at its beginning. */
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
    /** SHA-256 of the secret in hex; the secret itself is nowhere. */
    hash: text('hash').notNull().unique(),
    prefix: text('prefix').notNull(),
    name: text('name').notNull(),
    organizationKey: integer('organization_key').notNull(),
    /** Null: every project of the organization. */
    projectKey: integer('project_key'),
    /** The user that the key acts for, or null. */
    userId: text('user_id'),
    /** Scopes, separated by spaces. */
    scopes: text('scopes').notNull(),
    rateLimitPerMinute: integer('rate_limit_per_minute'),
    expiresAt: integer('expires_at'),
    revokedAt: integer('revoked_at'),
    createdAt: integer('created_at').notNull(),
    /** The key's `id` that a rotation made its successor; null: none did. */
    replacedBy: text('replaced_by'),
  },
  table => [index('api_keys_by_organization').on(table.organizationKey)],
)

/**
 * Who is signed in to the app: a browser that holds the secret of which this is the hash acts as the key that it was
 * signed in with.
 */
export const sessions = sqliteTable(
  'sessions',
  {
    /** SHA-256 of the cookie's value in hex. */
    hash: text('hash').primaryKey(),
    /** The key's `id`: a session is no longer worth anything once its key is not. */
    keyId: text('key_id').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    revokedAt: integer('revoked_at'),
  },
  table => [index('sessions_by_expiry').on(table.expiresAt)],
)

/** Links that sign a browser in as a key, each once. */
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

export const modelCalls = sqliteTable('model_calls', {
  projectKey: integer('project_key').primaryKey(),
  /** Days since 1970, in UTC: the last one on which a model was asked. */
  day: integer('day').notNull(),
  calls: integer('calls').notNull(),
})

/** Who did what: one row for each write of managers and reviewers. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    organizationKey: integer('organization_key').notNull(),
    createdAt: integer('created_at').notNull(),
    id: text('id').notNull(),
    /** Null: it concerns the organization as a whole. */
    projectKey: integer('project_key'),
    /** The key that called; null: the ADMIN_TOKEN, or with a user, Cloudflare Access. */
    keyId: text('key_id'),
    /** The user that the key acts for, or who came without one. */
    userId: text('user_id'),
    /** `<resource>.<verb>`. */
    action: text('action').notNull(),
    targetId: text('target_id').notNull(),
    /** The ids of what was in force before and after: of versions, reviews, keys. */
    beforeId: text('before_id'),
    afterId: text('after_id'),
    requestId: text('request_id').notNull(),
  },
  table => [primaryKey({ columns: [table.organizationKey, table.createdAt, table.id] })],
)
