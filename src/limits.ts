/** Every limit on size, count, and time, each with its reason. `BYTES` are UTF-8 bytes, `LENGTH` is characters. */

export const DAY_MS = 24 * 3_600_000

/**
 * One observation's `data` as JSON. This bounds an isolate's memory. Storage isn't the limit: values too large for a D1
 * row live in R2.
 */
export const MAX_OBSERVATION_BYTES = 5 * 1024 * 1024
/** The rest of a body around its long fields: ids, names, notes, timestamps. */
export const ENVELOPE_BYTES = 64 * 1024
/** The most bytes that text can take in a JSON body: each may be a six-character escape. */
export const escaped = (bytes: number): number => 6 * bytes
/** Events in one batch. Each has its own result in the response. */
export const MAX_BATCH_EVENTS = 1000
/** Sub-millisecond arrival times, which keep a batch's events in order. At least `MAX_BATCH_EVENTS`. */
export const ARRIVALS_PER_MILLISECOND = 1024
/** Events to parse or turn into rows before other requests get a turn: a few milliseconds of work. */
export const EVENTS_PER_TURN = 100
/** Reviews in one call. */
export const MAX_REVIEWS = 200
/** Views of one user, and shared views, in a project. The app lists all of them in a menu. */
export const MAX_OWN_VIEWS = 100
export const MAX_SHARED_VIEWS = 200
/** A view's URL query. Browsers and proxies handle URLs up to this length. */
export const MAX_VIEW_QUERY_LENGTH = 2000
/** Traces that one call deletes. They take two calls to the queue. */
export const MAX_DELETED_TRACES = 200
/** Outputs that a review call reads, parses, and hashes at once, at least one. Bounds an isolate's memory. */
export const MAX_JUDGED_BYTES_AT_ONCE = 8 * 1024 * 1024
/** Agents that may suggest a decision on one span. */
export const MAX_SUGGESTIONS = 10
/** How many bytes of suggestions a list of spans shows in full. A single span's response shows more. */
export const MAX_SUGGESTION_BYTES = 1024 * 1024
/** Characters to parse, hash, or write before other requests get a turn: a few milliseconds of work. */
export const LENGTH_PER_TURN = 256 * 1024
/** A message text must have this many characters to be reviewed once if several spans have it. */
export const MIN_SHARED_TEXT_LENGTH = 16
/** Longer outputs, as JSON, are never taken for the same text. Hashing them would delay other requests. */
export const MAX_SHARED_TEXT_LENGTH = 64 * 1024
/** The spans with the same text as their root that are considered, the earliest first. */
export const MAX_SHARING_SPANS = 200
/** How far a span is followed up its parents to find how deep it is. */
export const MAX_SHARING_DEPTH = 100
/** Outputs that one review call checks in total. It leaves the rest to the next call. */
export const MAX_JUDGED_BYTES = 64 * 1024 * 1024
/** A batch's body. An isolate holds it several times over: as bytes, text, values, and rows. */
export const MAX_BATCH_BYTES = 8 * 1024 * 1024
/** A body without a larger limit of its own. */
export const MAX_BODY_BYTES = 256 * 1024
/** A trace's metadata as JSON. It's part of the trace's row, which lists read whole. */
export const MAX_METADATA_BYTES = 64 * 1024
/** Metadata fields that one warning names. 64 KiB can hold thousands. */
export const MAX_NAMED_FIELDS = 100
/** Truncated parts of one value that a response names. */
export const MAX_NAMED_TRUNCATIONS = 10
/** Nesting of a value. SQLite and structuredClone fail far above it; a recursive client fails far below those. */
export const MAX_JSON_DEPTH = 128
/** Nesting of a body, which bounds what parsing builds. Each value in it has its own, lower limit. */
export const MAX_BODY_DEPTH = 1000
/** The text of one retrieved chunk in a span's state. The span's output has the whole text. */
export const MAX_CHUNK_BYTES = 4096
/** Faults that one response names, so that it can't grow longer than the request. */
export const MAX_ERROR_DETAILS = 20
/** How much of a field's path to show. A request may be one long name. */
export const MAX_ERROR_PATH_LENGTH = 256

