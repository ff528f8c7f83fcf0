import { isNotNull, isNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, real, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { type Alternative, ATTRIBUTION_STATUSES, ERROR_CATEGORIES, type Evidence } from '../domain/attribution.ts'
import type { Derivation } from '../domain/derivation.ts'
import { FEEDBACK_SOURCES, type Labeller, type Rating } from '../domain/feedback.ts'
import { OBSERVATION_TYPES } from '../domain/fold.ts'
import type { JsonObject } from '../domain/json.ts'
import { DECISIONS, REVIEW_OUTCOMES } from '../domain/review-state.ts'
import { SPAN_STATUSES } from '../domain/span.ts'
import { TRACE_STATUSES } from '../domain/trace-status.ts'
import { TEXT_KINDS } from '../domain/versioned-text.ts'

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

/**
 * One row per creation of a `trace_id`. A deleted trace's row stays as a tombstone until its children are purged; the
 * same `trace_id` may have a live row beside it.
 */
export const traces = sqliteTable(
  'traces',
  {
    /** `newKeys`, never given out again: what a late write or purge still holds must not be another trace's. */
    key: integer('key').primaryKey(),
    /** UUIDv5 of `trace:<trace_id>` in the project. */
    id: text('id').notNull(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    /** The client's `trace_id`. */
    traceId: text('trace_id').notNull(),
    /** Here, so that a reader who has the trace's id reaches the root span in the same round trip. */
    rootSpanId: text('root_span_id').notNull(),
    name: text('name').notNull(),
    status: text('status', { enum: TRACE_STATUSES }).notNull(),
    /** The client's timestamp. */
    timestamp: integer('timestamp').notNull(),
    durationMs: integer('duration_ms'),
    metadata: text('metadata', { mode: 'json' }).$type<JsonObject>().notNull(),
    /** The metadata fields that completing calls gave: running calls do not overwrite them. */
    completedFields: text('completed_fields', { mode: 'json' }).$type<readonly string[]>().notNull(),
    /** Changes with every write of this row: what a write that was computed from an earlier read compares. */
    revision: text('revision').notNull(),
    receivedAt: integer('received_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    deletedAt: integer('deleted_at'),
    /** When cron sends the purge of a deleted trace again, if no job works on it before; null while it lives. */
    purgeDueAt: integer('purge_due_at'),
    /** False once every span with an output has a review: such traces are no longer looked through for what to review. */
    needsReview: integer('needs_review', { mode: 'boolean' }).notNull().default(true),
    /** Whether some feedback on it is negative. */
    isNegative: integer('is_negative', { mode: 'boolean' }).notNull().default(false),
    /** Whether a client posted it: its word counts then. False: it is known from telemetry alone. */
    isPosted: integer('is_posted', { mode: 'boolean' }).notNull().default(true),
    /** Where what telemetry says of it came from; null where none ever did. */
    derivation: text('derivation', { mode: 'json' }).$type<Derivation>(),
    /** When it counts as completed although its root never came; null where nothing is waited for. */
    closesAt: integer('closes_at'),
    /** Whether all that is known of it are spans that are no step of an AI pipeline: lists leave it out. */
    isGeneric: integer('is_generic', { mode: 'boolean' }).notNull().default(false),
    /** Of a deleted trace: whether its purge takes what was decided on it out of the counts. Expiry leaves them as they are. */
    isUncounted: integer('is_uncounted', { mode: 'boolean' }).notNull().default(false),
  },
  table => [
    uniqueIndex('traces_by_id').on(table.id).where(isNull(table.deletedAt)),
    index('traces_by_time').on(table.projectKey, table.timestamp, table.id).where(isNull(table.deletedAt)),
    index('traces_by_name').on(table.projectKey, table.name, table.timestamp, table.id).where(isNull(table.deletedAt)),
    // Of those in flight alone: a completion leaves it, which D1 does not bill.
    index('traces_running')
      .on(table.projectKey, table.status, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.status} = 'running'`),
    index('traces_to_purge').on(table.purgeDueAt).where(isNotNull(table.purgeDueAt)),
    index('traces_to_review')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.needsReview} = 1`),
    index('traces_negative')
      .on(table.projectKey, table.timestamp, table.id)
      .where(sql`${table.deletedAt} is null and ${table.isNegative} = 1`),
    index('traces_to_close')
      .on(table.closesAt)
      .where(sql`${table.deletedAt} is null and ${table.closesAt} is not null`),
  ],
)

/** What a query must say to be served from the partial indexes `traces_running`, `_to_review` and `_negative`, to the letter. */
export const isRunning = sql`${traces.status} = 'running'`
export const isOpenForReview = sql`${traces.needsReview} = 1`
export const isNegative = sql`${traces.isNegative} = 1`

/** One row per searchable metadata leaf of a trace: a seek per filter, newest first for free. */
export const traceFields = sqliteTable(
  'trace_fields',
  {
    projectKey: integer('project_key').notNull(),
    path: text('path').notNull(),
    value: text('value').notNull(),
    timestamp: integer('timestamp').notNull(),
    traceKey: integer('trace_key').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.path, table.value, table.timestamp, table.traceKey] })],
)

