/* Requests, responses, and the shapes that endpoints share. */

/** The rest of a body, besides its long fields: ids, names, notes, timestamps. */
export const ENVELOPE_BYTES = 64 * 1024
/** Characters to parse, hash, or write before other requests get a turn: a few milliseconds of work. */
export const LENGTH_PER_TURN = 256 * 1024
/** The body of a call that has no larger limit of its own. */
export const MAX_BODY_BYTES = 256 * 1024
/** Truncated parts of one value that a response lists. */
export const MAX_NAMED_TRUNCATIONS = 10
/**
 * The nesting depth of a value. SQLite and structuredClone fail only at far greater depths, but recursive clients fail
 * sooner.
 */
export const MAX_JSON_DEPTH = 128
/** The nesting depth of a body, which bounds what parsing builds. Each value in it has its own, lower limit. */
export const MAX_BODY_DEPTH = 1000
/** Faults that one response lists, so that it can't grow longer than the request. */
export const MAX_ERROR_DETAILS = 20
/** How much of a field's path to show. A request may consist of a single long name. */
export const MAX_ERROR_PATH_LENGTH = 256
/** The name of a trace, organization, project, key, or person. A trace's name is also its root span's step id. */
export const MAX_NAME_LENGTH = 256
/** An email (RFC 5321: 64 + 1 + 255). */
export const MAX_EMAIL_LENGTH = 320
/**
 * A cursor. A name of 256 characters takes up to 4,100, because each can become two six-character escapes, in base64.
 */
export const MAX_CURSOR_LENGTH = 8192
export const PAGE_DEFAULT_LIMIT = 50
export const PAGE_MAX_LIMIT = 200
/** A bookmark of many databases, or several bookmarks. One database's point takes about 70 characters. */
export const MAX_BOOKMARK_LENGTH = 4096