/** Values with larger JSON go to R2. A D1 row costs less than an R2 put, but D1's 10 GB run out first. */
export const INLINE_BYTES = 8 * 1024
/** How much of a value in R2 its row keeps, to show without fetching it. */
export const PREVIEW_BYTES = 256
/** How much of a trace's value in R2 its row keeps, so that a search by text can look at it. */
export const KEPT_BYTES = 4 * 1024
/** Concurrent R2 calls. A Worker has 6 connections. */
export const MAX_PARALLEL_CALLS = 6
/** The beginning of a trace's input or output in lists. A table shows a line or two. */
export const PREVIEW_LENGTH = 200
/** How much of each value is read for that. The text of a message begins after its other fields. */
export const PREVIEWED_LENGTH = 4096
/** The last inputs of a span that are read for that. They share `PREVIEWED_LENGTH`. */
export const PREVIEWED_INPUTS = 8
/** How many of a trace's observations, and of its spans, are searched for that: a list shows 200 traces. */
export const PREVIEWED_ROWS = 200
/** Values on one page of a list. The page ends before the item that would exceed it, after at least one item. */
export const MAX_PAGE_VALUE_BYTES = 8 * 1024 * 1024
/** A response that shows a trace has every value in full, up to these totals of value bytes and spans. */
export const MAX_DETAIL_BYTES = MAX_PAGE_VALUE_BYTES
export const MAX_WHOLE_SPANS = 2000
/** Spans in one response, and their bytes. An isolate holds them alongside its other requests. */
export const MAX_DETAIL_SPANS = 20_000
export const MAX_DETAIL_ANSWER_BYTES = 16 * 1024 * 1024
/** A trace with more observations than this is read in parts, together with its spans. */
export const MAX_WHOLE_OBSERVATIONS = 10_000
/** How much of a large trace to read at once. Other requests get a turn between parts. */
export const DETAIL_PART_BYTES = 2 * 1024 * 1024
export const DETAIL_PART_SPANS = 2000
/** How many bytes of a span's values the response for that span shows in full. */
export const MAX_SPAN_BYTES = 16 * 1024 * 1024
/** Values of one span to read, outputs and inputs first. Each one shows at least a preview and a name. */
export const MAX_SPAN_VALUES = 20_000
/**
 * In responses with previews, metadata and the state sent with a span are complete up to these sizes. A few states in R2
 * keep `KEPT_BYTES` each.
 */
export const MAX_BRIEF_METADATA_BYTES = 1024
export const MAX_BRIEF_STATE_BYTES = 16 * 1024
/** Values that one response fetches from R2, six at a time. */
export const MAX_DETAIL_OBJECTS = 1000
/** Inline approved outputs that one response gives in full. */
export const MAX_DETAIL_APPROVED_BYTES = 8 * 1024 * 1024
/** Feedback in one response that shows a trace, oldest first. */
export const MAX_DETAIL_FEEDBACK = 1000
/** Comments and corrections that a response shows in full when it shows a trace, as JSON. */
export const MAX_DETAIL_FEEDBACK_BYTES = 4 * 1024 * 1024
/** A JSON array of rows for `json_each`. Production D1 rejects bound strings over 2,000,000 bytes; local D1 doesn't. */
export const MAX_ARRAY_BYTES = 1_500_000

/** Searchable metadata leaves. Each costs a row write. */
export const MAX_SEARCHABLE_FIELDS = 64
/** A searchable leaf's dotted path. */
export const MAX_FIELD_PATH_BYTES = 256
/** Longer searchable values are compared by their SHA-256, which keeps index rows small. */
export const MAX_FIELD_VALUE_BYTES = 256

/** A `trace_id`, including `trace_`. */
export const MAX_TRACE_ID_LENGTH = 128
/** The name of a trace, organization, project, key, or person. A trace's name is also its root span's step id. */
export const MAX_NAME_LENGTH = 256
/** A span's tokens and cost. Their sums over a trace stay exact. */
export const MAX_TOKENS = 1e9
export const MAX_COST_USD = 1e6
/** A state observation's key. */
export const MAX_STATE_KEY_LENGTH = 256
/**
 * States of one exported span. They share its row, which is bound as one parameter of at most 2,000,000 bytes; escaping
 * can turn a quote into 8 bytes.
 */
