/** Every limit of size, count and time, one constant a line with its reason. `BYTES` are of UTF-8, `LENGTH` is characters. */

export const DAY_MS = 24 * 3_600_000

/** One observation's `data` as JSON. D1 rows end at 2 MB, but large values live in R2; this bounds an isolate's memory. */
export const MAX_OBSERVATION_BYTES = 5 * 1024 * 1024
/** What may surround the long fields of a body: ids, names, notes, timestamps. */
export const ENVELOPE_BYTES = 64 * 1024
/** What bytes of text may take in a body: JSON lets each be spelled as an escape of six. */
export const escaped = (bytes: number): number => 6 * bytes
/** Events of one batch: each is a result in the answer. */
export const MAX_BATCH_EVENTS = 1000
/** Parts of the millisecond in which a batch arrives, one an event at least: their order is the order of arrival. */
export const ARRIVALS_A_MILLISECOND = 1024
/** Events that are parsed, or turned into rows, before other requests have a turn: some milliseconds of work. */
export const EVENTS_A_TURN = 100
/** Reviews of one call. */
export const MAX_REVIEWS = 200
/** Outputs that it reads, parses and hashes to judge them, at once, as an isolate holds them; one at least. */
export const MAX_JUDGED_BYTES_AT_ONCE = 8 * 1024 * 1024
/** Characters of values that are parsed, hashed or written before other requests have a turn: some milliseconds of work. */
export const LENGTH_A_TURN = 256 * 1024
/** Outputs that it judges in all before it leaves the rest to another call. */
export const MAX_JUDGED_BYTES = 64 * 1024 * 1024
/** A batch's body, which an isolate holds several times over: as bytes, text, values and rows. */
export const MAX_BATCH_BYTES = 8 * 1024 * 1024
/** A body that has no larger limit of its own. */
export const MAX_BODY_BYTES = 256 * 1024
/** A trace's metadata as JSON: it lies in the trace's row, which lists read whole. */
export const MAX_METADATA_BYTES = 64 * 1024
/** Metadata fields that one warning names: 64 KiB can spell thousands. */
export const MAX_NAMED_FIELDS = 100
/** Parts of one value that an answer names where it was cut to fit. */
export const MAX_CUTS_TOLD = 10
/** Nesting of a value. SQLite and structuredClone fail far above it, a recursive client far below those. */
export const MAX_JSON_DEPTH = 128
/** Nesting of a body: far above a value's, which is judged field by field, event by event; it bounds what parsing builds. */
export const MAX_BODY_DEPTH = 1000
/** The text of one retrieved chunk in a span's state: it tells what was found, and the span's output has it whole. */
export const MAX_CHUNK_BYTES = 4096
/** Faults that one answer names: it must not be longer than the request. */
export const MAX_ERROR_DETAILS = 20
/** What is shown of a field's path: a request may be made of one long name. */
export const MAX_ERROR_PATH_LENGTH = 256

