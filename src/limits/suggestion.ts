/* Suggested versions of prompts. */

/** Corrected outputs that a model reads for one suggestion, the newest of the problem. */
export const MAX_SUGGESTION_EXAMPLES = 20
/** Changes in one suggestion. A person has to judge each. */
export const MAX_SUGGESTED_CHANGES = 20
/** The reason for a change, which should be one or two sentences. */
export const MAX_CHANGE_REASON_BYTES = 1024
/** A run of this many words that only a trace contains is copied from it. Shorter runs occur in many texts. */
export const MIN_COPIED_WORDS = 4
/**
 * How many of a problem's newest corrected outputs are searched for those corrections, and how many steps they may
 * belong to.
 */
export const MAX_SUGGESTION_CASES = 200
export const MAX_SUGGESTION_STEPS = 10