/**
 * The root span is found by its id, which the trace's row holds; only the others need the index by trace. What a client
 * has not given yet is null. A trace that is known from telemetry alone has no root before a span without parent came, or
 * something that belongs to the whole.
 */
export const spans = sqliteTable(
  'spans',
  {
    id: text('id').notNull(),
    traceKey: integer('trace_key').notNull(),
    isRoot: integer('is_root', { mode: 'boolean' }).notNull(),
    /** Null or '': a span without parent, which hangs under the root. */
    parentId: text('parent_id'),
    stepId: text('step_id').notNull(),
    /** Of telemetry, with a fraction of microseconds. */
    timestamp: integer('timestamp').notNull(),
    promptVersionId: text('prompt_version_id'),
    metadata: text('metadata', { mode: 'json' }).$type<JsonObject>(),
    /** Whether an output other than null arrived: such spans are what there is to review. */
    hasOutput: integer('has_output', { mode: 'boolean' }).notNull().default(false),
    status: text('status', { enum: SPAN_STATUSES }),
    durationMs: integer('duration_ms'),
    /** Values given to the span itself, held as an observation's `data` is. Observations fold over them. */
    input: text('input'),
    inputRef: text('input_ref'),
    output: text('output'),
    outputRef: text('output_ref'),
    /** Changes with `output`: what a reviewer's `If-Match` compares. */
    outputRevision: text('output_revision'),
    /** Whether null arrived as an output, too: then only the fold can tell whether the span has one. */
    hasNullOutput: integer('has_null_output', { mode: 'boolean' }).notNull().default(false),
    /** How many decisions `reviews` has of it; the last one counts. */
    reviewNumber: integer('review_number').notNull().default(0),
    /** What the last decision left it as; null: unreviewed. */
    reviewState: text('review_state', { enum: REVIEW_OUTCOMES }),
    /** Who holds it for review (a user's id, or a key's that acts for none), and until when. */
    claimedBy: text('claimed_by'),
    claimedUntil: integer('claimed_until'),
    /** Whether it is no step of an AI pipeline: the queue leaves it out. */
    isGeneric: integer('is_generic', { mode: 'boolean' }).notNull().default(false),
    /** State given to the span itself: a JSON array of `[key, text, ref]`, each value held as an observation's `data` is. */
    state: text('state'),
    /** The object that such values lie in, as the reference to one of them: they are put together. */
    stateRef: text('state_ref'),
    /** Of a span from telemetry: which of several exports of it counts, the greatest. Null: a client's, whose fields stay. */
    exportRevision: text('export_revision'),
    /** Whether the output has changed since the last decision: such a span waits for review again. */
    isStale: integer('is_stale', { mode: 'boolean' }).notNull().default(false),
    /** When the service first heard of it; null: before it kept that. */
    receivedAt: integer('received_at'),
  },
  table => [
    primaryKey({ columns: [table.id, table.traceKey] }),
    index('spans_by_trace').on(table.traceKey).where(sql`${table.isRoot} = 0`),
    index('spans_reviewed').on(table.traceKey, table.reviewState).where(isNotNull(table.reviewState)),
  ],
)

/** What a query must say to be served from `spans_by_trace`, to the letter: a bound parameter would not match the index. */
export const isNoRoot = sql`${spans.isRoot} = 0`

