/** Why a call that reads, searches or attributes has no answer. Writes throw none: what they lose is a `Loss`. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  /** The answer's HTTP status; 0 where there was no answer. */
  readonly status: number
  /**
   * As the answer names it: `not_found`, `not_authenticated`, `rate_limited`, ... The client's own are `unreachable`,
   * `timed_out`, `invalid_answer`, `pending` (an attribution that takes longer), `prompt_not_found` and
   * `project_id_missing`.
   */
  readonly code: string
  /** By which the service's logs name the request. */
  readonly requestId: string | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    { requestId, cause }: { requestId?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

/**
 * What an error says, whatever was thrown. Never throws: an error's fields may be anything.
 * @internal
 */
export function describe(error: unknown): { name?: string; message: string } {
  try {
    return error instanceof Error
      ? { name: String(error.name), message: String(error.message) }
      : { message: String(error) }
  } catch {
    return { message: 'An error that cannot be printed' }
  }
}
