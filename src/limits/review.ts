/* Reviews, claims, suggestions, and views. */

/** Reviews in one call. */
export const MAX_REVIEWS = 200
/** A user's views, and shared views, in a project. The app lists all of them in a menu. */
export const MAX_OWN_VIEWS = 100
export const MAX_SHARED_VIEWS = 200
/** A view's URL query. Browsers and proxies handle URLs up to this length. */
export const MAX_VIEW_QUERY_LENGTH = 2000
/**
 * Bytes of outputs that a review call reads, parses, and hashes at once. Bounds an isolate's memory. One output always
 * fits.
 */
export const MAX_JUDGED_BYTES_AT_ONCE = 8 * 1024 * 1024
/** Agents that may suggest a decision on one span. */
export const MAX_SUGGESTIONS = 10
/**
 * Corrections and comments of votes that are read at once. Spans whose votes would exceed this size wait for the review
 * call's next round. One span's votes always fit.
 */
export const MAX_VOTE_BYTES = 4 * 1024 * 1024
/** How many bytes of suggestions, and of votes, a list of spans shows in full. A single span's response shows more. */
export const MAX_SUGGESTION_BYTES = 1024 * 1024
/** A message text that several spans share is reviewed only once if it has at least this many characters. */
export const MIN_SHARED_TEXT_LENGTH = 16
/** Longer outputs, as JSON, are never treated as the same text. Hashing them would delay other requests. */
export const MAX_SHARED_TEXT_LENGTH = 64 * 1024
/** Spans with the same text as their root that are considered, earliest first. */
export const MAX_SHARING_SPANS = 200
/** How many of a span's ancestors are followed to find how deep it is. */
export const MAX_SHARING_DEPTH = 100
/** Outputs that one review call checks in total. It leaves the rest to the next call. */
export const MAX_JUDGED_BYTES = 64 * 1024 * 1024
/** The count of spans left to review stops at this number. */
export const MAX_REMAINING = 10_000
/** Traces scanned for that count. A project may have any number of traces with nothing to review. */
export const MAX_COUNTED_TRACES = 20_000
/** Traces that are shuffled together. After these, the next ones are shuffled. */
export const SHUFFLED_TRACES = 5000
/** People who review one output. */
export const MAX_REVIEWERS = 5
/** Steps that have their own policy. A change sends them all, and a page shows them all. */
export const MAX_POLICY_STEPS = 200
/** How long a claim reserves a span for its reviewer. */
export const CLAIM_MS = 15 * 60_000
/** Spans that one call claims, renews, or releases. */
export const MAX_CLAIMS = 200
/** Spans that one call assigns. Each assignment writes three rows. */
export const MAX_ASSIGNED_SPANS = 1000
/** People that one call assigns spans to. */
export const MAX_ASSIGNEES = 20
/** A user's open assignments in a project. Any list of them sorts them all. */
export const MAX_OPEN_ASSIGNMENTS = 5000
/** A project's open assignments that the report on progress counts. */
export const MAX_COUNTED_ASSIGNMENTS = 20_000
/** Values that people may accept for an item besides the approved output. Each entry of the item's log repeats them. */
export const MAX_ALTERNATIVES = 20

/** Watches whose looks are stored at once. Each takes a statement, and up to five more for the previous version. */
export const WATCHES_AT_ONCE = 8

/** Resamples for an interval of agreement. With 2,000, the bounds vary little between seeds. */
export const RESAMPLES = 2000
/** The largest share of resamples in which a measure may be undefined. Above this share, there's no 95% interval. */
export const MAX_UNDEFINED_RESAMPLES = 0.05
/** Units or patterns to draw before other requests get a turn: a few milliseconds of work. */
export const RESAMPLED_PER_TURN = 100_000
/** Reviewers in the matrix of pairs, and steps, each with an interval. The page shows them all at once. */
export const MAX_COMPARED_REVIEWERS = 20
export const MAX_COMPARED_STEPS = 50
/**
 * The newest votes that agreement is computed from, and the newest outputs with votes: enough for five reviewers each.
 */
export const MAX_SCANNED_VOTES = 50_000
export const MAX_COMPARED_OUTPUTS = 10_000
/** How many of the outputs on which reviewers disagree most are shown next to the figures. */
export const MAX_DIFFERING_OUTPUTS = 20
/** How much of a comment a list of votes shows. The trace has the rest. */
export const SHOWN_COMMENT_LENGTH = 500