export const observations = sqliteTable(
  'observations',
  {
    traceKey: integer('trace_key').notNull(),
    id: text('id').notNull(),
    /** Null: the root span. */
    spanId: text('span_id'),
    type: text('type', { enum: OBSERVATION_TYPES }).notNull(),
    stateKey: text('state_key'),
    /** JSON, or its first bytes where `dataRef` says that the whole lies in R2. */
    data: text('data').notNull(),
    dataRef: text('data_ref'),
    timestamp: integer('timestamp').notNull(),
    /** With a fraction that keeps the events of one batch in their order. */
    receivedAt: integer('received_at').notNull(),
  },
  table => [primaryKey({ columns: [table.traceKey, table.id] })],
)

export const feedback = sqliteTable(
  'feedback',
  {
    /** UUIDv5 of `feedback:<feedback_id>` in the project. */
    id: text('id').notNull(),
    traceKey: integer('trace_key').notNull(),
    /** Null: the root span. */
    spanId: text('span_id'),
    userId: text('user_id').notNull(),
    rating: text('rating', { mode: 'json' }).$type<Rating>(),
    comment: text('comment'),
    correction: text('correction', { mode: 'json' }).$type<JsonObject>(),
    labeller: text('labeller', { mode: 'json' }).$type<Labeller>(),
    timestamp: integer('timestamp').notNull(),
    /** With a fraction, as an observation's. */
    receivedAt: integer('received_at').notNull(),
    /** Names the write that created it, so that this write, tried twice, still knows it did. */
    createdBy: text('created_by').notNull(),
    /** A pipeline's, or a reviewer's comment. */
    source: text('source', { enum: FEEDBACK_SOURCES }).notNull().default('api'),
  },
  table => [primaryKey({ columns: [table.id, table.traceKey] }), index('feedback_by_trace').on(table.traceKey)],
)

/** Every decision ever made on a span, numbered from 1. The approved value lies here alone; the span's `reviewNumber` says where. */
export const reviews = sqliteTable(
  'reviews',
  {
    traceKey: integer('trace_key').notNull(),
    spanId: text('span_id').notNull(),
    number: integer('number').notNull(),
    id: text('id').notNull(),
    projectKey: integer('project_key').notNull(),
    decision: text('decision', { enum: DECISIONS }).notNull(),
    /** What it left the span as; null: unreviewed. */
    state: text('state', { enum: REVIEW_OUTCOMES }),
    /** The reviewer: a user's id, or a key's that acts for none. */
    userId: text('user_id').notNull(),
    createdAt: integer('created_at').notNull(),
    /** What the output was: the name of the one that was judged, and a hash of its value. */
    outputRevision: text('output_revision').notNull(),
    outputHash: text('output_hash').notNull(),
    /** The approved output, held as an observation's `data` is; null where the decision left none. */
    approved: text('approved'),
    approvedRef: text('approved_ref'),
    comment: text('comment'),
    errorType: text('error_type'),
    /** The span's step and prompt version ('': none) as it was decided: what it counts under. Null: it was never counted. */
    stepId: text('step_id'),
    promptVersionId: text('prompt_version_id'),
  },
  table => [
    primaryKey({ columns: [table.traceKey, table.spanId, table.number] }),
    index('reviews_by_time').on(table.projectKey, table.createdAt),
    index('reviews_with_error_type').on(table.projectKey, table.createdAt).where(isNotNull(table.errorType)),
  ],
)

/** What a disagreement between AI and human may come from. */
export const errorTypes = sqliteTable('error_types', {
  errorType: text('error_type').primaryKey(),
  /** UUIDv5 of `countersign:error-type:<error_type>` in the URL namespace. */
  id: text('id').notNull(),
  name: text('name').notNull(),
  category: text('category', { enum: ERROR_CATEGORIES }).notNull(),
  /** When it is the cause. */
  rule: text('rule').notNull(),
})

/** What a project makes of them: types of its own, and built-in ones that it switched off. */
export const projectErrorTypes = sqliteTable(
  'project_error_types',
  {
    projectKey: integer('project_key').notNull(),
    errorType: text('error_type').notNull(),
    /** UUIDv5 of `error-type:<error_type>` in the project; a built-in one's own. */
    id: text('id').notNull(),
    /** Null, as are `category` and `rule`: those of the built-in one. */
    name: text('name'),
    category: text('category', { enum: ERROR_CATEGORIES }),
    rule: text('rule'),
    /** A type that is switched off keeps its row: what named it before still has its name. */
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.errorType] })],
)

