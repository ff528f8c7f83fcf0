/** How to handle a platform fault. */
export interface Fault {
  /** Whether a second attempt within the same request may succeed. */
  retry: boolean
  /** How many seconds the client should wait before it retries the request. */
  retryAfterSeconds: number
}

/** An operation took longer than its caller could wait. Whether it took effect is unknown. */
export class TimedOut extends Error {
  constructor(ms: number) {
    super(`no response within ${ms} ms`)
    this.name = 'TimedOut'
  }
}

const TRANSIENT: Fault = { retry: true, retryAfterSeconds: 2 }
const STALLED: Fault = { retry: false, retryAfterSeconds: 5 }
const OVERLOADED: Fault = {
  retry: false,
  /**
   * A random delay of 1 to 5 seconds. If all clients retried at the same moment, they would cause the next overload.
   */
  get retryAfterSeconds() {
    return 1 + Math.floor(Math.random() * 5)
  },
}
const NOT_MIGRATED: Fault = { retry: false, retryAfterSeconds: 5 }
const UNKNOWN: Fault = { retry: false, retryAfterSeconds: 2 }

/** D1's and R2's error messages and how to handle each (Cloudflare docs, "Debug D1" and R2's "Error codes"). */
const FAULTS: readonly (readonly [words: string, fault: Fault])[] = [
  ['Network connection lost', TRANSIENT],
  ['reset because its code was updated', TRANSIENT],
  ['exceeded timeout which caused object to be reset', STALLED],
  ['storage caused object to be reset', TRANSIENT],
  ['Cannot resolve D1 DB due to transient issue', TRANSIENT],
  ['D1 DB is overloaded', OVERLOADED],
  ['Currently processing a long-running export', OVERLOADED],
  ['no such table', NOT_MIGRATED],
  ['no such column', NOT_MIGRATED],
  ['(10001)', TRANSIENT], // R2: internal error
  ['(10043)', TRANSIENT], // R2: service unavailable
  ['(10058)', OVERLOADED], // R2: too many writes to one object
]

/** D1's messages for an invalid statement. A retry can't help, so the error must surface as a 500. */
const STATEMENT_ERRORS: readonly string[] = [
  'constraint failed',
  'D1_TYPE_ERROR',
  'syntax error',
  'too many SQL variables',
  'statement too long',
  'SQLITE_TOOBIG',
  'string or blob too big',
  'LIKE or GLOB pattern too complex',
  'too many terms in compound SELECT',
  'Expression tree is too large',
  'malformed JSON',
  'memory limit',
  'CPU time limit',
]

/**
 * Classifies an error from a D1 or R2 binding by words in its message, because the bindings don't give error codes.
 * Returns undefined for a bug in our code. An error whose message is in neither table is treated as a fault, so that
 * the client gets a 503 and retries. A call that timed out or lost its connection may have taken effect.
 */
export function classifyFault(error: unknown): Fault | undefined {
  if (error instanceof TimedOut) return TRANSIENT
  const message = error instanceof Error ? error.message : String(error)
  const known = FAULTS.find(([words]) => message.includes(words))
  if (known) return known[1]
  return STATEMENT_ERRORS.some(words => message.includes(words)) ? undefined : UNKNOWN
}
