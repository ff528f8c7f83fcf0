import { Bookmark } from './bookmark.ts'
import { CountersignError, describe } from './errors.ts'
import type { Fetch } from './fetch.ts'
import { MAX_ATTEMPTS, MAX_RETRY_AFTER_MS, REQUEST_MS } from './limits.ts'
import { pause } from './timers.ts'

/** The service's address, and the key to call it with. */
export interface ServiceOptions {
  baseUrl: string
  apiKey: string
  projectSlug?: string | undefined
  fetch?: Fetch | undefined
  /** Shared by several services with the same address and key. */
  bookmark?: Bookmark
}

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The body as JSON. */
  body?: string
  headers?: Readonly<Record<string, string>>
  timeoutMs?: number
  /** Whether the response may be older than what this client has seen. */
  mayLag?: boolean
}

/** The outcome of one attempt at a request. */
export interface Answer {
  /** 0 if there was no response. */
  status: number
  /** Undefined if it isn't JSON. */
  body?: unknown
  headers?: Headers
  /** Why there's no usable response. */
  error?: CountersignError
}

/** Calls the service over HTTP, and retries like the reference client. */
export class Service {
  readonly baseUrl: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #fetch: Fetch
  readonly #bookmark: Bookmark

  constructor({ baseUrl, apiKey, projectSlug, fetch, bookmark = new Bookmark() }: ServiceOptions) {
    if (!/^https?:\/\//.test(baseUrl)) throw new TypeError('baseUrl must begin with http:// or https://')
    if (!apiKey) throw new TypeError('apiKey is missing')
    this.baseUrl = baseUrl.replace(/\/+$/, '')
    this.#headers = {
      authorization: `Bearer ${apiKey}`,
      ...(projectSlug !== undefined && { 'x-project-slug': projectSlug }),
    }
    this.#bookmark = bookmark
    // Looks up the global `fetch` for each request: instrumentation may replace it, and browsers require it to be
    // called on the global object.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init))
  }

  /**
   * The response to a request: a body with the field `field`, or a 304 without a body. Retries after a 429, a 5xx, or
   * no response. Waits for Retry-After, or else 2^attempt seconds. Throws a `CountersignError`.
   */
  async read<Body extends object>(
    path: string,
    field: keyof Body & string,
    request: RequestOptions = {},
    attempts: number = MAX_ATTEMPTS,
  ): Promise<{ status: number; body: Body; headers: Headers | undefined }> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.attempt(path, request)
      const { status, body, headers } = answer
      if (status === 304 || (isSuccess(status) && fieldOf(body, field) !== undefined)) {
        // The field shows that the response is from the service, not from another server. The rest of the body is
        // trusted.
        return { status, body: body as Body, headers }
      }
      const delayMs = retryDelayMs(answer, attempt)
      if (!isTemporary(answer) || attempt >= attempts || delayMs > MAX_RETRY_AFTER_MS) throw errorOf(answer)
      await pause(delayMs, { keepsAlive: true }).over
    }
  }

  /** One attempt at a request, whatever its outcome. Never rejects. */
  async attempt(path: string, request: RequestOptions): Promise<Answer> {
    const { timeoutMs = REQUEST_MS } = request
    const controller = new AbortController()
    // An open connection already keeps the process alive.
    const time = pause(timeoutMs, { keepsAlive: false })
    // The signal alone isn't enough: the caller's own `fetch` may ignore it.
    const timedOut = time.over.then((): Answer => {
      controller.abort()
      const error = new CountersignError(0, 'timed_out', `No response within ${timeoutMs / 1000} seconds`)
      return { status: 0, error }
    })
    try {
      return await Promise.race([this.#exchange(path, request, controller.signal), timedOut])
    } catch (cause) {
      return { status: 0, error: new CountersignError(0, 'unreachable', describe(cause).message, { cause }) }
    } finally {
      time.cancel()
    }
  }

  async #exchange(
    path: string,
    { method = 'GET', body, headers, mayLag = false }: RequestOptions,
    signal: AbortSignal,
  ): Promise<Answer> {
    const response = await this.#fetch(this.baseUrl + path, {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method === 'GET' && !mayLag && this.#bookmark.headers()),
        ...headers,
      },
      ...(body !== undefined && { body }),
      signal,
    })
    this.#bookmark.keep(response.headers)
    return { status: response.status, body: parse(await response.text()), headers: response.headers }
  }
}

export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/**
 * Whether another attempt can help. After a failed attribution (502), another attempt would only start the analysis
 * over. An attribution that's waiting for the next day's model calls continues on its own.
 */
export const isTemporary = ({ status, body }: Answer): boolean =>
  status === 0 ||
  (status === 429 && fieldOf(body, 'code') !== 'model_limit_reached') ||
  (status >= 500 && fieldOf(body, 'code') !== 'failed')

/**
 * Milliseconds to wait after an attempt (the first is 1): Retry-After in seconds or as a date, else 2^attempt seconds.
 */
export function retryDelayMs({ headers }: Answer, attempt: number): number {
  const retryAfter = headers?.get('retry-after') ?? ''
  const requestedMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(requestedMs) ? 2 ** attempt * 1000 : Math.max(0, requestedMs)
}

/** The error for an unusable response. */
export function errorOf({ status, body, headers, error }: Answer): CountersignError {
  if (error) return error
  const about = { requestId: headers?.get('x-request-id') ?? undefined, body }
  if (isSuccess(status)) return new CountersignError(status, 'invalid_answer', NOT_COUNTERSIGN, about)
  const [code, message] = [fieldOf(body, 'code'), fieldOf(body, 'error')]
  return new CountersignError(
    status,
    typeof code === 'string' ? code : 'unknown',
    typeof message === 'string' ? message : `The service returned ${status}`,
    about,
  )
}

const NOT_COUNTERSIGN = "The response isn't from a Countersign service; is baseUrl correct?"

/** A field of a body. The body may be any value. */
export const fieldOf = (body: unknown, field: string): unknown =>
  typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