/**
 * Whether a trace's disagreement is to be analyzed, is being, or was: the truth about that, of which a message in the queue is
 * a hint. One row for each trace that was ever asked about.
 */
export const attributionJobs = sqliteTable(
  'attribution_jobs',
  {
    traceKey: integer('trace_key').primaryKey(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    status: text('status', { enum: ATTRIBUTION_STATUSES }).notNull(),
    /** Counts the requests: a run that ends after another request came leaves the job pending. */
    requests: integer('requests').notNull(),
    requestedAt: integer('requested_at').notNull(),
    /** How often it was claimed since it was asked for. */
    attempts: integer('attempts').notNull(),
    /** Names the run that works on it; a result is written with this token alone. */
    leaseToken: text('lease_token'),
    leaseUntil: integer('lease_until'),
    /** When cron sends it again; null while there is nothing to do. */
    dueAt: integer('due_at'),
    /** Until when nobody works on it, since the project's model calls of the day are used up. */
    waitsUntil: integer('waits_until'),
    /** Why it failed, in words that hold nothing of the trace. */
    failure: text('failure'),
    /** What the last result went by: the same of the trace as it is now, and there is nothing new. */
    basis: text('basis'),
    /** The last result's number in `attributions`, 0 where there is none, and its type. */
    attributionNumber: integer('attribution_number').notNull().default(0),
    errorType: text('error_type'),
  },
  table => [index('attribution_jobs_due').on(table.dueAt).where(isNotNull(table.dueAt))],
)

/** Every answer that an engine gave, numbered from 1. */
export const modelCalls = sqliteTable('model_calls', {
  projectKey: integer('project_key').primaryKey(),
  /** Days since 1970, in UTC: the last one on which a model was asked. */
  day: integer('day').notNull(),
  calls: integer('calls').notNull(),
})

export const attributions = sqliteTable(
  'attributions',
  {
    traceKey: integer('trace_key').notNull(),
    number: integer('number').notNull(),
    id: text('id').notNull(),
    projectKey: integer('project_key').notNull(),
    createdAt: integer('created_at').notNull(),
    errorType: text('error_type').notNull(),
    confidence: real('confidence').notNull(),
    /** The blamed span; null: none. */
    spanId: text('span_id'),
    reasoning: text('reasoning').notNull(),
    /** `[{errorType, confidence}]`. */
    alternatives: text('alternatives', { mode: 'json' }).$type<readonly Alternative[]>().notNull(),
    /** `[{spanId, path, note}]`. */
    evidence: text('evidence', { mode: 'json' }).$type<readonly Evidence[]>().notNull(),
    /** `rules`, or a model's name. */
    engine: text('engine').notNull(),
    durationMs: integer('duration_ms').notNull(),
    /** What a model took; null for the rules, and where it did not say. */
    inputTokens: integer('input_tokens'),
    outputTokens: integer('output_tokens'),
    costUsd: real('cost_usd'),
    /** The blamed span's step ('': none) as it was answered: what it counts under. Null: it was never counted. */
    stepId: text('step_id'),
  },
  table => [primaryKey({ columns: [table.traceKey, table.number] })],
)

/*
 * What insights are read from, however many traces there are. A `day` is one of UTC, counted from 1970.
 */

/** How many decisions are in force that were made on a day, by what they count under. Some rows count none any more. */
export const reviewDays = sqliteTable(
  'review_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    stepId: text('step_id').notNull(),
    /** '': none. */
    promptVersionId: text('prompt_version_id').notNull(),
    userId: text('user_id').notNull(),
    /** The error type that the decision named; '': none. */
    errorType: text('error_type').notNull(),
    accepted: integer('accepted').notNull(),
    corrected: integer('corrected').notNull(),
  },
  table => [
    primaryKey({
      columns: [table.projectKey, table.day, table.stepId, table.promptVersionId, table.userId, table.errorType],
    }),
    // A row more for the first of a day alone: what counts is in no index.
    index('review_days_by_version').on(table.promptVersionId).where(sql`${table.promptVersionId} <> ''`),
  ],
)

