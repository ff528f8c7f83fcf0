/* What lists, searches, and responses show. */

/** The beginning of a trace's input or output in lists. A table shows a line or two. */
export const PREVIEW_LENGTH = 200
/** How much of each value is read for that preview. The text of a message begins after its other fields. */
export const PREVIEWED_LENGTH = 4096
/** The last inputs of a span that are read for that preview. They share `PREVIEWED_LENGTH`. */
export const PREVIEWED_INPUTS = 8
/** How many of a trace's observations, and of its spans, are searched for those inputs. A list shows 200 traces. */
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
 * In responses with previews, metadata and the state sent with a span are complete up to these sizes. The row of a
 * state in R2 keeps `KEPT_BYTES` of it, so a few such states fit.
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
/** A name that an output may use to cite a chunk. Longer strings are treated as text. */
export const MAX_LABEL_LENGTH = 300
/** Values of an output that are searched for citations. */
export const MAX_SOURCE_LEAVES = 10_000
/** Spans of a trace that may come before an output: as many as a response with a trace lists. */
export const MAX_SOURCE_CANDIDATES = 20_000
/**
 * How many of those spans are read: first the root and the output's other ancestors, then spans that retrieve, then the
 * latest ones. The values of this many spans fit in one page.
 */
export const MAX_SOURCE_SPANS = 12
/** Chunks in a response, and the bytes of each. The inbox loads the next items' chunks in advance. */
export const MAX_SOURCE_CHUNKS = 50
export const MAX_SOURCE_CHUNK_BYTES = 8192
/** Forms in which an output cites a chunk. Spaces and upper or lower case give the same label many forms. */
export const MAX_CITED_AS = 20
/** Knowledge docs in a response, and the characters of each and of the prompt. */
export const MAX_SOURCE_DOCS = 10
export const MAX_SOURCE_TEXT_LENGTH = 16_384
/** Labels of chunks that are looked up as docs. A chunk has a few. */
export const MAX_SOURCE_LABELS = 200
/** A page of a trace's raw observations: the default and the maximum. */
export const OBSERVATIONS_DEFAULT_LIMIT = 200
export const OBSERVATIONS_MAX_LIMIT = 1000
/** A page of prompts or knowledge docs ends early after this much text. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Traces that one page scans, so that a filter with few matches costs no more than a page's time. */
export const MAX_SCANNED_TRACES = 5000
/** Metadata that one page of groups reads and parses. This is ten times what 5,000 traces usually have. */
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
/** Traces whose costs one statement reads. To sort by cost, a page takes ten statements. */
export const SORTED_STEP_TRACES = 500
/** Decisions that one page scans, for the same reason as `MAX_SCANNED_TRACES`. */
export const MAX_SCANNED_DECISIONS = 5000
/** The length of the text to find. Shorter text is in almost every trace, and longer text takes longer to compare. */
export const MIN_SOUGHT_LENGTH = 3
export const MAX_SOUGHT_LENGTH = 200
/** The most that one page of a search by text looks at: traces or decisions, and bytes of their values. */
export const MAX_SEARCHED_TRACES = 500
export const MAX_SEARCHED_BYTES = 8 * 1024 * 1024
/** How much one round trip of a search reads. Other requests to the database wait for it. */
export const SEARCHED_BYTES_AT_ONCE = 1024 * 1024
export const SEARCHED_ROWS_AT_ONCE = 1000
/** What each row adds to its values' bytes, so that many small rows also end a page. */
export const SEARCHED_ROW_BYTES = 256
/** A trace's observations and comments that a search reads. It needs all of them to know which are current. */
export const MAX_SEARCHED_ROWS = 10_000
/** Matches that a hit shows. */
export const MAX_MATCHES = 3
/** The length of a match with the text around it, and the minimum length of the text on either side of a long match. */
export const SNIPPET_LENGTH = 160
export const CONTEXT_LENGTH = 40
/** Prompt versions that one filter lists. With more, a URL would be longer than some proxies accept. */
export const MAX_FILTERED_VERSIONS = 50
/** The newest decisions that name an error type. Attribution quality is computed from them. */
export const MAX_COMPARED_DECISIONS = 10_000
/** Days that insights cover: the default and the maximum, a leap year. */
export const DEFAULT_INSIGHT_DAYS = 30
export const MAX_INSIGHT_DAYS = 366
/** Entries in one list of insights. A year of ten steps with two versions each needs fewer. */
export const MAX_INSIGHT_ROWS = 10_000
/** Traces read to compare metadata filters, or to find a trace of a group that's listed. */
export const PROBED_TRACES = 1000
