import { MAX_RETRY_DELAY_SECONDS } from '../../limits.ts'
import { EngineError } from '../engine.ts'

/** An error about a setting that must be fixed first. */
export const misconfigured = (message: string) => new EngineError(message, { isFinal: true })

/** Statuses that the same request would get again. */
const FINAL_STATUSES: readonly number[] = [400, 405, 406, 413, 415, 422]
/** Hints about what the operator must fix: the key, its permissions, the model's name. */
const STATUS_HINTS: Readonly<Record<number, string>> = {
  400: 'it may not support JSON schemas, or the prompt is too long',
  401: 'check ATTRIBUTION_API_KEY',
  403: 'check the permissions of ATTRIBUTION_API_KEY',
  404: 'check ATTRIBUTION_MODEL and ATTRIBUTION_BASE_URL',
  413: 'the prompt is too long',
  429: 'too many requests',
}

/** The error for a provider's response. `status` is undefined if the provider could not be reached. */
export function providerError(status: number | undefined, headers: Readonly<Record<string, string>> = {}): EngineError {
  if (status === undefined) return new EngineError("The model's provider could not be reached", { isFinal: false })
  if (status < 300) return new EngineError("The model's provider sent an invalid response", { isFinal: false })
  const hint = STATUS_HINTS[status]
  return new EngineError(`The model's provider answered ${status}${hint ? `: ${hint}` : ''}`, {
    isFinal: FINAL_STATUSES.includes(status),
    retryAfterSeconds: secondsUntil(headers['retry-after']),
  })
}

/** The seconds that a `Retry-After` header asks for, given as a number or a date. Undefined if it can't be read. */
function secondsUntil(retryAfter: string | undefined): number | undefined {
  if (!retryAfter) return undefined
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000)
  if (Number.isNaN(seconds)) return undefined
  return Math.min(Math.max(seconds, 1), MAX_RETRY_DELAY_SECONDS)
}
