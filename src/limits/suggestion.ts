/* Suggested versions of prompts. */

/** How many of a problem's newest corrected outputs a model reads for one suggestion. */
export const MAX_SUGGESTION_EXAMPLES = 20
/** Changes in one suggestion. A person has to judge each. */
export const MAX_SUGGESTED_CHANGES = 20
/** The reason for a change, which should be one or two sentences. */
export const MAX_CHANGE_REASON_BYTES = 1024
/**
 * This many words in a row count as copied if they otherwise occur only in a trace. Shorter runs occur almost
 * everywhere.
 */
export const MIN_COPIED_WORDS = 4
/**
 * How many of a problem's newest corrected outputs are searched for `train` items that a model can read, and how
 * many steps those outputs may belong to.
 */
export const MAX_SUGGESTION_CASES = 200
export const MAX_SUGGESTION_STEPS = 10