/** How many traces' last answer of an engine was given on a day, by its error type and the step that it blames. */
export const answerDays = sqliteTable(
  'answer_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    /** '': none. */
    stepId: text('step_id').notNull(),
    errorType: text('error_type').notNull(),
    answers: integer('answers').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId, table.errorType] })],
)

/** How many spans with an output the traces of a day have, by step, when cron last counted them. */
export const outputDays = sqliteTable(
  'output_days',
  {
    projectKey: integer('project_key').notNull(),
    /** Of the traces' own timestamps. */
    day: integer('day').notNull(),
    /** '': steps past as many as are counted one by one. */
    stepId: text('step_id').notNull(),
    outputs: integer('outputs').notNull(),
    reviewed: integer('reviewed').notNull(),
  },
  table => [primaryKey({ columns: [table.projectKey, table.day, table.stepId] })],
)

/** The days that have traces: when their outputs were counted, and when they are to be counted again. */
export const countedDays = sqliteTable(
  'counted_days',
  {
    projectKey: integer('project_key').notNull(),
    day: integer('day').notNull(),
    /** When the last whole count began; null: there was none yet. */
    countedAt: integer('counted_at'),
    /** Until when it is not counted again, whatever changes: a large day rests longer. */
    restsUntil: integer('rests_until').notNull(),
    /** When cron counts, or goes on counting; null: nothing is expected to change. */
    dueAt: integer('due_at'),
    /** Whether something changed of which the last count, or the one under way, may not know. */
    isChanged: integer('is_changed', { mode: 'boolean' }).notNull(),
    /** A count under way, a `CountProgress` as JSON; null: none. */
    progress: text('progress'),
  },
  table => [
    primaryKey({ columns: [table.projectKey, table.day] }),
    index('counted_days_due').on(table.dueAt).where(isNotNull(table.dueAt)),
  ],
)

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

/** Prompts and knowledge docs: to the database the same thing, a name in a project whose text has versions. */
export const versionedTexts = sqliteTable(
  'versioned_texts',
  {
    key: integer('key').primaryKey(),
    id: text('id').notNull().unique(),
    organizationKey: integer('organization_key').notNull(),
    projectKey: integer('project_key').notNull(),
    kind: text('kind', { enum: TEXT_KINDS }).notNull(),
    /** A prompt's step id, a knowledge doc's slug. */
    name: text('name').notNull(),
    /** A knowledge doc's; '' for a prompt. */
    title: text('title').notNull(),
    createdAt: integer('created_at').notNull(),
  },
  table => [uniqueIndex('versioned_texts_by_name').on(table.projectKey, table.kind, table.name)],
)

/** One of a text's versions is active, and the partial index lets no second one be; each batch that ends one makes another. */
export const textVersions = sqliteTable(
  'text_versions',
  {
    key: integer('key').primaryKey(),
    id: text('id').notNull().unique(),
    textKey: integer('text_key').notNull(),
    content: text('content').notNull(),
    /** A prompt's; null for a knowledge doc. */
    outputSchema: text('output_schema', { mode: 'json' }).$type<JsonObject>(),
    note: text('note'),
    isActive: integer('is_active', { mode: 'boolean' }).notNull(),
    createdAt: integer('created_at').notNull(),
    /** 1 is the text's first; null where a release that knew no numbers added it. */
    number: integer('number'),
  },
  table => [
    uniqueIndex('text_versions_by_number').on(table.textKey, table.number),
    uniqueIndex('text_versions_active').on(table.textKey).where(sql`${table.isActive} = 1`),
  ],
)

/** Every activation ever made: which version was active at some time, and since when the active one is. */
export const textActivations = sqliteTable(
  'text_activations',
  {
    textKey: integer('text_key').notNull(),
    activatedAt: integer('activated_at').notNull(),
    versionKey: integer('version_key').notNull(),
  },
  table => [primaryKey({ columns: [table.textKey, table.activatedAt, table.versionKey] })],
)

/** How far a pass that cron makes in pieces has come. */
export const sweeps = sqliteTable('sweeps', {
  name: text('name').primaryKey(),
  /** Where the next piece begins; '' at the start of a pass. */
  cursor: text('cursor').notNull(),
  dueAt: integer('due_at').notNull(),
})