export const MAX_EXPORTED_STATES = 50
/** A `feedback_id`. */
export const MAX_FEEDBACK_ID_LENGTH = 128
/** A comment. */
export const MAX_COMMENT_LENGTH = 16 * 1024
/** A correction as JSON. It's part of the feedback's row. */
export const MAX_CORRECTION_BYTES = 128 * 1024
/** One version of a prompt or knowledge doc. It's stored in its row, and lists include it. */
export const MAX_CONTENT_BYTES = 256 * 1024
/** A prompt version's `outputSchema` as JSON. */
export const MAX_SCHEMA_BYTES = 64 * 1024
/** Work that one request may spend on checking values against `outputSchema`s: about an eighth of a second. */
export const MAX_SCHEMA_OPERATIONS = 4_000_000
/** Schemas that may apply to one value through references and combinations. Doubling 30 times would give 10^9. */
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
/** The bytes that a version counts beyond its texts: ids, times, and field names. */
export const VERSION_BYTES = 256
/** Lines removed and added that a diff searches. Its memory grows with the square of this. */
export const MAX_DIFF_EDITS = 700
/** Edits times lines of both versions: the comparisons that a diff may make, about a tenth of a second. */
export const MAX_DIFF_STEPS = 10_000_000
/** Schema diffs don't descend past this length: there may be many paths, and each is shown whole. */
export const MAX_DIFF_PATH_LENGTH = 256
/** The note on a version. */
export const MAX_NOTE_LENGTH = 1024
/** An error type's `error_type`. */
export const MAX_ERROR_TYPE_LENGTH = 64
/** An error type's `rule`. Engines read the rules of all types. */
export const MAX_RULE_LENGTH = 1024
/** A name that an output may cite a chunk by. Longer ones are texts. */
export const MAX_LABEL_LENGTH = 300
/** Values of an output that are searched for citations. */
export const MAX_SOURCE_LEAVES = 10_000
/** Spans of a trace that may come before an output: as many as a detail lists. */
export const MAX_SOURCE_CANDIDATES = 20_000
/** How many of them are read, those that retrieve and the nearest ones first. Their values fit in one page. */
export const MAX_SOURCE_SPANS = 12
/** Chunks in a response, and the bytes of each. The inbox loads the next items' ahead. */
export const MAX_SOURCE_CHUNKS = 50
export const MAX_SOURCE_CHUNK_BYTES = 8192
/** How an output cites a chunk: with spaces and in any case, so the same label has many forms. */
export const MAX_CITED_AS = 20
/** Knowledge docs in a response, and the characters of each and of the prompt. */
export const MAX_SOURCE_DOCS = 10
export const MAX_SOURCE_TEXT_LENGTH = 16_384
/** Labels of chunks that are looked up as docs. A chunk has a few. */
export const MAX_SOURCE_LABELS = 200
/** A step's guideline. Reviewers read it next to each output. */
export const MAX_GUIDELINE_LENGTH = 16_384
/** A project's own error types. They're listed on one page, and engines choose among them all. */
export const MAX_PROJECT_ERROR_TYPES = 100
/** A project's renamed steps. A change sends and checks them all. */
export const MAX_STEP_NAMES = 200
/** An email (RFC 5321: 64 + 1 + 255). */
export const MAX_EMAIL_LENGTH = 320

/** Paths of a dataset's evaluator, and the length of one. */
export const MAX_EVALUATOR_PATHS = 100
export const MAX_EVALUATOR_PATH_BYTES = 256
/** Leaves of a candidate's output that are compared with what's expected: about a tenth of a second. */
export const MAX_JUDGED_LEAVES = 100_000
/** Longer strings are free text. So are strings with white space, unless a schema lists them. */
export const MAX_STRICT_LENGTH = 64
/** Differences that one result shows, and fields that it reports on. Its row stores them. */
export const MAX_SHOWN_DIFFERENCES = 20
export const MAX_JUDGED_FIELDS = 50
/** Fields that an experiment's report lists. The others are added up. */
export const MAX_REPORTED_FIELDS = 200

/** Items of one experiment. Its report reads all of its results. */
export const MAX_EXPERIMENT_ITEMS = 10_000
/** Splits of an experiment's items. Its counts have a part for each, and are stored in one row. */
export const MAX_EXPERIMENT_SPLITS = 100
export const MAX_GATE_AGE_DAYS = 3650
/** Items that a dataset may have for an experiment to be drawn from it. */
export const MAX_WALKED_ITEMS = 100_000
/** Results in one call. */
export const MAX_RESULTS = 200
/** An experiment has failed if no result arrives for this long. */
export const EXPERIMENT_SILENCE_MS = DAY_MS
/** Results whose counts one statement reads. */
export const COUNTED_RESULTS = 2500

