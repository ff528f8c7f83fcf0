import { JobError } from '../domain/job-error.ts'
import { MAX_RETRY_DELAY_SECONDS } from '../limits.ts'

/**
 * An error from the provider. `status` is undefined if it sent no response, so nobody knows whether the call was
 * billed.
 */
export class ProviderError extends JobError {
  readonly status: number | undefined

  constructor(
    message: string,
    { status, ...options }: ConstructorParameters<typeof JobError>[1] & { status: number | undefined },
  ) {
    super(message, options)
    this.name = 'ProviderError'
    this.status = status
  }
}

/** An error caused by a setting. The error is final, because the operator has to fix the setting first. */
export const misconfigured = (message: string) => new JobError(message, { isFinal: true })

/** Statuses that a retry of the same request would return again. */
const FINAL_STATUSES: readonly number[] = [400, 405, 406, 413, 415, 422]
/** Hints at what to fix, such as the key, its permissions, or the model's name. */
const STATUS_HINTS: Readonly<Record<number, string>> = {
  400: 'it may not support JSON schemas, or the prompt is too long',
  401: 'check ATTRIBUTION_API_KEY',
  403: 'check the permissions of ATTRIBUTION_API_KEY',
  404: 'check ATTRIBUTION_MODEL and ATTRIBUTION_BASE_URL',
  413: 'the prompt is too long',
  429: 'too many requests',
}

/** Builds the error for a provider's response. `status` is undefined if the provider couldn't be reached. */
export function providerError(
  status: number | undefined,
  headers: Readonly<Record<string, string>> = {},
): ProviderError {
  if (status === undefined) return unanswered("The model's provider couldn't be reached")
  if (status < 300) return unanswered("The model's provider sent an invalid response")
  const hint = STATUS_HINTS[status]
  return new ProviderError(`The model's provider returned status ${status}${hint ? `: ${hint}` : ''}`, {
    status,
    isFinal: FINAL_STATUSES.includes(status),
    retryAfterSeconds: secondsUntil(headers['retry-after']),
  })
}

/** Builds the error for a call without a usable response. */
export const unanswered = (message: string) => new ProviderError(message, { status: undefined, isFinal: false })

/**
 * The seconds until the time in a `Retry-After` header, which is a number of seconds or a date. Undefined if it's
 * invalid.
 */
function secondsUntil(retryAfter: string | undefined): number | undefined {
  if (!retryAfter) return undefined
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000)
  if (Number.isNaN(seconds)) return undefined
  return Math.min(Math.max(seconds, 1), MAX_RETRY_DELAY_SECONDS)
}
