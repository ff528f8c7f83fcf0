import { KEY_STALE_MS } from './access.ts'
import { DAY_MS } from './units.ts'

/* What the queue and cron run. */

/** Rows that a purge deletes in one statement: tens of milliseconds, during which the database serves nobody else. */
export const PURGE_ROWS = 1000
/** Older traces, reviewed before datasets existed, that one cron run marks so that they get their items. */
export const BACKFILLED_TRACES = 500
/** Older traces, reviewed or attributed before problems existed, whose cases one cron run finds in one batch. */
export const BACKFILLED_CASES = 200
/** Dataset items of a trace that a purge deletes in one batch, with all their log entries. */
export const PURGED_ITEMS = 200
/** Events that a purge deletes in one batch, with their deliveries: up to 20 each. */
export const PURGED_EVENTS = 100
/** Steps of one purge job. With its other statements, it stays under the free plan's 50 queries per invocation. */
export const PURGE_STEPS = 30
/** A deletion that no job has touched for this long is sent to the queue again. */
export const RESEND_AFTER_MS = 60_000
/** Deletions that one cron run sends again. Without a queue, it runs only one: an invocation may make 50 queries. */
export const RESEND_BATCH = 100
/** The oldest traces that one retention step checks: as many as fit in one call to the queue. */
export const RETENTION_TRACES = 100
/** Steps of one cron run: 800 traces a minute, within the free plan's 50 queries per invocation. */
export const RETENTION_STEPS = 8
/** The pause between two passes over all projects. */
export const RETENTION_PASS_MS = 3_600_000
/** How long a trace known only from telemetry waits for its root after its last span. */
export const ROOT_WAIT_MS = 10 * 60_000
/**
 * How long such a trace waits if a span's parent is in another process, which may send its spans elsewhere or never.
 */
export const REMOTE_ROOT_WAIT_MS = 60_000
/** Traces without a root that one closing step completes, and steps of one cron run. */
export const CLOSED_TRACES = 500
export const CLOSING_STEPS = 6
/** Messages in one call to the queue. */
export const MAX_QUEUE_BATCH = 100
/** The longest delay before a failed job runs again. */
export const MAX_RETRY_DELAY_SECONDS = 3600
/** An object without a row is deleted after this long. The request that stored it has ended by then. */
export const ORPHAN_AGE_MS = DAY_MS
/** Objects that one cron run compares with the rows. R2 lists at most 1,000. */
export const ORPHAN_PAGE = 500
/** Folders whose rows one batch of statements reads for that comparison. */
export const ORPHAN_FOLDERS = 50
/** The pause between two passes over all objects. */
export const ORPHAN_PASS_MS = DAY_MS
/** How long the audit log keeps an entry by default: long enough for a yearly audit. */
export const AUDIT_RETENTION_DAYS = 365
/** Audit log entries that one cron run deletes. */
export const AUDIT_SWEEP_ROWS = 5000
/** Organizations whose entries one cron run looks at. Each costs an index seek. */
export const AUDIT_SWEEP_ORGANIZATIONS = 500
/** Expired sessions and sign-in links that one cron run deletes. */
export const SESSION_SWEEP_ROWS = 5000
/**
 * How much one step of a user's deletion looks at: traces; rows of counts, of the audit log, or of results;
 * experiments; events, each with up to 20 deliveries. The last number is how many steps one job has.
 */
export const DELETION_TRACES = 500
export const DELETION_ROWS = 5000
export const DELETION_EXPERIMENTS = 100
export const DELETION_EVENTS = 500
export const DELETION_STEPS = 30
/**
 * This long after a deletion, no isolate still accepts a revoked key or uses a cached copy of a deleted project. The
 * deletion of a user or project then looks again for rows that were written in the meantime.
 */
export const DELETION_SETTLE_MS = KEY_STALE_MS + 60_000
/** Traces of a deleted project that one step deletes: as many as fit in one call to the queue. */
export const PROJECT_PURGE_TRACES = MAX_QUEUE_BATCH
/** Statements of one project purge job, within the free plan's 50 queries per invocation. */
export const PROJECT_PURGE_STEPS = 40
/** Versions of prompts and knowledge docs that one statement deletes. Each takes up to 320 KB. */
export const PROJECT_PURGE_VERSIONS = 200
/** Traces that one step searches for labelers, steps per minute, and labelers deleted at the end of a pass. */
export const LABELER_TRACES = 500
export const LABELER_STEPS = 8
export const LABELER_DELETE_ROWS = 1000
/** The pause after a pass that found nothing to do. */
export const LABELER_PASS_MS = 15 * 60_000
/** The pause between two passes over all organizations' audit log entries. */
export const AUDIT_PASS_MS = DAY_MS
/** New traces whose days one cron run records. Each costs a row read. */
export const NOTED_TRACES = 10_000
/**
 * A trace's row is visible within this time after its key is assigned, because requests end sooner and clocks differ by
 * less.
 */
export const NOTING_DELAY_MS = 30_000
/** Traces whose outputs one cron run counts, and the number of days that they may come from. */
export const COUNTED_TRACES = 3000
export const COUNTED_DAYS = 20
/** Steps counted separately per project per day. Clients choose the names, and every trace may have new ones. */
export const MAX_COUNTED_STEPS = 500
/**
 * Pairs of a step and a prompt version whose tokens, cost, and durations are counted separately per project per day.
 */
export const MAX_COUNTED_VERSIONS = 600
/** How long a cron run keeps the days that it claims. */
export const COUNT_LEASE_MS = 60_000
/**
 * How long a day waits for its next count: 5 seconds per trace, between 5 minutes and an hour. This keeps reads well
 * below the free plan's 5 million rows a day for as many traces as that plan's other limits allow, in any number of
 * projects.
 */
export const COUNT_REST_PER_TRACE_MS = 5000
export const MIN_COUNT_REST_MS = 5 * 60_000
export const MAX_COUNT_REST_MS = 3_600_000

/** Traces that one step checks against their project's review policy, and steps per minute. Each costs a few rows. */
export const POLICY_PASS_TRACES = 1000
export const POLICY_PASS_STEPS = 10
/** The pause between two passes over a project's open traces. */
export const POLICY_PASS_MS = 10 * 60_000
/** A trace that was updated more recently than this isn't left out yet. */
export const LEFT_OUT_AFTER_MS = 5 * 60_000

/** Prompts whose watches one cron run follows. Each may be in its own organization, and takes two statements there. */
export const FOLLOWED_PROMPTS = 5
/** Prompts and knowledge docs among which one cron run looks for those prompts. */
export const SCANNED_TEXTS = 200

/** How long one cron run waits for a shard that it copies to: in total, and for one attempt at a call. */
export const FOLLOW_DEADLINE_MS = 60_000
export const FOLLOW_ATTEMPT_MS = 10_000
/**
 * Organizations whose changes one cron run copies to the shards, and the number of pages that they share. Each page
 * takes about ten statements for each shard, and an invocation may run 1,000.
 */
export const COPIED_ORGANIZATIONS = 10
export const COPIED_PAGES = 20
/** Projects to which one statement adds an epoch, and such statements per minute. */
export const PLACED_PROJECTS = 500
export const PLACING_STEPS = 10
/** The pause between two passes over all projects. A pass begins immediately if the shards for new traces change. */
export const PLACING_PASS_MS = 3_600_000