export const SEARCH_DEFAULT_LIMIT = 10
export const SEARCH_MAX_LIMIT = 100
/** Filters in one search. Each adds an index lookup per hit. */
export const MAX_SEARCH_FILTERS = 10
/** A cursor. A name of 256 characters takes 4,100: each can be two six-character escapes, in base64. */
export const MAX_CURSOR_LENGTH = 8192
export const PAGE_DEFAULT_LIMIT = 50
export const PAGE_MAX_LIMIT = 200
/** A page of a trace's raw observations: the default and the maximum. */
export const OBSERVATIONS_DEFAULT_LIMIT = 200
export const OBSERVATIONS_MAX_LIMIT = 1000
/** A page of prompts or knowledge docs ends early after this much text. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Traces that one page scans, so that a filter with few matches costs no more than a page's time. */
export const MAX_SCANNED_TRACES = 5000
/** Metadata that one page of groups reads and parses. Ten times what 5,000 traces usually have. */
export const MAX_GROUPED_METADATA_BYTES = 4 * 1024 * 1024
/** Groups that a page compares with earlier pages. Each takes an index lookup. */
export const MAX_CHECKED_GROUPS = 1000
/** Turns of a conversation on a page. Each shows a span in full and its feedback. */
export const TURNS_DEFAULT_LIMIT = 20
export const TURNS_MAX_LIMIT = 50
/** Steps with an output among which a turn looks for the last one, if the root has none. */
export const MAX_TURN_SPANS = 500
/** Feedback on a page of turns. Traces rarely have more than one piece. */
export const MAX_TURN_FEEDBACK = 500
/** Traces that one statement reads the costs of. To sort by cost, a page takes ten. */
export const SORTED_STEP_TRACES = 500
/** Decisions that one page scans, for the same reason. */
export const MAX_SCANNED_DECISIONS = 5000
/** A text to find. Fewer characters are in almost every trace, and a longer text takes longer to compare. */
export const MIN_SOUGHT_LENGTH = 3
export const MAX_SOUGHT_LENGTH = 200
/** What one page of a search by text looks at, at most: traces or decisions, and bytes of their values. */
export const MAX_SEARCHED_TRACES = 500
export const MAX_SEARCHED_BYTES = 8 * 1024 * 1024
/** How much one round trip of a search reads. Other requests to the database wait for it. */
export const SEARCHED_BYTES_AT_ONCE = 1024 * 1024
export const SEARCHED_ROWS_AT_ONCE = 1000
/** What a row counts beside its values, so that many small rows also end a page. */
export const SEARCHED_ROW_BYTES = 256
/** A trace's observations and its comments that a search looks at. It must read all to know which ones are current. */
export const MAX_SEARCHED_ROWS = 10_000
/** Matches that a hit shows. */
export const MAX_MATCHES = 3
/** A match with the text around it, and the least of that on either side of a long one. */
export const SNIPPET_LENGTH = 160
export const CONTEXT_LENGTH = 40
/** Prompt versions that one filter names. With more, a URL would be longer than some proxies accept. */
export const MAX_FILTERED_VERSIONS = 50
/** The count of spans left to review stops here. */
export const MAX_REMAINING = 10_000
/** Traces scanned for that count. A project may have any number of traces with nothing to review. */
export const MAX_COUNTED_TRACES = 20_000
/** Traces that are shuffled together. After these, the next ones are shuffled. */
export const SHUFFLED_TRACES = 5000
/** How long a claim reserves a span for its reviewer. */
export const CLAIM_MS = 15 * 60_000
/** Spans that one call claims, renews, or releases. */
export const MAX_CLAIMS = 200
/** Audit log entries that one page scans, for the same reason as `MAX_SCANNED_TRACES`. */
export const MAX_SCANNED_ENTRIES = 5000
/** The newest decisions that name an error type. Attribution quality is computed from these. */
export const MAX_COMPARED_DECISIONS = 10_000
/** Days that insights cover: the default and the maximum, a leap year. */
export const DEFAULT_INSIGHT_DAYS = 30
export const MAX_INSIGHT_DAYS = 366
/** Entries in one list of insights. A year of ten steps with two versions each has fewer. */
export const MAX_INSIGHT_ROWS = 10_000
/** Traces read to compare metadata filters, or to find a trace of a group that's listed. */
export const PROBED_TRACES = 1000

