/* What owners write: prompts, knowledge docs, schemas, error types, and settings. */

/** Traces that one call deletes. They take two calls to the queue. */
export const MAX_DELETED_TRACES = 200
/** One version of a prompt or knowledge doc. It's stored in its row, and lists include it. */
export const MAX_CONTENT_BYTES = 256 * 1024
/** A prompt version's `outputSchema` as JSON. */
export const MAX_SCHEMA_BYTES = 64 * 1024
/** Work that one request may spend on checking values against `outputSchema`s: about an eighth of a second. */
export const MAX_SCHEMA_OPERATIONS = 4_000_000
/**
 * Schemas that may apply to one value through references and combinations. If each schema referred to the next one
 * twice, 30 levels would give 10^9.
 */
export const MAX_SCHEMA_APPLICATIONS = 10_000
/** Nested schemas on one value, and on the path to the innermost part of a value. Guards the stack. */
export const MAX_SCHEMA_CHAIN = 100
export const MAX_SCHEMA_DEPTH = 1000
/** States of all patterns in a schema. `a{1000}` has a thousand. */
export const MAX_PATTERN_STATES = 10_000
/** Nested groups in a pattern. */
export const MAX_PATTERN_DEPTH = 100
/** Lookarounds in a pattern. Each takes one bit per character. */
export const MAX_PATTERN_LOOKS = 8
/** Cached states of one pattern's automaton. */
export const MAX_PATTERN_CACHE = 20_000
/** Longer strings skip the `format` check: a URI may hold megabytes of data. */
export const MAX_FORMAT_LENGTH = 4096
/** How much of an `enum` or `const` an error shows. */
export const MAX_CHOICES_LENGTH = 256
/** All versions of one prompt or knowledge doc as JSON. One response shows them all. */
export const MAX_VERSIONS_BYTES = 8 * 1024 * 1024
/** The bytes counted for a version in addition to its text: ids, times, and field names. */
export const VERSION_BYTES = 256
/** Removed and added lines that a diff looks for. The diff's memory grows with the square of this number. */
export const MAX_DIFF_EDITS = 700
/** The comparisons that a diff may make: edits times lines of both versions, about a tenth of a second of work. */
export const MAX_DIFF_STEPS = 10_000_000
/** Schema diffs don't descend into longer paths, because there may be many, and each is shown in full. */
export const MAX_DIFF_PATH_LENGTH = 256
/** The note on a version. */
export const MAX_NOTE_LENGTH = 1024
/** An error type's `error_type`. */
export const MAX_ERROR_TYPE_LENGTH = 64
/** An error type's `rule`. Engines read the rules of all types. */
export const MAX_RULE_LENGTH = 1024
/** A step's guideline. Reviewers read it next to each output. */
export const MAX_GUIDELINE_LENGTH = 16_384
/** A project's own error types. They're listed on one page, and engines choose among them all. */
export const MAX_PROJECT_ERROR_TYPES = 100
/** A project's renamed steps. A change sends and checks them all. */
export const MAX_STEP_NAMES = 200
/** Audit log entries that one page scans, for the same reason as `MAX_SCANNED_TRACES`. */
export const MAX_SCANNED_ENTRIES = 5000
/** The longest `retentionDays`. Null keeps traces forever. */
export const MAX_RETENTION_DAYS = 3650