/** A value whose JSON is larger goes to R2: a D1 row costs less than an R2 put, and D1's 10 GB are the scarcer space. */
export const INLINE_BYTES = 8 * 1024
/** What a row keeps of a value in R2, to show without fetching it. */
export const PREVIEW_BYTES = 256
/** R2 calls under way at once: a Worker has 6 connections. */
export const MAX_PARALLEL_CALLS = 6
/** Values of one page of a list: it ends before the item with which it would hold more, one item at least. */
export const MAX_PAGE_VALUE_BYTES = 8 * 1024 * 1024
/** Values of one trace, and spans, up to which its detail gives every value in full. */
export const MAX_DETAIL_BYTES = MAX_PAGE_VALUE_BYTES
export const MAX_WHOLE_SPANS = 2000
/** Spans of one answer, and bytes of them: what an isolate holds of a trace beside its other requests. */
export const MAX_DETAIL_SPANS = 20_000
export const MAX_DETAIL_ANSWER_BYTES = 16 * 1024 * 1024
/** Observations of a trace up to which its detail is read at once; more are read with their spans, some at a time. */
export const MAX_WHOLE_OBSERVATIONS = 10_000
/** What is read of a large trace at once: while its parts are awaited, other requests have their turn. */
export const DETAIL_PART_BYTES = 2 * 1024 * 1024
export const DETAIL_PART_SPANS = 2000
/** A span's own detail gives so much of its values in full. */
export const MAX_SPAN_BYTES = 16 * 1024 * 1024
/** Values of one span that are read, outputs and inputs first: each is at least a preview and a name. */
export const MAX_SPAN_VALUES = 20_000
/** Metadata, and state that was sent with a span, up to which they are shown where values are cut to previews. */
export const MAX_BRIEF_METADATA_BYTES = 1024
export const MAX_BRIEF_STATE_BYTES = 4096
/** Values that one answer fetches from R2, six at a time. */
export const MAX_DETAIL_OBJECTS = 1000
/** Approved outputs of one answer that are given in full, of those that lie in their rows. */
export const MAX_DETAIL_APPROVED_BYTES = 8 * 1024 * 1024
/** Feedback of one detail, the oldest first. */
export const MAX_DETAIL_FEEDBACK = 1000
/** Comments and corrections of one detail that are given in full, as JSON spells them. */
export const MAX_DETAIL_FEEDBACK_BYTES = 4 * 1024 * 1024
/** Rows on their way to `json_each`, as one JSON array: D1 takes a bound string of 2,000,000 bytes, and locally more. */
export const MAX_ARRAY_BYTES = 1_500_000

/** Metadata leaves that are searchable: each is a row written. */
export const MAX_SEARCHABLE_FIELDS = 64
/** A searchable leaf's dotted path. */
export const MAX_FIELD_PATH_BYTES = 256
/** A longer searchable value is compared by its SHA-256, so that index rows stay small. */
export const MAX_FIELD_VALUE_BYTES = 256

/** A `trace_id`, `trace_` included. */
export const MAX_TRACE_ID_LENGTH = 128
/** A name of a trace, organization, project, key or person. A trace's is its root span's step id. */
export const MAX_NAME_LENGTH = 256
/** A state observation's key. */
export const MAX_STATE_KEY_LENGTH = 256
/** States of one exported span: they lie in its row, which travels in a parameter of 2,000,000 bytes, a quote as 8 of them. */
export const MAX_EXPORTED_STATES = 50
/** A `feedback_id`. */
export const MAX_FEEDBACK_ID_LENGTH = 128
/** A comment. */
export const MAX_COMMENT_LENGTH = 16 * 1024
/** A correction as JSON: it lies in the feedback's row. */
export const MAX_CORRECTION_BYTES = 128 * 1024
/** One version of a prompt or a knowledge doc: it lies in its row, and lists show it. */
export const MAX_CONTENT_BYTES = 256 * 1024
/** A prompt version's `outputSchema` as JSON. */
export const MAX_SCHEMA_BYTES = 64 * 1024
/** What checking values against their `outputSchema`s may take in one request: about an eighth of a second of work. */
export const MAX_SCHEMA_OPERATIONS = 4_000_000
/** Schemas that may apply to one value at once, by references and combinations: doubled 30 times, they would be 10^9. */
export const MAX_SCHEMA_APPLICATIONS = 10_000
/** Schemas within each other that apply to one value, and those on the way to the innermost part of a value: the stack ends. */
export const MAX_SCHEMA_CHAIN = 100
export const MAX_SCHEMA_DEPTH = 1000
/** States of all patterns of a schema: `a{1000}` is a thousand. */
export const MAX_PATTERN_STATES = 10_000
/** Groups of a pattern within each other. */
export const MAX_PATTERN_DEPTH = 100
/** Lookarounds of a pattern: each is a bit for every character. */
export const MAX_PATTERN_LOOKS = 8
/** States that one pattern remembers having been in together. */
export const MAX_PATTERN_CACHE = 20_000
/** A text past which its format isn't checked: a URI may hold megabytes of data. */
export const MAX_FORMAT_LENGTH = 4096
/** What is shown of an `enum` or `const` that a value doesn't match. */
export const MAX_CHOICES_LENGTH = 256
/** All versions of one prompt or knowledge doc together, as JSON spells them: its detail shows every one. */
export const MAX_VERSIONS_BYTES = 8 * 1024 * 1024
/** What a version counts for besides its texts: its ids, time and field names take that much of a detail. */
export const VERSION_BYTES = 256
/** Lines removed and added up to which a diff is looked for: what it remembers on the way grows with their square. */
export const MAX_DIFF_EDITS = 700
/** Edits times lines of both versions, for the same: a diff may compare them so often, in about a tenth of a second. */
export const MAX_DIFF_STEPS = 10_000_000
/** A path in a schema's diff below which nothing is told apart: places are many, and each one names its path. */
export const MAX_DIFF_PATH_LENGTH = 256
/** Why a version was made. */
export const MAX_NOTE_LENGTH = 1024
/** An error type's `error_type`. */
export const MAX_ERROR_TYPE_LENGTH = 64
/** When an error type is the cause: engines read every type's. */
export const MAX_RULE_LENGTH = 1024
/** Error types of a project's own: they are listed at once, and engines choose among all. */
export const MAX_PROJECT_ERROR_TYPES = 100
/** An e-mail (RFC 5321: 64 + 1 + 255). */
export const MAX_EMAIL_LENGTH = 320