export const DEFAULT_RATE_LIMIT_PER_MINUTE = 6000
/** How long a rotated key may stay valid alongside its replacement. */
export const MAX_ROTATION_GRACE_SECONDS = 30 * 24 * 3600
/** Far more than one D1 database can serve, and far below the largest integer in a header (15 digits). */
export const MAX_RATE_LIMIT_PER_MINUTE = 1_000_000
/** The window in which requests are counted. */
export const WINDOW_SECONDS = 60
/**
 * How long an isolate may spend its leased tokens. If a lease is never returned, the limiter keeps its tokens reserved
 * for this much longer.
 */
export const LEASE_SECONDS = 10
/** The first and smallest lease. Isolates with a few requests a minute shouldn't lease a token for each one. */
export const FIRST_LEASE_TOKENS = 8
/** If a lease runs out sooner, the next one has twice as many tokens. */
export const BUSY_LEASE_MS = 3000
/** Below this limit, tokens are taken one by one: an unspent token in one isolate would deny a request in another. */
export const MIN_LEASED_LIMIT = 100
/**
 * The smallest lease is this fraction of a minute's limit: near the limit, all isolates together make about four calls
 * a second to the limiter.
 */
export const SHARES_PER_MINUTE = 240
/** How long a denial lasts while leases are out. Any of them may be returned. */
export const LEASED_OUT_RETRY_SECONDS = 1
/** Failed lookups of keys, sessions, and sign-in links per address in 60 seconds, in one isolate. */
export const MAX_FAILED_LOOK_UPS = 60
/** How long an address with more failures is paused. Keys that the isolate has cached still work. */
export const LOOK_UP_PAUSE_MS = 10_000
/**
 * Lookups a second that a paused address still gets: a new pipeline may share its address with someone guessing keys.
 */
export const PAUSED_LOOK_UPS_PER_SECOND = 5
/** How long to reject an unknown key without querying D1 again. Keys are random, so a new key is never among them. */
export const KEY_UNKNOWN_MS = 30_000
/** Longer strings are never keys and aren't cached as unknown, which keeps that cache small. */
export const MAX_SECRET_LENGTH = 64
/**
 * Calls a minute that one address may make, in one isolate, to an endpoint that queries D1 without a key. A health
 * probe calls every second.
 */
export const MAX_KEYLESS_CALLS = 120
/** How long a request waits for the rate limiter. After that, it passes uncounted. */
export const LIMITER_TIMEOUT_MS = 250
/** How long requests skip the rate limiter after it couldn't be reached. */
export const LIMITER_PAUSE_MS = 1000

/** How long a request waits for D1 and R2 in total. Clients give up after 5 s. */
export const STORE_DEADLINE_MS = 4000
/** One attempt at a D1 or R2 call. A second one fits within the deadline. */
export const STORE_ATTEMPT_MS = 1800
/** The same for an export, which may write thousands of rows. Exporters wait 10 s. */
export const EXPORT_DEADLINE_MS = 8000
export const EXPORT_ATTEMPT_MS = 4500
/** How long a request waits to refresh a key that this isolate has cached. After that, it uses the cached result. */
export const REFRESH_TIMEOUT_MS = 500
/** `Retry-After` for a request that ran past its deadline. */
export const PAST_DEADLINE_RETRY_SECONDS = 2
/** A shorter attempt would only add load. */
export const MIN_STORE_ATTEMPT_MS = 200
/** The longest random delay before a write retries after losing a race: at first, and after several races. */
export const FIRST_RACE_DELAY_MS = 25
export const MAX_RACE_DELAY_MS = 800
/** How long a job waits for D1 and R2 in total. No client waits, but a queue delivery ends after 15 minutes. */
export const JOB_DEADLINE_MS = 5 * 60_000
/** One attempt of a job at a D1 or R2 call. D1 ends a statement after 30 s. */
export const JOB_ATTEMPT_MS = 30_000

/** How long a key is cached before it's looked up again. This bounds how long a revoked key still works. */
export const KEY_FRESH_MS = 30_000
/** How long a cached key keeps working while D1 doesn't respond. */
export const KEY_STALE_MS = 10 * 60_000
/** How long a project is cached. This bounds how long a deleted project still works. */
export const PROJECT_FRESH_MS = KEY_FRESH_MS
/** Entries in each of an isolate's caches: keys, sessions, projects. */
export const ISOLATE_CACHE_ENTRIES = 5000
/** How long a request waits for Cloudflare Access's signing keys. After that, it still has to query D1. */
export const ACCESS_CERTS_TIMEOUT_MS = 1000
/** `Retry-After` if those keys couldn't be fetched. */
export const ACCESS_CERTS_RETRY_SECONDS = 5
/** Organizations that an Access user can choose from. With more, the user has to name one. */
export const MAX_LISTED_MEMBERSHIPS = 100
/** How long a browser stays signed in: a working day. */
export const SESSION_SECONDS = 12 * 3600
/** How long a sign-in link works: the default, the minimum, and the maximum. */
export const SIGN_IN_LINK_SECONDS = 900
export const MIN_SIGN_IN_LINK_SECONDS = 60
export const MAX_SIGN_IN_LINK_SECONDS = 3600
/** Projects that a session lists. The projects endpoint lists all of them, in pages. */
export const MAX_SESSION_PROJECTS = 1000
/** Reviewer ids in one call: a page of reviewers, in a URL of 4 KB. */
export const MAX_REVIEWER_IDS = 100

