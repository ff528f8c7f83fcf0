/* Rate limits, keys, sessions, and caches. */

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
/**
 * Below this limit, tokens are taken one by one, because an unspent token in one isolate would deny a request in
 * another.
 */
export const MIN_LEASED_LIMIT = 100
/**
 * The smallest lease is this fraction of a minute's limit. That way, near the limit, all isolates together make only
 * about four calls a second to the limiter.
 */
export const SHARES_PER_MINUTE = 240
/** How long a denial lasts while leases are outstanding. A lease may be returned at any time. */
export const LEASED_OUT_RETRY_SECONDS = 1
/** Failed lookups of keys, sessions, and sign-in links that one isolate allows per address in 60 seconds. */
export const MAX_FAILED_LOOK_UPS = 60
/** How long an address with more failures is paused. Keys that the isolate has cached still work. */
export const LOOK_UP_PAUSE_MS = 10_000
/**
 * Lookups a second that a paused address still gets, because a new pipeline may share it with someone guessing keys.
 */
export const PAUSED_LOOK_UPS_PER_SECOND = 5
/**
 * How long to reject an unknown key without querying D1 again. Keys are random, so a new key never equals one that was
 * rejected.
 */
export const KEY_UNKNOWN_MS = 30_000
/** Longer strings are never keys and aren't cached as unknown, which keeps that cache small. */
export const MAX_SECRET_LENGTH = 64
/**
 * Calls a minute that one address may make, in one isolate, to an endpoint that queries D1 without a key. A health
 * probe calls every second.
 */
export const MAX_KEYLESS_CALLS = 120
/** How long a request waits for the rate limiter. After that, the request is allowed and isn't counted. */
export const LIMITER_TIMEOUT_MS = 250
/** How long requests skip the rate limiter after it couldn't be reached. */
export const LIMITER_PAUSE_MS = 1000
/** How long a key is cached before it's looked up again. This bounds how long a revoked key still works. */
export const KEY_FRESH_MS = 30_000
/** How long a cached key keeps working while D1 doesn't respond. */
export const KEY_STALE_MS = 10 * 60_000
/** How long a project is cached. This bounds how long a deleted project still works. */
export const PROJECT_FRESH_MS = KEY_FRESH_MS
/** Entries in each of an isolate's caches: keys, sessions, projects. */
export const ISOLATE_CACHE_ENTRIES = 5000
/**
 * How long an isolate serves active prompts and docs to pipelines from memory. Together with a request's duration, this
 * bounds how long another isolate's activation goes unseen: 15 seconds.
 */
export const NEAR_TEXTS_MS = 10_000
/** How much memory those prompts and docs may take up in an isolate, which has 128 MB. */
export const NEAR_TEXTS_BYTES = 8 * 1024 * 1024
/** One organization's share of that memory. A larger page isn't kept. */
export const NEAR_TEXTS_SHARE_BYTES = 1024 * 1024
/**
 * How long a request waits for Cloudflare Access's signing keys. After that, the request still needs time to query D1.
 */
export const ACCESS_CERTS_TIMEOUT_MS = 1000
/** `Retry-After` if those keys couldn't be fetched. */
export const ACCESS_CERTS_RETRY_SECONDS = 5
/** Organizations that an Access user can choose from. If there are more, the user has to name one. */
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
