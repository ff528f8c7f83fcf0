/* Rows, objects, and how long calls to D1 and R2 take. */

/** Values with larger JSON go to R2. A D1 row costs less than an R2 put, but D1's 10 GB fill up first. */
export const INLINE_BYTES = 8 * 1024
/** How much of a value in R2 is also kept in its row, so that a preview can be shown without fetching the value. */
export const PREVIEW_BYTES = 256
/** How much of a trace's value in R2 is also kept in its row, so that a search by text can look at it. */
export const KEPT_BYTES = 4 * 1024
/** Concurrent R2 calls. A Worker has 6 connections. */
export const MAX_PARALLEL_CALLS = 6
/** A JSON array of rows for `json_each`. Production D1 rejects bound strings over 2,000,000 bytes; local D1 doesn't. */
export const MAX_ARRAY_BYTES = 1_500_000
/** How long a request waits for D1 and R2 in total. Clients give up after 5 s. */
export const STORE_DEADLINE_MS = 4000
/** One attempt at a D1 or R2 call. A second one fits within the deadline. */
export const STORE_ATTEMPT_MS = 1800
/** Both limits for an export, which may write thousands of rows. Exporters wait 10 s. */
export const EXPORT_DEADLINE_MS = 8000
export const EXPORT_ATTEMPT_MS = 4500
/** How long a request waits to refresh a key that this isolate has cached. After that, it uses the cached result. */
export const REFRESH_TIMEOUT_MS = 500
/** `Retry-After` for a request that ran past its deadline. */
export const PAST_DEADLINE_RETRY_SECONDS = 2
/** The shortest attempt at a D1 or R2 call. A shorter one would only add load. */
export const MIN_STORE_ATTEMPT_MS = 200
/** The longest random delay before a write retries after losing a race: at first, and after several races. */
export const FIRST_RACE_DELAY_MS = 25
export const MAX_RACE_DELAY_MS = 800
/** How long a job waits for D1 and R2 in total. No client waits, but a queue delivery ends after 15 minutes. */
export const JOB_DEADLINE_MS = 5 * 60_000
/** A job's attempt at a D1 or R2 call. D1 aborts a statement after 30 s. */
export const JOB_ATTEMPT_MS = 30_000
/** How many times a change to an item is tried if other requests keep changing it. */
export const MAX_CHANGE_ATTEMPTS = 5
/**
 * How many changed rows one copy to a shard transfers, and how many of them may be versions of prompts or docs, which
 * are large.
 */
export const COPIED_CHANGES = 500
export const COPIED_TEXT_VERSIONS = 10
/** How far ahead of its beginning an epoch is written, and how late the write may be. */
export const EPOCH_DELAY_MS = 2 * 60_000
export const MAX_EPOCH_LATENESS_MS = 10_000
/**
 * How long new projects still start with the old shards after the shards for new traces change. This is longer than
 * `EPOCHS_STALE_MS` and the rest of a request, so every isolate has the new shards by then.
 */
export const NEW_PROJECT_DELAY_MS = 60_000
/**
 * How long an isolate on a deployment with shards may use cached epochs for new requests. An upload takes up to half a
 * minute, and its writes take up to ten seconds. So every request that's running when an epoch begins already has that
 * epoch.
 */
export const EPOCHS_STALE_MS = 45_000
/** Clocks of isolates and databases differ by less than this. */
export const MAX_CLOCK_DIFFERENCE_MS = 20_000
/** This long after an epoch begins, no request still uses the previous one. */
export const EPOCH_SETTLE_MS = 60_000
/**
 * A database with more bytes than this gets no new traces: its traces may grow, and D1 holds 10 GB. It gets new ones
 * again once it's below the second number, so that the shards don't change back and forth.
 */
export const MAX_SHARD_BYTES = 8_000_000_000
export const EMPTIED_SHARD_BYTES = 7_000_000_000
/**
 * A project's epochs that have different shards. A trace may be in that many databases, and reading it queries them
 * all.
 */
export const MAX_EPOCHS = 30