/** Rows that a purge deletes in one statement: tens of milliseconds, during which the database serves nobody else. */
export const PURGE_ROWS = 1000
/** Values that people may accept for an item besides the approved output. Each entry of the item's log repeats them. */
export const MAX_ALTERNATIVES = 20
/** How often a change to an item is tried if others keep changing it. */
export const MAX_CHANGE_ATTEMPTS = 5
/** A version of a dataset: a part of 20 characters for each step of the same name. */
export const MAX_VERSION_LENGTH = 4096
/** Imported examples of a dataset. */
export const MAX_IMPORTED_ITEMS = 10_000
/** Examples in one import. */
export const MAX_IMPORT = 200
/** Dataset items that one call looks at, so that one tenant's filter doesn't hold up others. */
export const MAX_LISTED_ITEMS = 5000
/** Items in one exported file, including those that a filter leaves out. */
export const MAX_FILE_ITEMS = MAX_LISTED_ITEMS
/** Values in one exported file, by the sizes in their rows. A Worker can stream that much within its CPU time. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Values in R2 in one exported file, unless one item has more. A request may make 1,000 calls to D1 and R2. */
export const MAX_FILE_OBJECTS = 900
/**
 * Items of an exported file that are measured, or written, at once, and the bytes of their values. A full file takes
 * about 40 queries. The free plan allows 50.
 */
export const FILE_STEP_ITEMS = 500
export const FILE_PART_BYTES = 4 * 1024 * 1024
/** The same for spans that are found in their traces. Up to this many of each trace are looked at. */
export const FILE_STEP_SPANS = 200
/** A cursor for the next file. It contains the version, the CSV columns, and the last item's step. */
export const MAX_FILE_CURSOR_LENGTH = 14 * 1024
/** Columns for the fields of an output, and the length that their names take in a cursor. */
export const MAX_CSV_COLUMNS = 100
export const MAX_CSV_COLUMNS_LENGTH = 2000
/** Without an `outputSchema`, the columns come from this many items, from the first one on. */
export const CSV_SAMPLE_ITEMS = 200
/** Reviewed spans whose dataset items one statement brings up to date. */
export const SETTLED_SPANS = 50
/** Traces reviewed before datasets existed that one cron run marks, so that they get their items. */
export const BACKFILLED_TRACES = 500
/** Dataset items of a trace that a purge deletes in one batch, with all their log entries. */
export const PURGED_ITEMS = 200
/** Steps of one purge job. With its other statements, it stays under the free plan's 50 queries per invocation. */
export const PURGE_STEPS = 30
/** A deletion that no job has touched for this long is sent to the queue again. */
export const RESEND_AFTER_MS = 60_000
/** Deletions that one cron run sends again. Without a queue, it runs only one, because of the 50 queries. */
export const RESEND_BATCH = 100
/** The oldest traces that one retention step checks: as many as fit in one call to the queue. */
export const RETENTION_TRACES = 100
/** Steps of one cron run: 800 traces a minute, within the free plan's 50 queries per invocation. */
export const RETENTION_STEPS = 8
/** The pause between two passes over all projects. */
export const RETENTION_PASS_MS = 3_600_000
/** The longest `retentionDays`. Null keeps traces forever. */
export const MAX_RETENTION_DAYS = 3650
/** How long a trace known only from telemetry waits for its root after its last span. */
export const ROOT_WAIT_MS = 10 * 60_000
/** The same if a span's parent is in another process, which may send its spans elsewhere or not at all. */
export const REMOTE_ROOT_WAIT_MS = 60_000
/** Traces without a root that one closing step completes, and steps of one cron run. */
export const CLOSED_TRACES = 500
export const CLOSING_STEPS = 6
/** Messages in one call to the queue. */
export const MAX_QUEUE_BATCH = 100
/** The longest delay before a failed job runs again. */
export const MAX_RETRY_DELAY_SECONDS = 3600
/** An object without a row is deleted after this long. The request that put it has ended by then. */
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
 * experiments. The last number is how many steps one job has.
 */
