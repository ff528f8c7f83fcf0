import { CountersignError } from './errors.ts'
import { encode } from './json.ts'
import {
  BATCH_BYTES,
  EXPERIMENT_REQUEST_MS,
  MAX_ERROR_LENGTH,
  MAX_RESULTS,
  MAX_VALUE_BYTES,
  MAX_WAITING_RESULTS_BYTES,
} from './limits.ts'
import type { ItemCosts } from './run.ts'
import { type Answer, errorOf, fieldOf, isSuccess, type Service } from './service.ts'
import { pause } from './timers.ts'

/** An item's result, ready to be sent. */
export interface Result {
  itemId: string
  durationMs: number
  isError: boolean
  json: string
  /** In UTF-8. An estimate for errors. */
  bytes: number
}

/** The result of an item with an output, or with an error that says why the output can't be sent. */
export function outputResult(itemId: string, durationMs: number, output: unknown, costs: ItemCosts): Result {
  const encoded = encode(() => output, MAX_VALUE_BYTES)
  if ('reason' in encoded) return errorResult(itemId, durationMs, `The output can't be sent: ${encoded.message}`, costs)
  const envelope = JSON.stringify({ itemId, durationMs, ...costFields(costs) })
  const json = `${envelope.slice(0, -1)},"output":${encoded.json}}`
  return { itemId, durationMs, isError: false, json, bytes: envelope.length + encoded.bytes }
}

/** The result of an item without an output. */
export function errorResult(itemId: string, durationMs: number, message: string, costs: ItemCosts = {}): Result {
  // Truncation can leave half of a surrogate pair, which the service would reject.
  const error = message.slice(0, MAX_ERROR_LENGTH).replace(/\p{Surrogate}/gu, '\uFFFD') || 'An error without a message'
  const json = JSON.stringify({ itemId, durationMs, ...costFields(costs), error })
  return { itemId, durationMs, isError: true, json, bytes: 2 * json.length }
}

function costFields({ usage, costUsd, traceId }: ItemCosts): object {
  const [inputTokens, outputTokens] = [amount(usage?.inputTokens), amount(usage?.outputTokens)]
  const hasUsage = inputTokens !== undefined && outputTokens !== undefined
  return {
    ...(hasUsage && { usage: { inputTokens, outputTokens, totalTokens: amount(usage?.totalTokens) } }),
    costUsd: amount(costUsd),
    traceId: traceId || undefined,
  }
}

/** A number that the service accepts. */
const amount = (value: number | null | undefined): number | undefined =>
  value != null && value >= 0 && value < Number.POSITIVE_INFINITY ? value : undefined

/** Receives the outcome of sending results. */
interface Listener {
  /** The service has these results, or doesn't need them. */
  onStored(results: readonly Result[]): void
  /** Sending failed. Nothing more will be sent. */
  onFailure(error: unknown): void
}

/**
 * Sends an experiment's results, one request at a time. Each request contains as many of the waiting results as fit.
 */
export class Results {
  readonly #service: Service
  readonly #path: string
  readonly #intervalMs: number
  readonly #listener: Listener
  #waiting: Result[] = []
  #bytes = 0
  #sending: Promise<void> | undefined
  #isPlanned = false
  #failure: { error: unknown } | undefined

  constructor(service: Service, path: string, intervalMs: number, listener: Listener) {
    this.#service = service
    this.#path = path
    this.#intervalMs = intervalMs
    this.#listener = listener
  }

  /** Sends a result soon, or immediately if enough results are waiting. */
  add(result: Result): void {
    this.#waiting.push(result)
    this.#bytes += result.bytes
    if (this.#waiting.length >= MAX_RESULTS || this.#bytes >= BATCH_BYTES) void this.#send()
    else this.#sendLater()
  }

  /** Waits while too many unsent results are in memory. */
  async room(): Promise<void> {
    while (this.#bytes > MAX_WAITING_RESULTS_BYTES && !this.#failure) await this.#send()
  }

  /** Resolves once the service has all results. Throws a `CountersignError` if sending fails. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#failure) await this.#send()
    if (this.#failure) throw this.#failure.error
  }

  #sendLater(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    pause(this.#intervalMs, { keepsAlive: false }).over.then(() => {
      this.#isPlanned = false
      return this.#send()
    })
  }

  /** Sends all waiting results. Never rejects. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && !this.#failure) {
        const batch = this.#nextBatch()
        await this.#post(batch)
        this.#waiting = this.#waiting.slice(batch.length)
        this.#bytes -= batch.reduce((sum, { bytes }) => sum + bytes, 0)
      }
    } catch (error) {
      this.#failure = { error }
      this.#listener.onFailure(error)
    }
  }

  /** As many results from the front as one request can hold. Includes the first one, however large it is. */
  #nextBatch(): Result[] {
    let bytes = 0
    const end = this.#waiting.findIndex((result, index) => {
      bytes += result.bytes
      return index > 0 && (bytes > BATCH_BYTES || index >= MAX_RESULTS)
    })
    return this.#waiting.slice(0, end === -1 ? undefined : end)
  }

  async #post(batch: readonly Result[]): Promise<void> {
    const outcomes = await this.#ask(batch)
    const stored: Result[] = []
    const left: Result[] = []
    const refused: Result[] = []
    for (const [index, result] of batch.entries()) {
      const outcome = outcomes[index] ?? { status: 0 }
      if (isSettled(outcome)) stored.push(result)
      else if (outcome.status === 413 && batch.length > 1) left.push(result)
      else if (result.isError || outcome.status === 409) throw errorOf(outcome)
      else
        refused.push(
          errorResult(result.itemId, result.durationMs, `The output was refused: ${errorOf(outcome).message}`),
        )
    }
    if (stored.length > 0) this.#listener.onStored(stored)
    // Together, these results or the values that they're compared with are too large for one request.
    const half = Math.ceil(left.length / 2)
    for (const part of [left.slice(0, half), left.slice(half), refused]) if (part.length > 0) await this.#post(part)
  }

  /** The outcome of each result. */
  async #ask(batch: readonly Result[]): Promise<Answer[]> {
    const body = `{"results":[${batch.map(({ json }) => json).join()}]}`
    const request = { method: 'POST', body, timeoutMs: EXPERIMENT_REQUEST_MS } as const
    try {
      const answer = await this.#service.read<{ results: unknown[] }>(this.#path, 'results', request)
      const outcomes = answer.body.results
      if (!Array.isArray(outcomes) || outcomes.length !== batch.length) throw errorOf({ status: answer.status })
      return outcomes.map(outcome => ({ status: Number(fieldOf(outcome, 'status')), body: fieldOf(outcome, 'body') }))
    } catch (error) {
      // A proxy between here and the service may have a lower limit than the service.
      if (!(error instanceof CountersignError) || error.status !== 413) throw error
      return batch.map(() => ({ status: 413, error }))
    }
  }
}

/**
 * Whether there's nothing more to do for a result: it's stored, its item has been deleted, or another run of the same
 * experiment has stored another output.
 */
function isSettled({ status, body }: Answer): boolean {
  const details = fieldOf(body, 'details')
  const path = Array.isArray(details) ? fieldOf(details[0], 'path') : undefined
  return isSuccess(status) || status === 404 || (status === 409 && String(path).endsWith('.output'))
}
