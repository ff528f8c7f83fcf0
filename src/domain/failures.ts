/* Expected failures of the store. The store doesn't depend on HTTP; `http/errors.ts` maps the failures to responses. */

/** A part of the platform didn't respond. Whether a write took effect is unknown. */
export class Unanswered extends Error {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number, cause: unknown) {
    super('the platform did not respond', { cause })
    this.name = 'Unanswered'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The target of a write no longer exists, although the request found it earlier. */
export class Gone extends Error {
  override readonly name = 'Gone'
}

/** The caller lost permission to do this after the request was admitted. The message is shown to the caller. */
export class Revoked extends Error {
  override readonly name = 'Revoked'
}