export const DELETION_TRACES = 500
export const DELETION_ROWS = 5000
export const DELETION_EXPERIMENTS = 100
export const DELETION_STEPS = 30
/**
 * After this long, no isolate accepts a revoked key or remembers a deleted project. The deletion of a user or project
 * then looks again for rows that were written in the meantime.
 */
export const DELETION_SETTLE_MS = KEY_STALE_MS + 60_000
/** Traces of a deleted project that one step deletes: as many as fit in one call to the queue. */
export const PROJECT_PURGE_TRACES = MAX_QUEUE_BATCH
/** Statements of one project purge job, within the free plan's 50 queries per invocation. */
export const PROJECT_PURGE_STEPS = 40
/** Versions of prompts and knowledge docs that one statement deletes. Each takes up to 320 KB. */
export const PROJECT_PURGE_VERSIONS = 200
/** Traces that one step searches for labellers, steps per minute, and labellers deleted at the end of a pass. */
export const LABELLER_TRACES = 500
export const LABELLER_STEPS = 8
export const LABELLER_DELETE_ROWS = 1000
/** The pause after a pass that found nothing to do. */
export const LABELLER_PASS_MS = 15 * 60_000
/** The pause between two passes over all organizations' audit log entries. */
export const AUDIT_PASS_MS = DAY_MS

/** New traces whose days one cron run records. Each costs a row read. */
export const NOTED_TRACES = 10_000
/** A trace's row is visible this long after its key was assigned: requests end sooner, and clocks differ by less. */
export const NOTING_DELAY_MS = 30_000
/** Traces whose outputs one cron run counts, and the days that share them. */
export const COUNTED_TRACES = 3000
export const COUNTED_DAYS = 20
/** Steps counted separately per project per day. Clients choose the names, and every trace may have new ones. */
export const MAX_COUNTED_STEPS = 500
/** Prompt versions of steps whose tokens, cost, and durations are counted separately per project and day. */
export const MAX_COUNTED_VERSIONS = 600
/** How long a cron run keeps the days that it claims. */
export const COUNT_LEASE_MS = 60_000
/**
 * How long a day waits for its next count: 5 seconds per trace, between 5 minutes and an hour. This keeps reads well
 * below the free plan's 5 million rows a day for as many traces as its other limits allow, in any number of projects.
 */
export const COUNT_REST_PER_TRACE_MS = 5000
export const MIN_COUNT_REST_MS = 5 * 60_000
export const MAX_COUNT_REST_MS = 3_600_000

/** Spans of a trace that an engine reads. */
export const MAX_SUBJECT_SPANS = 400
/** Candidates for those spans. Each costs a row of a few ids. */
export const MAX_SUBJECT_CANDIDATES = 20_000
/** The values of those spans, in total and each. Larger values add little, and an isolate has 128 MB. */
export const MAX_SUBJECT_BYTES = 4 * 1024 * 1024
export const MAX_SUBJECT_VALUE_BYTES = 256 * 1024
/** The total size of the prompts that an engine reads, and of the knowledge docs. */
export const MAX_SUBJECT_TEXT_BYTES = 4 * 1024 * 1024
/** Knowledge docs that an engine reads. */
export const MAX_SUBJECT_DOCS = 1000
/** Candidates for those knowledge docs. */
export const MAX_SUBJECT_DOC_CANDIDATES = 10_000
/** Characters of steps, and of knowledge docs, that the rules analyze. */
export const MAX_EVIDENCE_LENGTH = 512 * 1024
/** Numbers, dates, and identifiers that the rules keep per string. Each takes about 200 bytes. */
export const MAX_TEXT_FACTS = 10_000
/**
 * Work that the rules may do, in units of one to two ten-millionths of a second (`attribution/effort.ts`): to read all
 * texts, in one part such as a check, and in total. A part isn't interrupted, and ends within about a tenth of a
 * second.
 */
