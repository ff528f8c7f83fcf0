/** Every limit of size, count and time of the client. Those that the service sets are tested to be the same. */

/** One `input`, `output` or `data` as JSON; the service answers 413 above it. */
export const MAX_VALUE_BYTES = 5 * 1024 * 1024
/** Metadata as JSON, likewise. */
export const MAX_METADATA_BYTES = 64 * 1024
/** A correction as JSON, likewise. */
export const MAX_CORRECTION_BYTES = 128 * 1024
/** An event without these: ids, names, times, a comment. */
export const MAX_ENVELOPE_BYTES = 128 * 1024
/** Nesting of a value: the service refuses a whole batch for one that is far deeper. */
export const MAX_DEPTH = 128
/** Events of one batch, as the service takes them. */
export const MAX_BATCH_EVENTS = 1000
/**
 * Where a batch ends that has more to take: far below the 8 MiB that the service takes, so that a slow line carries it
 * within a request's time. A single event may be larger, and goes alone.
 */
export const BATCH_BYTES = 1024 * 1024
/** An error's message in a span's metadata. */
export const MAX_ERROR_LENGTH = 2000

/** One request, from its beginning to the last byte of its answer. */
export const REQUEST_MS = 5000
/** A request for an attribution, which the service itself holds open for up to 25 s. */
export const ATTRIBUTION_REQUEST_MS = 30_000
/** How long an attribution is waited for in all, where the caller does not say. */
export const ATTRIBUTION_WAIT_MS = 60_000
/** The pause before it is asked for again. */
export const ATTRIBUTION_PAUSE_MS = 1000
/** Attempts at one request, or to deliver one event. */
export const MAX_ATTEMPTS = 3
/** A longer Retry-After is not waited out: the service's own are at most its window of rate limits, and a second. */
export const MAX_RETRY_AFTER_MS = 61_000
/** How much longer than its time a request or a pause may take before whoever made it is taken for dead. */
export const SILENCE_MS = 5000

/** How long events wait for others to go with, by default. */
export const FLUSH_INTERVAL_MS = 2000
/** How many are sent at once without waiting longer, by default. */
export const FLUSH_AT = 100
/** What waiting events may take together, by default: a Worker's isolate has 128 MB for all its requests. */
export const MAX_QUEUE_BYTES = 16 * 1024 * 1024
/** How long a prompt is answered from memory, by default: how late a new version may be used. */
export const PROMPT_FRESH_MS = 10_000
