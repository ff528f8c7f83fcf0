/*
 * Why a call of the store can fail through no mistake of the code. The store knows nothing of HTTP; `http/errors.ts` maps
 * these to answers.
 */

/** A part of the platform didn't answer. Whether a write took effect is unknown. */
export class Unanswered extends Error {
  readonly retryAfterSeconds: number

  constructor(retryAfterSeconds: number, cause: unknown) {
    super('the platform did not answer', { cause })
    this.name = 'Unanswered'
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** What a call was to change is gone since the request found it. */
export class Gone extends Error {
  override readonly name = 'Gone'
}

/** The caller has lost the right to do this since the request was let in. The message is for the caller. */
export class Revoked extends Error {
  override readonly name = 'Revoked'
}