export const MAX_READING_EFFORT = 3_000_000
export const MAX_PART_EFFORT = 500_000
export const MAX_EVIDENCE_EFFORT = 5_000_000
/** Work between two pauses of a search, which let other requests run: about a hundredth of a second. */
export const PAUSE_EFFORT = 100_000
/** Scalars that the rules read in one value, and in all steps together. They're compared with each other. */
export const MAX_EVIDENCE_VALUE_LEAVES = 1000
export const MAX_EVIDENCE_LEAVES = 10_000
/** Items of one list, or fields of one object, that the rules read. */
export const MAX_EVIDENCE_ITEMS = 200
/** The path to such a scalar, which identifies it. */
export const MAX_EVIDENCE_PATH_LENGTH = 1024
/**
 * A longer run of letters and digits isn't a word but base64 or the like, and patterns would retry it at each letter.
 */
export const MAX_EVIDENCE_RUN_LENGTH = 512
/** The rules read only the latest corrections. */
export const MAX_EVIDENCE_CORRECTIONS = 50
/** An engine reads only the latest feedback. */
export const MAX_SUBJECT_FEEDBACK = 1000
/** The project's reviews searched for earlier decisions on the same input, and spans compared. */
export const MAX_PRECEDENT_REVIEWS = 500
export const MAX_PRECEDENTS = 50
/** How long a run keeps its job without renewing. If its worker died, another run then takes over. */
export const ATTRIBUTION_LEASE_MS = 60_000
/** How often a run renews its lease. Two renewals may fail. */
export const ATTRIBUTION_RENEW_MS = 20_000
/** How many times a job runs: the queue's first delivery and its retries. */
export const MAX_ATTRIBUTION_ATTEMPTS = 6
/** How long a request waits for a result. */
export const ATTRIBUTION_WAIT_MS = 25_000
/** How long a request leaves the job to the queue's consumer before it runs the job itself. */
export const ATTRIBUTION_CONSUMER_MS = 2000
/** The interval at which a waiting request polls the job: at first, and at most. */
export const MIN_ATTRIBUTION_POLL_MS = 50
export const MAX_ATTRIBUTION_POLL_MS = 500
/** The input sent to a model. With the answer, it fits the 24,000 tokens of Workers AI's larger models. */
export const MAX_PROMPT_TOKENS = 16_000
/** Error types' share of that, split equally. A project's own types must leave room for the trace. */
export const MAX_TYPES_TOKENS = 4000
/** Estimated bytes per token: English has four; JSON, ids, and other scripts have about three. */
export const BYTES_PER_TOKEN = 3
/** A model's answer, including its thinking. */
export const MAX_ANSWER_TOKENS = 6000
/** One call to a model. */
export const MODEL_CALL_MS = 60_000
/** A project's default limit of model calls per day, which cost a few dollars at most with the usual models. */
export const MODEL_DAILY_LIMIT = 500
/** A model reads only the clearest findings. */
export const MAX_PROMPT_FINDINGS = 50
/** Up to this many spans, the schema of a model's answer lists them. OpenAI allows 1,000 enum values in total. */
export const MAX_LISTED_SPANS = 50
/** Quotes of one answer to look up. */
export const MAX_QUOTES = 10
/** A quote. It only has to identify a place, not contain all of it. */
export const MAX_QUOTE_LENGTH = 500
/** A model's reasoning, which should be two to four sentences. */
export const MAX_REASONING_LENGTH = 2000

/** An OTLP export's body after decompression. The specification's 64 MiB wouldn't fit into an isolate's 128 MB. */
export const MAX_EXPORT_BYTES = 16 * 1024 * 1024
/** Spans or log records in one export. SDKs send 512 at once, collectors thousands. */
export const MAX_EXPORT_RECORDS = 10_000
/** Records written at once. More would block the database and take too much memory. */
export const MAX_WRITTEN_RECORDS = 1000
/** Records to read before other requests get a turn: a few milliseconds of work. */
export const RECORDS_PER_TURN = 100
/** This many attributes take as long to read as one more record. */
export const ATTRIBUTES_PER_RECORD = 50
/**
 * Messages and texts in one export, or items of its JSON. 16 MiB of spans have fewer, and an isolate can hold this
 * many.
 */
export const MAX_EXPORT_ITEMS = 1_500_000
/**
 * Attributes to read of one span, of its resource, of its events together, and of its links. SDKs keep 128, or 10,000
 * if conversations are spread over them.
 */
export const MAX_SPAN_ATTRIBUTES = 10_000
/** Messages of one exported value that are normalized. Longer conversations are stored as sent. */
export const MAX_CONVERSATION_MESSAGES = 10_000
/** Nesting of an attribute's value: half of what a stored value may have. */
export const MAX_ATTRIBUTE_DEPTH = 64
