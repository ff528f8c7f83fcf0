/* What engines read, and how they run. */

/** Spans of a trace that an engine reads. */
export const MAX_SUBJECT_SPANS = 400
/** Candidates for those spans. Each costs a row of a few ids. */
export const MAX_SUBJECT_CANDIDATES = 20_000
/**
 * The size of those spans' values, in total and for each value. Larger values add little, and an isolate has 128 MB.
 */
export const MAX_SUBJECT_BYTES = 4 * 1024 * 1024
export const MAX_SUBJECT_VALUE_BYTES = 256 * 1024
/** The total size of the prompts that an engine reads, and of the knowledge docs. */
export const MAX_SUBJECT_TEXT_BYTES = 4 * 1024 * 1024
/** Knowledge docs that an engine reads. */
export const MAX_SUBJECT_DOCS = 1000
/** Candidates for those knowledge docs. */
export const MAX_SUBJECT_DOC_CANDIDATES = 10_000
/** Characters that the rules analyze in steps, and in knowledge docs. */
export const MAX_EVIDENCE_LENGTH = 512 * 1024
/** Numbers, dates, and identifiers that the rules keep per string. Each takes about 200 bytes. */
export const MAX_TEXT_FACTS = 10_000
/**
 * Work that the rules may do, in units of 100 to 200 nanoseconds (`attribution/effort.ts`): to read all values, in one
 * part such as a check, and in total. A part isn't interrupted. It finishes within about a tenth of a second.
 */
export const MAX_READING_EFFORT = 3_000_000
export const MAX_PART_EFFORT = 500_000
export const MAX_EVIDENCE_EFFORT = 5_000_000
/** Work between two pauses in a search: about a hundredth of a second. Other requests run during the pauses. */
export const PAUSE_EFFORT = 100_000
/** Scalars that the rules read in one value, and in all steps together. They're compared with each other. */
export const MAX_EVIDENCE_VALUE_LEAVES = 1000
export const MAX_EVIDENCE_LEAVES = 10_000
/** Items of one list, or fields of one object, that the rules read. */
export const MAX_EVIDENCE_ITEMS = 200
/** The path that identifies a scalar. */
export const MAX_EVIDENCE_PATH_LENGTH = 1024
/**
 * A longer run of letters and digits isn't a word but base64 or the like, and patterns would retry it at each letter.
 */
export const MAX_EVIDENCE_RUN_LENGTH = 512
/** The rules read only the latest corrections. */
export const MAX_EVIDENCE_CORRECTIONS = 50
/** An engine reads only the latest feedback. */
export const MAX_SUBJECT_FEEDBACK = 1000
/** The project's reviews that are searched for earlier decisions on the same input, and the spans that are compared. */
export const MAX_PRECEDENT_REVIEWS = 500
export const MAX_PRECEDENTS = 50
/** How long a run keeps its job without renewing its lease. If its worker died, another run then takes over. */
export const ATTRIBUTION_LEASE_MS = 60_000
/** How often a run renews its lease. Two renewals may fail. */
export const ATTRIBUTION_RENEW_MS = 20_000
/** How many times a job runs: the queue's first delivery and its retries. */
export const MAX_ATTRIBUTION_ATTEMPTS = 6
/** How long a request waits for a result. */
export const ATTRIBUTION_WAIT_MS = 25_000
/** How long a request leaves the job to the queue's consumer before it runs the job itself. */
export const ATTRIBUTION_CONSUMER_MS = 2000
/** The first and the longest interval at which a waiting request polls the job. */
export const MIN_ATTRIBUTION_POLL_MS = 50
export const MAX_ATTRIBUTION_POLL_MS = 500
/**
 * The input sent to a model. Together with the answer, it fits into the 24,000 tokens of Workers AI's larger models.
 */
export const MAX_PROMPT_TOKENS = 16_000
/**
 * The share of those tokens for error types, split equally among them. A project's own types must leave room for the
 * trace.
 */
export const MAX_TYPES_TOKENS = 4000
/** Estimated bytes per token: English has four; JSON, ids, and other scripts have about three. */
export const BYTES_PER_TOKEN = 3
/** A model's answer, including its thinking. */
export const MAX_ANSWER_TOKENS = 6000
/** Like `ATTRIBUTION_LEASE_MS`, but for any other job that asks a model. */
export const MODEL_JOB_LEASE_MS = 60_000
/** How often such a run renews its lease. Canceling the job ends its calls within this time. */
export const MODEL_JOB_RENEW_MS = 5000
/** How many times in a row such a job may fail or be cut off. */
export const MAX_MODEL_JOB_ATTEMPTS = 6
/** The longest that the queue delays a waiting job's message. Longer waits end when cron finds the job. */
export const MAX_MODEL_JOB_DELAY_SECONDS = 900
/** One call to a model. */
export const MODEL_CALL_MS = 60_000
/** A project's default limit on model calls per day, which cost a few dollars at most with the usual models. */
export const MODEL_DAILY_LIMIT = 500
/** A model reads only the clearest findings. */
export const MAX_PROMPT_FINDINGS = 50
/** The name of a step or speaker in the outline of a long run, which has up to `MAX_SUBJECT_SPANS` lines. */
export const MAX_OUTLINE_NAME_BYTES = 64
/** If there are more spans, the schema of a model's answer lists none. OpenAI allows 1,000 enum values in total. */
export const MAX_LISTED_SPANS = 50
/** Quotes from one answer that are looked up. */
export const MAX_QUOTES = 10
/** A quote. It only has to identify a passage, not contain all of it. */
export const MAX_QUOTE_LENGTH = 500
/** A model's reasoning, which should be two to four sentences. */
export const MAX_REASONING_LENGTH = 2000