export const SEARCH_DEFAULT_LIMIT = 10
export const SEARCH_MAX_LIMIT = 100
/** Each filter is one more index look-up per hit. */
export const MAX_SEARCH_FILTERS = 10
/** A cursor: a name of 256 characters takes 4,100, each of them an escape of 6 for each half, in base64. */
export const MAX_CURSOR_LENGTH = 8192
export const PAGE_DEFAULT_LIMIT = 50
export const PAGE_MAX_LIMIT = 200
/** A page of a trace's raw observations, by default and at most. */
export const OBSERVATIONS_DEFAULT_LIMIT = 200
export const OBSERVATIONS_MAX_LIMIT = 1000
/** A page of prompts or knowledge docs ends early after this much text. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Traces that a page looks at, so that a filter which few of them match costs one page's time. */
export const MAX_SCANNED_TRACES = 5000
/** Up to which the spans that remain to be reviewed are counted. */
export const MAX_REMAINING = 10_000
/** Traces that are looked through for that: a project may have any number of traces with nothing to review. */
export const MAX_COUNTED_TRACES = 20_000
/** Traces among which a random order draws; the next ones follow when these are through. */
export const SHUFFLED_TRACES = 5000
/** How long a span is held for review. */
export const CLAIM_MS = 15 * 60_000
/** Spans that one call claims, renews or releases. */
export const MAX_CLAIMS = 200
/** Entries of the audit log that a page looks at, for the same reason. */
export const MAX_SCANNED_ENTRIES = 5000
/** Decisions that name an error type, of which the quality of attribution is taken: the newest ones. */
export const MAX_COMPARED_DECISIONS = 10_000
/** Days that insights cover, by default and at most: a leap year. */
export const DEFAULT_INSIGHT_DAYS = 30
export const MAX_INSIGHT_DAYS = 366
/** Entries of one list of insights: a year of ten steps with two versions each has fewer. */
export const MAX_INSIGHT_ROWS = 10_000
/** Traces counted to tell which of several metadata filters matches the fewest. */
export const PROBED_TRACES = 1000

