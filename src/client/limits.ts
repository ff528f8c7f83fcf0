/** Every limit of size, count, and time in the client. Tests compare the service's with its own. */

/** One `input`, `output`, or `data` as JSON; the service answers 413 above it. */
export const MAX_VALUE_BYTES = 5 * 1024 * 1024
/** Metadata as JSON, likewise. */
export const MAX_METADATA_BYTES = 64 * 1024
/** A correction as JSON, likewise. */
export const MAX_CORRECTION_BYTES = 128 * 1024
/** The rest of an event: ids, names, times, a comment. */
export const MAX_ENVELOPE_BYTES = 128 * 1024
/** Nesting of a value: the service refuses a whole batch because of one value that is far deeper. */
export const MAX_DEPTH = 128
/** Events in one batch, as the service takes them. */
export const MAX_BATCH_EVENTS = 1000
/**
 * The size at which a batch ends: far below the service's 8 MiB, so that a slow connection carries it within a request's
 * time. A single event may be larger, and goes alone.
 */
export const BATCH_BYTES = 1024 * 1024
/** An error's message in a span's metadata. */
export const MAX_ERROR_LENGTH = 2000

/** One request, from its start to the last byte of its answer. */
export const REQUEST_MS = 5000
/** A request for an attribution, which the service itself holds open for up to 25 s. */
export const ATTRIBUTION_REQUEST_MS = 30_000
/** How long to wait for an attribution in all, unless the caller says. */
export const ATTRIBUTION_WAIT_MS = 60_000
/** The pause before the client asks for it again. */
export const ATTRIBUTION_PAUSE_MS = 1000
/** Attempts at one request, or to deliver one event. */
export const MAX_ATTEMPTS = 3
/** The client gives up on a longer Retry-After: the service's own are at most its rate limits' window plus a second. */
export const MAX_RETRY_AFTER_MS = 61_000
/** How much longer than planned a request or a pause may take before the client takes its run for dead. */
export const SILENCE_MS = 5000

/** How long events wait to be sent together with others, by default. */
export const FLUSH_INTERVAL_MS = 2000
/** How many waiting events are sent at once, by default. */
export const FLUSH_AT = 100
/** The largest total size of waiting events, by default: a Worker's isolate has 128 MB for all its requests. */
export const MAX_QUEUE_BYTES = 16 * 1024 * 1024
/** How long a prompt is answered from memory, by default, and so how late a new version takes effect. */
export const PROMPT_FRESH_MS = 10_000
