import { DAY_MS } from './units.ts'

/* Datasets, exported files, and experiments. */

/** Paths in a dataset's evaluator, and the length of each. */
export const MAX_EVALUATOR_PATHS = 100
export const MAX_EVALUATOR_PATH_BYTES = 256
/** Leaves of a candidate's output that are compared with the expected value: about a tenth of a second of work. */
export const MAX_JUDGED_LEAVES = 100_000
/** Longer strings are free text. So are strings with whitespace, unless a schema lists them. */
export const MAX_STRICT_LENGTH = 64
/** Differences that one result shows, and fields that it reports on. Its row stores them. */
export const MAX_SHOWN_DIFFERENCES = 20
export const MAX_JUDGED_FIELDS = 50
/** Fields that an experiment's report lists. The others are added up. */
export const MAX_REPORTED_FIELDS = 200
/** Items of one experiment. Its report reads all of its results. */
export const MAX_EXPERIMENT_ITEMS = 10_000
/** Splits of an experiment's items. The experiment's counts have a part for each split and are stored in one row. */
export const MAX_EXPERIMENT_SPLITS = 100
export const MAX_GATE_AGE_DAYS = 3650
/** Items in the largest dataset that an experiment can be drawn from. */
export const MAX_WALKED_ITEMS = 100_000
/** Results in one call. */
export const MAX_RESULTS = 200
/** An experiment has failed if no result arrives for this long. */
export const EXPERIMENT_SILENCE_MS = DAY_MS
/** The same for an experiment that the model runs, which may wait a day for the project's next model calls. */
export const MODEL_RUN_SILENCE_MS = 2 * DAY_MS
/** Items that a model is asked about at the same time. If a run is killed, at most this many are asked about again. */
export const MODEL_RUN_CALLS = 8
/**
 * After this many items or this long, a run hands over to another one, so that other projects' jobs get their turn. An
 * invocation makes at most 1,000 queries, and each item takes about ten.
 */
export const MODEL_RUN_ITEMS = 48
export const MODEL_RUN_MS = 60_000
/** A model's prompt, with the item's values in it: about 64,000 tokens of English, or 85,000 of anything else. */
export const MAX_RUN_PROMPT_BYTES = 256 * 1024
/**
 * How many times an item is tried if the provider doesn't respond or returns a 5xx, and the first pause between tries.
 */
export const MODEL_RUN_TRIES = 3
export const MODEL_RUN_RETRY_MS = 1000
/** After this many items in a row without an answer, the run assumes that the provider is at fault, and stops. */
export const MODEL_RUN_FAILURES = 5
/** A run gives up once the provider has rejected this many requests as invalid and answered none. */
export const MODEL_RUN_REJECTIONS = 20
/** How long a run waits after a 429 without a `Retry-After`. */
export const MODEL_RUN_PAUSE_MS = 30_000
/** Tokens that a call uses besides its text: the chat template, and the sentence that asks the model to try again. */
export const MODEL_CALL_EXTRA_TOKENS = 1024
/** Results to count that one statement reads. */
export const COUNTED_RESULTS = 2500
/**
 * The size of the expected and candidate outputs that a model compares. They're never shortened, and the rest of
 * `MAX_PROMPT_TOKENS` is for the instructions and the input.
 */
export const MAX_JUDGED_TOKENS = 12_000
/** Results that a judging run reads at once, and results that it may ask a model about at the same time. */
export const JUDGED_PAGE = 100
export const JUDGE_CALLS_IN_FLIGHT = 8
/** How long one judging run asks the model before another run continues. */
export const JUDGE_RUN_MS = 5 * 60_000
/** A model's reason for a judgment, which should be one or two sentences. */
export const MAX_JUDGE_REASON_LENGTH = 500
/** A version of a dataset. It has a part of 20 characters for each step with the same name. */
export const MAX_VERSION_LENGTH = 4096
/** Imported examples in a dataset. */
export const MAX_IMPORTED_ITEMS = 10_000
/** Examples in one import. */
export const MAX_IMPORT = 200
/** Dataset items that one call looks at, so that one tenant's filter doesn't hold up others. */
export const MAX_LISTED_ITEMS = 5000
/** Items in one exported file, including those that a filter leaves out. */
export const MAX_FILE_ITEMS = MAX_LISTED_ITEMS
/**
 * The size of the values in one exported file, according to their rows. A Worker can stream that much within its CPU
 * time.
 */
export const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Values in R2 in one exported file, unless one item has more. A request may make 1,000 calls to D1 and R2. */
export const MAX_FILE_OBJECTS = 900
/**
 * Items of an exported file that are measured, or written, at once, and the bytes of their values. A full file takes
 * about 40 queries. The free plan allows 50.
 */
export const FILE_STEP_ITEMS = 500
export const FILE_PART_BYTES = 4 * 1024 * 1024
/** Like `FILE_STEP_ITEMS`, but for spans that are looked up in their traces, up to this many in each trace. */
export const FILE_STEP_SPANS = 200
/** A cursor for the next file. It contains the version, the CSV columns, and the last item's step. */
export const MAX_FILE_CURSOR_LENGTH = 14 * 1024
/** Columns for the fields of an output, and the length that their names take in a cursor. */
export const MAX_CSV_COLUMNS = 100
export const MAX_CSV_COLUMNS_LENGTH = 2000
/** If there's no `outputSchema`, the columns come from the first items, up to this many. */
export const CSV_SAMPLE_ITEMS = 200
/** Reviewed spans whose dataset items one statement brings up to date. */
export const SETTLED_SPANS = 50