export const DEFAULT_RATE_LIMIT_PER_MINUTE = 6000
/** How long a rotated key may live on beside its successor. */
export const MAX_ROTATION_GRACE_SECONDS = 30 * 24 * 3600
/** Far above what one D1 takes, and far below where a header's integers end (15 digits). */
export const MAX_RATE_LIMIT_PER_MINUTE = 1_000_000
/** The window in which requests are counted. */
export const WINDOW_SECONDS = 60
/** How long an isolate may spend the tokens that it took: a lease that never comes back counts as long after its end. */
export const LEASE_SECONDS = 10
/** What an isolate takes first, and at least: a few requests a minute should not ask for each. */
export const FIRST_LEASE_TOKENS = 8
/** A lease spent in less is followed by one of twice as many tokens. */
export const BUSY_LEASE_MS = 3000
/** Below it tokens are taken one by one: a token that lies unspent in one isolate is denied in another. */
export const MIN_LEASED_LIMIT = 100
/** Leases of the smallest size in a minute's limit: near the limit, isolates ask about four times a second in all. */
export const SHARES_A_MINUTE = 240
/** How long a denial stands while leases are out, any of which may come back. */
export const UNRETURNED_RETRY_SECONDS = 1
/** Failed look-ups of keys, sessions, and sign-in links that one address may cause in 60 seconds, in one isolate. */
export const MAX_FAILED_LOOK_UPS = 60
/** How long an address with more of them waits for keys that the isolate doesn't know. */
export const LOOK_UP_PAUSE_MS = 10_000
/** Look-ups a second that pass all the same: a newly deployed pipeline may share its address with whoever guesses keys. */
export const PAUSED_LOOK_UPS_A_SECOND = 5
/** How long a key that D1 doesn't know is refused without asking again. New keys are random, so none is ever among them. */
export const KEY_UNKNOWN_MS = 30_000
/** A longer text is no key; it isn't remembered as unknown, so that a cache of such texts stays small. */
export const MAX_SECRET_LENGTH = 64
/** Calls a minute that one address may make of an endpoint without a key where they ask D1, in one isolate: a probe asks every second. */
export const MAX_OPEN_CALLS = 120
/** How long a request waits for the limiter before it goes through uncounted. */
export const LIMITER_TIMEOUT_MS = 250
/** How long requests go through without asking after the limiter could not be reached. */
export const LIMITER_PAUSE_MS = 1000

/** How long a request waits for D1 and R2 in all: clients give up at 5 s. */
export const STORE_DEADLINE_MS = 4000
/** One attempt at one D1 or R2 call, so that a second one fits. */
export const STORE_ATTEMPT_MS = 1800
/** The same for an export, which may be thousands of rows: exporters wait for 10 s. */
export const EXPORT_DEADLINE_MS = 8000
export const EXPORT_ATTEMPT_MS = 4500
/** A key known to this isolate waits no longer for its refresh: the stale answer serves as well. */
export const REFRESH_TIMEOUT_MS = 500
/** When a client should send again what ran past its deadline. */
export const PAST_DEADLINE_RETRY_SECONDS = 2
/** A shorter attempt would only add load. */
export const MIN_STORE_ATTEMPT_MS = 200
/** How long a write waits at most before it is computed again because another came first: at first, and after several times. */
export const FIRST_GIVE_WAY_MS = 25
export const MAX_GIVE_WAY_MS = 800
/** How long a job waits for D1 and R2 in all: no client is waiting, but a delivery ends after 15 minutes. */
export const JOB_DEADLINE_MS = 5 * 60_000
/** One attempt of a job at one D1 or R2 call: D1 ends a statement after 30 s. */
export const JOB_ATTEMPT_MS = 30_000

/** A key is looked up again after this: it bounds how long a revoked key lives on. */
export const KEY_FRESH_MS = 30_000
/** While D1 is silent, a known key goes on this long. */
export const KEY_STALE_MS = 10 * 60_000
/** How long a project is remembered: it bounds how long one that was deleted elsewhere is known. */
export const PROJECT_FRESH_MS = KEY_FRESH_MS
/** Entries of an isolate's memory of keys, of sessions and of projects. */
export const ISOLATE_CACHE_ENTRIES = 5000
/** How long a request waits for the keys of Cloudflare Access, which D1 is still to be asked after. */
export const ACCESS_CERTS_TIMEOUT_MS = 1000
/** When a client should send again what had to do without them. */
export const ACCESS_CERTS_RETRY_SECONDS = 5
/** Organizations that somebody whom Cloudflare Access let in can choose from; to be of more, they name one themselves. */
export const MAX_LISTED_MEMBERSHIPS = 100
/** How long a browser stays signed in: a day's work. */
export const SESSION_SECONDS = 12 * 3600
/** How long a sign-in link waits to be opened, where its maker does not say; the least and the most that may be said. */
export const SIGN_IN_LINK_SECONDS = 900
export const MIN_SIGN_IN_LINK_SECONDS = 60
export const MAX_SIGN_IN_LINK_SECONDS = 3600
/** Projects that a session lists, to choose from; there is a paged list of all. */
export const MAX_SESSION_PROJECTS = 1000
/** Ids that one call asks the names of: a page's reviewers, in a URL of 4 KB. */
export const MAX_REVIEWER_IDS = 100

