/** Every limit on size, count, and time in the client. Tests compare them with the service's own. */

/** One `input`, `output`, or `data` as JSON. The service returns 413 above this size. */
export const MAX_VALUE_BYTES = 5 * 1024 * 1024
/** Metadata as JSON. The service has the same limit. */
export const MAX_METADATA_BYTES = 64 * 1024
/** A correction as JSON. The service has the same limit. */
export const MAX_CORRECTION_BYTES = 128 * 1024
/** The rest of an event: ids, names, times, a comment. */
export const MAX_ENVELOPE_BYTES = 128 * 1024
/** Nesting of a value. The service rejects a whole batch if one value is nested far more deeply. */
export const MAX_DEPTH = 128
/** Events in one batch. The service has the same limit. */
export const MAX_BATCH_EVENTS = 1000
/**
 * The size at which a batch is full: far below the service's 8 MiB, so that a slow connection can send it before the
 * timeout. A single event may be larger; it's sent alone.
 */
export const BATCH_BYTES = 1024 * 1024
/** An error's message in a span's metadata. */
export const MAX_ERROR_LENGTH = 2000

/** The timeout for one request, from its start to the last byte of its response. */
export const REQUEST_MS = 5000
/** The timeout for an attribution request. The service itself keeps the request open for up to 25 s. */
export const ATTRIBUTION_REQUEST_MS = 30_000
/** How long to wait for an attribution in total, by default. */
export const ATTRIBUTION_WAIT_MS = 60_000
/** The pause before the client requests an attribution again. */
export const ATTRIBUTION_PAUSE_MS = 1000
/** Attempts at one request, or to deliver one event. */
export const MAX_ATTEMPTS = 3
/** If Retry-After is longer, the client gives up. The service's longest is its rate limit window plus a second. */
export const MAX_RETRY_AFTER_MS = 61_000
/** How late a request or a pause may end before the client treats its run as dead. */
export const STALL_MS = 5000

/** How long events wait to be sent together, by default. */
export const FLUSH_INTERVAL_MS = 2000
/** The number of waiting events that triggers a send, by default. */
export const FLUSH_AT = 100
/** The largest total size of waiting events, by default: a Worker's isolate has 128 MB for all its requests. */
export const MAX_QUEUE_BYTES = 16 * 1024 * 1024
/** How long a prompt is served from memory by default. A new version may take this long to take effect. */
export const PROMPT_FRESH_MS = 10_000

/** Results of an experiment in one call. The service has the same limit. */
export const MAX_RESULTS = 200
/** Items of an experiment in one response. The service has the same limit. */
export const PAGE_ITEMS = 200
/**
 * The timeout for a request about an experiment: the service may look through a whole dataset, or judge many results.
 */
export const EXPERIMENT_REQUEST_MS = 30_000
/** How many of an experiment's items run at a time by default, and at most. */
export const CONCURRENCY = 4
export const MAX_CONCURRENCY = 64
/** Once the results that wait to be sent reach this size, an experiment starts no more items. */
export const MAX_WAITING_RESULTS_BYTES = 16 * 1024 * 1024

/** Characters in one record of an imported file. Escapes can double the length of its values of up to 5 MiB each. */
export const MAX_RECORD_LENGTH = 64 * 1024 * 1024
/** Nesting of such a record. JSON that's nested far more deeply can be parsed, but not written again. */
export const MAX_RECORD_DEPTH = 1000
/** Kinds of lost fields, warnings, and errors that an import's report lists. It counts the others. */
export const MAX_REPORTED = 500
/** A `feedback_id`, a name, and a comment. The service has the same limits. */
export const MAX_FEEDBACK_ID_LENGTH = 128
export const MAX_NAME_LENGTH = 256
export const MAX_COMMENT_LENGTH = 16 * 1024
/** The size at which an import's request is full. The service accepts 8 MiB, or 16 MiB of telemetry. */
export const IMPORT_BATCH_BYTES = 4 * 1024 * 1024
/** Decisions in one request. The service has the same limit. */
export const MAX_REVIEWS = 200
/** Spans in one request of an import. */
export const MAX_IMPORTED_SPANS = 1000
/** Requests with spans that an import makes at a time. */
export const IMPORT_CONCURRENCY = 4
/** The timeout for one request of an import: the request is large, and nobody is waiting for a page. */
export const IMPORT_REQUEST_MS = 60_000
/** Attempts at one request of an import. Together, they take about ten minutes. */
export const IMPORT_ATTEMPTS = 12
/** The longest pause between two attempts, even if the service asks for a longer one. */
export const MAX_IMPORT_PAUSE_MS = 60_000
