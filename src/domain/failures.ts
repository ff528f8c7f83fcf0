/* Expected failures of the store. The store knows nothing of HTTP; `http/errors.ts` maps these to responses. */

/** A part of the platform didn't answer. Whether a write took effect is unknown. */
export class Unanswered extends Error {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number, cause: unknown) {
    super('the platform did not answer', { cause })
    this.name = 'Unanswered'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The target of a write no longer exists, though the request found it before. */
export class Gone extends Error {
  override readonly name = 'Gone'
}

/** The caller lost the right to do this after the request was admitted. The message is for the caller. */
export class Revoked extends Error {
  override readonly name = 'Revoked'
}
