/* What clients send: traces, spans, observations, feedback, and OpenTelemetry exports. */

/**
 * One observation's `data` as JSON. This bounds an isolate's memory. Storage isn't the limit: values too large for a D1
 * row live in R2.
 */
export const MAX_OBSERVATION_BYTES = 5 * 1024 * 1024
/** Events in one batch. Each has its own result in the response. */
export const MAX_BATCH_EVENTS = 1000
/** Sub-millisecond arrival times, which keep a batch's events in order. At least `MAX_BATCH_EVENTS`. */
export const ARRIVALS_PER_MILLISECOND = 1024
/** Events to parse or turn into rows before other requests get a turn: a few milliseconds of work. */
export const EVENTS_PER_TURN = 100
/** A batch's body. An isolate holds it several times over: as bytes, text, values, and rows. */
export const MAX_BATCH_BYTES = 8 * 1024 * 1024
/** A trace's metadata as JSON. It's part of the trace's row, which lists read in full. */
export const MAX_METADATA_BYTES = 64 * 1024
/** Metadata fields that one warning lists. 64 KiB can hold thousands of fields. */
export const MAX_NAMED_FIELDS = 100
/** The text of one retrieved chunk in a span's state. The span's output has the whole text. */
export const MAX_CHUNK_BYTES = 4096
/** Searchable metadata leaves. Each costs a row write. */
export const MAX_SEARCHABLE_FIELDS = 64
/** A searchable leaf's dotted path. */
export const MAX_FIELD_PATH_BYTES = 256
/** Longer searchable values are compared by their SHA-256, which keeps index rows small. */
export const MAX_FIELD_VALUE_BYTES = 256
/** A `trace_id`, including `trace_`. */
export const MAX_TRACE_ID_LENGTH = 128
/** A span's tokens and cost. Their sums over a trace stay exact. */
export const MAX_TOKENS = 1e9
export const MAX_COST_USD = 1e6
/** A state observation's key. */
export const MAX_STATE_KEY_LENGTH = 256
/**
 * States of one exported span. They share its row, which is bound as one parameter of at most 2,000,000 bytes. Escaping
 * can turn a quote into 8 bytes.
 */
export const MAX_EXPORTED_STATES = 50
/** A `feedback_id`. */
export const MAX_FEEDBACK_ID_LENGTH = 128
/** A comment. */
export const MAX_COMMENT_LENGTH = 16 * 1024
/** A correction as JSON. It's part of the feedback's row. */
export const MAX_CORRECTION_BYTES = 128 * 1024
export const SEARCH_DEFAULT_LIMIT = 10
export const SEARCH_MAX_LIMIT = 100
/** Filters in one search. Each adds an index lookup per hit. */
export const MAX_SEARCH_FILTERS = 10
/** An OTLP export's body after decompression. The specification's 64 MiB wouldn't fit into an isolate's 128 MB. */
export const MAX_EXPORT_BYTES = 16 * 1024 * 1024
/** Spans or log records in one export. SDKs send 512 at once, collectors thousands. */
export const MAX_EXPORT_RECORDS = 10_000
/** Records written at once. Writing more would block the database and take too much memory. */
export const MAX_WRITTEN_RECORDS = 1000
/** Records to read before other requests get a turn: a few milliseconds of work. */
export const RECORDS_PER_TURN = 100
/** This many attributes take as long to read as one more record. */
export const ATTRIBUTES_PER_RECORD = 50
/**
 * Messages and strings in one export, or items of its JSON. 16 MiB of spans have fewer, and an isolate can hold this
 * many.
 */
export const MAX_EXPORT_ITEMS = 1_500_000
/**
 * Attributes to read from one span, from its resource, from all of its events, and from its links. SDKs keep 128, or
 * 10,000 if conversations are spread over many attributes.
 */
export const MAX_SPAN_ATTRIBUTES = 10_000
/** Messages in one exported value that are normalized. Longer conversations are stored as sent. */
export const MAX_CONVERSATION_MESSAGES = 10_000
/** The nesting depth of an attribute's value: half of what a stored value may have. */
export const MAX_ATTRIBUTE_DEPTH = 64
