import { MAX_RETRY_DELAY_SECONDS } from '../../limits.ts'
import { EngineError } from '../engine.ts'

/** A setting that has to be mended first. */
export const misconfigured = (message: string) => new EngineError(message, { isFinal: true })

/** What comes of a request that the provider refused is the same each time. */
const FINAL_STATUSES: readonly number[] = [400, 405, 406, 413, 415, 422]
/** What an operator mends meanwhile: the key, its rights, the model's name. */
const STATUS_HINTS: Readonly<Record<number, string>> = {
  400: 'it may not take a JSON schema, or not so long a prompt',
  401: 'check ATTRIBUTION_API_KEY',
  403: 'check what ATTRIBUTION_API_KEY may do',
  404: 'check ATTRIBUTION_MODEL and ATTRIBUTION_BASE_URL',
  413: 'it does not take so long a prompt',
  429: 'it is asked too often',
}

/** What a provider answered instead of a model's answer; `status` undefined where it could not be reached. */
export function providerError(status: number | undefined, headers: Readonly<Record<string, string>> = {}): EngineError {
  if (status === undefined) return new EngineError("The model's provider could not be reached", { isFinal: false })
  if (status < 300) return new EngineError("The model's provider sent what is no answer of its API", { isFinal: false })
  const hint = STATUS_HINTS[status]
  return new EngineError(`The model's provider answered ${status}${hint ? `: ${hint}` : ''}`, {
    isFinal: FINAL_STATUSES.includes(status),
    retryAfterSeconds: secondsUntil(headers['retry-after']),
  })
}

/** What a `Retry-After` asks for, a number of seconds or a date; undefined where it asks for nothing that can be read. */
function secondsUntil(retryAfter: string | undefined): number | undefined {
  if (!retryAfter) return undefined
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000)
  if (Number.isNaN(seconds)) return undefined
  return Math.min(Math.max(seconds, 1), MAX_RETRY_DELAY_SECONDS)
}