/** Rows that a purge deletes in one statement: some tens of milliseconds, in which the database answers nobody else. */
export const PURGE_ROWS = 1000
/** Parts of one purge before it is handed on: with its fixed statements it stays under the free plan's 50 an invocation. */
export const PURGE_STEPS = 30
/** A deletion that no job has worked on for this long is sent to the queue again. */
export const RESEND_AFTER_MS = 60_000
/** Deletions that one cron run sends again; it does only one itself where there is no queue, for the same 50 queries. */
export const RESEND_BATCH = 100
/** Traces of which one step of retention looks at the oldest; as many messages one call of the queue takes. */
export const RETENTION_TRACES = 100
/** Steps of one cron run: 800 traces a minute, in under the free plan's 50 queries an invocation. */
export const RETENTION_STEPS = 8
/** How long after the end of one pass over all projects the next one begins. */
export const RETENTION_PASS_MS = 3_600_000
/** The longest `retentionDays`; null keeps traces for good. */
export const MAX_RETENTION_DAYS = 3650
/** How long a trace that is known from telemetry alone waits for its root, after the last span came. */
export const ROOT_WAIT_MS = 10 * 60_000
/** The same where some span's parent is in another process, which may send its spans elsewhere or none. */
export const REMOTE_ROOT_WAIT_MS = 60_000
/** Traces that one step of closing those completes whose root did not come, and steps of one cron run. */
export const CLOSED_TRACES = 500
export const CLOSING_STEPS = 6
/** Messages that one call of the queue takes. */
export const MAX_QUEUE_BATCH = 100
/** The longest delay before a job that failed is tried again. */
export const MAX_RETRY_DELAY_SECONDS = 3600
/** An object that no row names is removed once it is older than this: by then the request that put it is over. */
export const ORPHAN_AGE_MS = DAY_MS
/** Objects that one cron run compares with the rows; R2 lists 1,000 at most. */
export const ORPHAN_PAGE = 500
/** Traces whose rows one statement reads for that. */
export const ORPHAN_TRACES = 50
/** How long after the end of one pass over all objects the next one begins. */
export const ORPHAN_PASS_MS = DAY_MS
/** How long the audit log keeps an entry where the deployment does not say: long enough for a year's audit. */
export const AUDIT_RETENTION_DAYS = 365
/** Entries that one cron run deletes. */
export const AUDIT_SWEEP_ROWS = 5000
/** Organizations whose entries one cron run looks at: each is a seek. */
export const AUDIT_SWEEP_ORGANIZATIONS = 500
/** Sessions, and sign-in links, past their time that one cron run deletes. */
export const SESSION_SWEEP_ROWS = 5000
/** Traces, and rows of counts or of the audit log, whose user a job changes in one piece; and pieces before it is handed on. */
export const DELETION_TRACES = 500
export const DELETION_ROWS = 5000
export const DELETION_STEPS = 30
/**
 * After this no isolate lets in a key that was revoked or remembers a project that was deleted. What was written meanwhile is
 * looked for: a deleted user's records, and what belongs to a deleted project.
 */
