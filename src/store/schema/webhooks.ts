import { isNotNull, isNull, sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { DELIVERY_STATES, DISABLED_REASONS, WEBHOOK_FORMATS } from '../../domain/webhook.ts'

/** Where the events of a project, or of a whole organization, are sent. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    /** Never reused, because deliveries of a deleted webhook may still exist. */
    key: integer('key').primaryKey({ autoIncrement: true }),
    /** Clients may choose it, so it's unique only in its organization. */
    id: text('id').notNull(),
    organizationKey: integer('organization_key').notNull(),
    /** Null: every project in the organization. */
    projectKey: integer('project_key'),
    /**
     * A hash of the request that created it, which distinguishes a repeated request from a different one with the same
     * id.
     */
    requestHash: text('request_hash').notNull(),
    /** The URL and the signing secrets, encrypted with WEBHOOK_KEY. A Slack URL is a secret as well. */
    sealed: text('sealed').notNull(),
    /** Event types, each between spaces: ` span.reviewed trace.deleted `. */
    events: text('events').notNull(),
    format: text('format', { enum: WEBHOOK_FORMATS }).notNull(),
    includesValues: integer('includes_values', { mode: 'boolean' }).notNull(),
    description: text('description').notNull(),
    /** The service's address when the webhook was created or last changed, for links into the app. */
    origin: text('origin').notNull(),
    /** When the replaced secret stops signing. Null if none was replaced. */
    oldSecretUntil: integer('old_secret_until'),
    isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
    disabledAt: integer('disabled_at'),
    disabledReason: text('disabled_reason', { enum: DISABLED_REASONS }),
    /** The first failure after the last success. Null if the last attempt was a success. */
    failingSince: integer('failing_since'),
    /** How many consecutive failures caused the current pause, and when the pause ends. */
    restCount: integer('rest_count').notNull(),
    restsUntil: integer('rests_until'),
    /** When a run has to look at the webhook's deliveries. Null if no delivery is pending. */
    dueAt: integer('due_at'),
    /**
     * When the lease of the run that sends to the webhook ends. Until then, other runs don't send to it. Null if there
     * is no such run.
     */
    busyUntil: integer('busy_until'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  table => [
    uniqueIndex('webhooks_by_id').on(table.id, table.organizationKey),
    index('webhooks_by_organization').on(table.organizationKey),
    index('webhooks_sending').on(table.organizationKey).where(sql`${table.isEnabled} = 1`),
    index('webhooks_due').on(table.dueAt).where(isNotNull(table.dueAt)),
  ],
)

/**
 * The outbox: events in projects with a webhook that subscribes to them. Each row is written in the same batch as the
 * change that it reports. It contains no values from traces; they're read when a delivery is sent.
 */
export const webhookEvents = sqliteTable(
  'webhook_events',
  {
    /** Events are numbered in the order in which the database committed them. Numbers are never reused. */
    sequence: integer('sequence').primaryKey({ autoIncrement: true }),
    /** The `webhook-id` of its deliveries. */
    id: text('id').notNull().unique(),
    organizationKey: integer('organization_key').notNull(),
    /** Null for a test event of a webhook that covers every project. */
    projectKey: integer('project_key'),
    type: text('type').notNull(),
    /** The trace that the event is about; purging the trace removes the event. Null if it isn't about a trace. */
    traceKey: integer('trace_key'),
    /** The id of the event's subject: a review, feedback, a span, and so on. */
    subjectId: text('subject_id').notNull(),
    /** Who caused it: a user's id, or the id of a key that acts for no user. Null: the service. */
    actorId: text('actor_id'),
    at: integer('at').notNull(),
    /** The rest of the payload, as a JSON object that contains only ids and enum values. */
    data: text('data').notNull(),
    /** Whether the event's deliveries still have to be created. */
    isNew: integer('is_new', { mode: 'boolean' }).notNull(),
  },
  table => [
    index('webhook_events_new').on(table.projectKey, table.sequence).where(sql`${table.isNew} = 1`),
    index('webhook_events_by_project').on(table.projectKey),
    index('webhook_events_of_organizations').on(table.organizationKey).where(isNull(table.projectKey)),
    index('webhook_events_by_trace').on(table.traceKey).where(isNotNull(table.traceKey)),
  ],
)

/** One event for one webhook, and the state of its delivery. */
export const webhookDeliveries = sqliteTable(
  'webhook_deliveries',
  {
    webhookKey: integer('webhook_key').notNull(),
    sequence: integer('sequence').notNull(),
    state: text('state', { enum: DELIVERY_STATES }).notNull(),
    /** The number of attempts that have begun since the delivery was created or replayed. */
    attempts: integer('attempts').notNull(),
    /**
     * When the next attempt may begin or, during an attempt, when its lease ends. Null if there are no more attempts.
     */
    nextAttemptAt: integer('next_attempt_at'),
    /** Identifies the run that is sending the delivery. */
    leaseToken: text('lease_token'),
    /** The last attempt: when it began, how long it took, and the response's status. */
    attemptedAt: integer('attempted_at'),
    durationMs: integer('duration_ms'),
    status: integer('status'),
    /** Why there was no response. */
    fault: text('fault'),
    /** The beginning of the response, if the attempt failed. */
    answer: text('answer'),
  },
  table => [
    primaryKey({ columns: [table.webhookKey, table.sequence] }),
    index('webhook_deliveries_due').on(table.webhookKey, table.nextAttemptAt).where(isNotNull(table.nextAttemptAt)),
  ],
)
