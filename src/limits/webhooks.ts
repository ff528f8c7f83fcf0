import { DAY_MS } from './units.ts'

/* Webhooks: who gets events, how often, and for how long. */

/** Webhooks of one project. Each gets its own copy of every event that it subscribes to. */
export const MAX_WEBHOOKS = 10
/** A webhook's URL. Longer ones don't work in every browser and proxy. */
export const MAX_WEBHOOK_URL_LENGTH = 2048
/** A webhook's description. */
export const MAX_WEBHOOK_DESCRIPTION_LENGTH = 1024
/** The random bytes of a signing secret. Standard Webhooks allows 24 to 64. */
export const WEBHOOK_SECRET_BYTES = 32
/** The shortest WEBHOOK_KEY: 128 random bits in base64url. */
export const MIN_WEBHOOK_KEY_LENGTH = 22
/** How long a replaced secret keeps signing, so that receivers can switch over. */
export const WEBHOOK_SECRET_OVERLAP_MS = DAY_MS
/** How long one attempt may take, up to the end of the response's first KiB. */
export const WEBHOOK_TIMEOUT_MS = 10_000
/**
 * The waits after each failed attempt but the last, in seconds. The 10 attempts take about 3 days, long enough for a
 * weekend outage.
 */
export const WEBHOOK_RETRY_SECONDS = [60, 300, 1800, 7200, 18_000, 36_000, 50_400, 64_800, 79_200] as const
/** A wait grows by up to this share, so that retries after an outage spread out. */
export const WEBHOOK_RETRY_JITTER = 0.1
/** The longest `Retry-After` that's honored. */
export const MAX_RETRY_AFTER_MS = 3_600_000
/** A webhook that has had failures and no success for this long is disabled. */
export const WEBHOOK_DEAD_AFTER_MS = 5 * DAY_MS
/**
 * How long deliveries to a webhook pause after its receiver fails or doesn't respond. The time doubles with each
 * failure in a row.
 */
export const MIN_WEBHOOK_REST_MS = 15_000
export const MAX_WEBHOOK_REST_MS = 10 * 60_000
/** How much of the response to a failed delivery is kept. */
export const KEPT_ANSWER_BYTES = 1024
/** A lease on a delivery: longer than it can take to send all the deliveries of one claim. */
export const DELIVERY_LEASE_MS = 120_000
/** Deliveries of one webhook that one claim takes. */
export const CLAIMED_DELIVERIES = 6
/** Requests to receivers at once. A Worker's invocation may have 6 connections. */
export const CONCURRENT_DELIVERIES = 5
/**
 * How long a run starts new attempts before it hands over to another run, so that other projects get their turn. It
 * hands over at most WEBHOOK_TIMEOUT_MS later, even if all of its receivers are slow.
 */
export const DELIVERY_RUN_MS = 5_000
/**
 * How long a run may keep its webhooks. No other run sends to them meanwhile. The run usually gives them back sooner.
 */
export const WEBHOOK_RUN_LEASE_MS = 30_000
/** How long a webhook that can't be decrypted waits. Somebody has to restore WEBHOOK_KEY. */
export const UNREADABLE_PAUSE_MS = 10 * 60_000
/**
 * Claims of one run. Each takes two queries, plus one per delivery, out of the free plan's 50 queries per invocation.
 */
export const DELIVERY_RUN_CLAIMS = 20
/** How long events and deliveries are kept. */
export const EVENT_RETENTION_DAYS = 30
/** Expired events that one step deletes, with up to 20 deliveries each, and steps of one cron run. */
export const EXPIRED_EVENTS = 200
export const EVENT_EXPIRY_STEPS = 5
/** Webhooks with deliveries that one such step checks. Each costs an index seek. */
export const CLEANED_WEBHOOKS = 200
/** The pause between two passes over old events and deleted webhooks. */
export const WEBHOOK_PASS_MS = 3_600_000
/** Events that one step turns into deliveries, and the steps of one run. */
export const FANNED_OUT_EVENTS = 200
export const FAN_OUT_STEPS = 5
/**
 * A value in an event of a webhook with `includeValues`. Larger ones are left out. Receivers such as functions behind a
 * gateway often accept no more than 1 MB, and a run has up to `CONCURRENT_DELIVERIES` events in memory.
 */
export const MAX_EVENT_VALUE_BYTES = 64 * 1024
/** Characters in one piece of text in a Slack message. Slack allows 3,000 in a section. */
export const MAX_SLACK_TEXT_LENGTH = 1000
/**
 * Problems with a candidate whose states one cron step reads, in several round trips each, and the number of projects
 * that they may come from.
 */
export const NOTICED_PROBLEMS = 5
export const NOTICED_PROJECTS = 5
/** The pause between two passes over the problems of projects that send `problem.changed`. */
export const PROBLEM_PASS_MS = 2 * 60_000