export const DELETION_SETTLE_MS = KEY_STALE_MS + 60_000
/** Traces of a deleted project that one step deletes: as many messages one call of the queue takes. */
export const PROJECT_PURGE_TRACES = MAX_QUEUE_BATCH
/** Statements of one job of such a purge before it is handed on, for the free plan's 50 queries an invocation. */
export const PROJECT_PURGE_STEPS = 40
/** Versions of prompts and knowledge docs that one of them deletes: each holds up to 320 KB. */
export const PROJECT_PURGE_VERSIONS = 200
/** Traces in which one piece looks for records of labellers, pieces a minute, labellers that one deletes at the end. */
export const LABELLER_TRACES = 500
export const LABELLER_STEPS = 8
export const LABELLER_DELETE_ROWS = 1000
/** How long until labellers are looked for again once nothing was left to do. */
export const LABELLER_PASS_MS = 15 * 60_000
/** How long after the end of one pass over all organizations' entries the next one begins. */
export const AUDIT_PASS_MS = DAY_MS

/** New traces whose days one cron run notes: a row read each. */
export const NOTED_TRACES = 10_000
/** How long after its key was made a trace is there for good: a request ends sooner, and clocks differ by less. */
export const NOTING_DELAY_MS = 30_000
/** Traces that one cron run counts the outputs of, and days that share them. */
export const COUNTED_TRACES = 3000
export const COUNTED_DAYS = 20
/** Steps of a project and day that are counted one by one: names of steps are the client's, and a trace may have its own. */
export const MAX_COUNTED_STEPS = 500
/** How long a day that a run has taken is left to it. */
export const COUNT_LEASE_MS = 60_000
/**
 * How long a day rests after it was counted: 5 seconds for each trace, from 5 minutes up to an hour. What is read so stays
 * well below the free plan's 5 million rows a day, for as many traces as its other limits allow in any number of projects.
 */
export const COUNT_REST_A_TRACE_MS = 5000
export const MIN_COUNT_REST_MS = 5 * 60_000
export const MAX_COUNT_REST_MS = 3_600_000

/** Spans of a trace that an engine is shown. */
export const MAX_SUBJECT_SPANS = 400
/** Spans among which these are chosen: a row of a few ids each. */
export const MAX_SUBJECT_CANDIDATES = 20_000
/** Values of these spans together, and each; what is larger says little to an engine, and an isolate has 128 MB. */
export const MAX_SUBJECT_BYTES = 4 * 1024 * 1024
export const MAX_SUBJECT_VALUE_BYTES = 256 * 1024
/** Prompts that an engine is shown, together; and knowledge docs likewise. */
export const MAX_SUBJECT_TEXT_BYTES = 4 * 1024 * 1024
/** Knowledge docs that an engine is shown. */
export const MAX_SUBJECT_DOCS = 1000
/** Knowledge docs among which these are chosen. */
export const MAX_SUBJECT_DOC_CANDIDATES = 10_000
/** Characters of steps, and of knowledge docs, that the rules take apart. */
export const MAX_EVIDENCE_LENGTH = 512 * 1024
/** Numbers, dates and identifiers of one text that the rules know: each takes some 200 bytes. */
export const MAX_TEXT_FACTS = 10_000
/**
 * Steps of one or two ten-millionths of a second (`attribution/effort.ts`) that the rules may do to read all texts; in a part,
 * such as one check, which nothing interrupts; and in all. So a part ends within about a tenth of a second.
 */
