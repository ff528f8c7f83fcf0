/* The Model Context Protocol: what agents send, and what they're shown. */

/** A message. Prompts and corrections that a model writes are far shorter. */
export const MAX_MESSAGE_BYTES = 1024 * 1024
/**
 * What a tool's answer shows, in each of its two forms: as text, and as structured content. That's about 16,000 tokens.
 * Clients cut off answers of 25,000.
 */
export const MAX_TOOL_ANSWER_BYTES = 48 * 1024
/** How much of an endpoint's response to parse for a tool's answer. Everything in it can be read by path and offset. */
export const MAX_TOOL_SOURCE_BYTES = 4 * 1024 * 1024
/** The places of shortened values in one answer, as JSON. */
export const MAX_SHORTENED_BYTES = 4 * 1024
/** The minimum space for each of many values. It's enough for any number, and for the beginning of a string. */
export const MIN_VALUE_BYTES = 64
/** A field's name. The pipeline chooses it, and it may be as long as a value. */
export const MAX_SHOWN_NAME_LENGTH = 256
/** Projects that an error lists. */
export const MAX_NAMED_PROJECTS = 100
/** Items on one page of a list. An answer has no room for many more. */
export const TOOL_PAGE_LIMIT = 20
