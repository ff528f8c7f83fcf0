/** Thrown if a call that reads, searches, or attributes fails. Calls that record never throw; they report a `Loss`. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  /** The HTTP status of the response. 0 if there was none. */
  readonly status: number
  /**
   * From the response: `not_found`, `not_authenticated`, `rate_limited`, ... The client adds `unreachable`,
   * `timed_out`, `invalid_answer`, `pending` (an attribution that isn't finished yet), `prompt_not_found`,
   * `dataset_not_found`, and `experiment_ended`.
   */
  readonly code: string
  /** The request's id in the service's logs. */
  readonly requestId: string | undefined
  /** The body of the response, if it's JSON. Its `details` name the fields to fix. */
  readonly body: unknown

  constructor(
    status: number,
    code: string,
    message: string,
    { requestId, body, cause }: { requestId?: string | undefined; body?: unknown; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.status = status
    this.code = code
    this.requestId = requestId
    this.body = body
  }
}

/**
 * The name and message of a thrown value. Never throws: an error's fields may be anything.
 * @internal
 */
export function describe(error: unknown): { name?: string; message: string } {
  try {
    return error instanceof Error
      ? { name: String(error.name), message: String(error.message) }
      : { message: String(error) }
  } catch {
    return { message: "An error that can't be printed" }
  }
}
