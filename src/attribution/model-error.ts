import { MAX_RETRY_DELAY_SECONDS } from '../limits.ts'

interface ModelErrorOptions {
  /** Whether the same would come of another attempt. */
  isFinal: boolean
  /** When the provider wants to be asked again. */
  retryAfterSeconds?: number | undefined
}

/**
 * Why a model gave no answer that counts. The message is fit to be stored, logged and shown: it holds no key, no payload
 * and nothing that the provider or the model said. It has no cause for the same reason: a provider's error holds the
 * request, and may quote the key.
 */
export class ModelError extends Error {
  readonly isFinal: boolean
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, { isFinal, retryAfterSeconds }: ModelErrorOptions) {
    super(message)
    this.name = 'ModelError'
    this.isFinal = isFinal
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A setting that has to be mended first. */
export const misconfigured = (message: string) => new ModelError(message, { isFinal: true })

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
export function providerError(status: number | undefined, headers: Readonly<Record<string, string>> = {}): ModelError {
  if (status === undefined) return new ModelError("The model's provider could not be reached", { isFinal: false })
  if (status < 300) return new ModelError("The model's provider sent what is no answer of its API", { isFinal: false })
  const hint = STATUS_HINTS[status]
  return new ModelError(`The model's provider answered ${status}${hint ? `: ${hint}` : ''}`, {
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