export const MAX_READING_EFFORT = 3_000_000
export const MAX_PART_EFFORT = 500_000
export const MAX_EVIDENCE_EFFORT = 5_000_000
/** Steps after which a search lets other requests go first: about a hundredth of a second. */
export const PAUSE_EFFORT = 100_000
/** Scalars of one value that the rules look at, and of all steps together: they compare them with each other. */
export const MAX_EVIDENCE_VALUE_LEAVES = 1000
export const MAX_EVIDENCE_LEAVES = 10_000
/** Items of one list, or fields of one object, that they look at. */
export const MAX_EVIDENCE_ITEMS = 200
/** Nested names that lead to such a scalar: its path identifies it. */
export const MAX_EVIDENCE_PATH_LENGTH = 1024
/** A run of letters and digits past which it is no word: base64 and the like, which patterns try again at each letter. */
export const MAX_EVIDENCE_RUN_LENGTH = 512
/** Corrections that they look at, the latest. */
export const MAX_EVIDENCE_CORRECTIONS = 50
/** Feedback that an engine is shown, the latest. */
export const MAX_SUBJECT_FEEDBACK = 1000
/** Reviews of the project that are looked through for earlier decisions on the same input, and spans that are compared. */
export const MAX_PRECEDENT_REVIEWS = 500
export const MAX_PRECEDENTS = 50
/** How long a run holds its job without a sign of life: one whose worker died is done again after that. */
export const ATTRIBUTION_LEASE_MS = 60_000
/** How often a run renews it: two renewals may fail. */
export const ATTRIBUTION_RENEW_MS = 20_000
/** How often a job is tried: the queue's first delivery and its retries. */
export const MAX_ATTRIBUTION_ATTEMPTS = 6
/** How long a request waits for a result. */
export const ATTRIBUTION_WAIT_MS = 25_000
/** How long it leaves the job to the queue's consumer before it does it itself. */
export const ATTRIBUTION_CONSUMER_MS = 2000
/** How long it waits between two looks at the job, at first and at last. */
export const MIN_ATTRIBUTION_POLL_MS = 50
export const MAX_ATTRIBUTION_POLL_MS = 500
/** What a model is sent: with its answer, it fits the 24,000 tokens that Workers AI's larger models read. */
export const MAX_PROMPT_TOKENS = 16_000
/** What error types may take of that, each a like part: a project's own leave room for what they are to be told of. */
export const MAX_TYPES_TOKENS = 4000
/** Bytes that count as a token: English has four, and JSON, ids and other scripts about three. */
export const BYTES_A_TOKEN = 3
/** What a model may answer, with what it thinks before. */
export const MAX_ANSWER_TOKENS = 6000
/** One call of a model. */
export const MODEL_CALL_MS = 60_000
/** Calls of a model for a project on a day, where the deployment does not say: a few dollars at most with the usual models. */
export const MODEL_DAILY_LIMIT = 500
/** Findings that a model is told: the clearest. */
export const MAX_PROMPT_FINDINGS = 50
/** Spans up to which the schema of a model's answer lists them; OpenAI takes enums of 1,000 values in all. */
export const MAX_LISTED_SPANS = 50
/** Quotes of one answer that are looked up. */
export const MAX_QUOTES = 10
/** A quote: what shows the place, not all of it. */
export const MAX_QUOTE_LENGTH = 500
/** A model's reasoning, meant to be two to four sentences. */
export const MAX_REASONING_LENGTH = 2000

/** An OTLP export's body, after decompression: the specification's 64 MiB do not fit an isolate's 128 MB. */
export const MAX_EXPORT_BYTES = 16 * 1024 * 1024
/** Spans, or log records, of one export: SDKs send 512 at once, a collector thousands. */
export const MAX_EXPORT_RECORDS = 10_000
/** Records that are written at once: the rows of more would hold up the database, and lie in memory together. */
export const MAX_WRITTEN_RECORDS = 1000
/** Records that are read before other requests have a turn: some milliseconds of work. */
export const RECORDS_A_TURN = 100
/** So many attributes are as much work to read as a record besides. */
export const ATTRIBUTES_A_RECORD = 50
/** Messages and texts of one export, or items of its JSON: 16 MiB of spans have fewer, and an isolate holds so many. */
export const MAX_EXPORT_ITEMS = 1_500_000
/**
 * Attributes of one span that are read, of its resource, of its events together, and of its links: SDKs keep 128, or 10,000 where
 * conversations are spread over them.
 */
export const MAX_SPAN_ATTRIBUTES = 10_000
/** Messages of one exported value that are brought into one form: longer conversations stay as they came. */
export const MAX_CONVERSATION_MESSAGES = 10_000
/** Nesting of an attribute's value: half of what a value of ours may have. */
export const MAX_ATTRIBUTE_DEPTH = 64
