interface JobErrorOptions {
  /** Whether another attempt would fail the same way. */
  isFinal: boolean
  /** How long to wait before another attempt, if the provider says so. */
  retryAfterSeconds?: number | undefined
}

/**
 * Why a job couldn't be done. The message is safe to store, log, and show: it never contains a key, a payload, or text
 * from a provider or model. There is no `cause` either, because a provider's error contains the request and may quote
 * the key. For errors of any other class, callers only learn that an error occurred.
 */
export class JobError extends Error {
  readonly isFinal: boolean
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { isFinal, retryAfterSeconds }: JobErrorOptions) {
    super(message)
    this.name = 'JobError'
    this.isFinal = isFinal
    this.retryAfterSeconds = retryAfterSeconds
  }
}
