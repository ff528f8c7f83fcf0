import {
  BATCH_BYTES,
  FLUSH_AT,
  FLUSH_INTERVAL_MS,
  MAX_ATTEMPTS,
  MAX_BATCH_EVENTS,
  MAX_QUEUE_BYTES,
  MAX_RETRY_AFTER_MS,
  REQUEST_MS,
  STALL_MS,
} from './limits.ts'
import type { EventName } from './loss.ts'
import type { Losses } from './losses.ts'
import { safely } from './safely.ts'
import { type Answer, errorOf, fieldOf, isSuccess, isTemporary, retryDelayMs, type Service } from './service.ts'
import { pause } from './timers.ts'

export interface QueueOptions {
  flushIntervalMs?: number | undefined
  flushAt?: number | undefined
  maxQueueBytes?: number | undefined
  waitUntil?: ((promise: Promise<unknown>) => void) | undefined
}

interface Entry {
  event: EventName
  json: string
  bytes: number
  /** Its position among all entries ever queued, starting at 1. */
  sequence: number
  attempts: number
}

/**
 * Delivers events in the background, in the order they were recorded: one batch at a time, retries first. So no event
 * overtakes its trace, and a late retry of an older event can't undo a newer one. Entries stay queued until they're
 * delivered or lost. If a run dies with the Worker request that started it, the next run delivers everything.
 */
export class Queue {
  readonly #service: Service
  readonly #losses: Losses
  readonly #flushIntervalMs: number
  readonly #flushAt: number
  readonly #maxBytes: number
  readonly #waitUntil: ((promise: Promise<unknown>) => void) | undefined

  #entries: Entry[] = []
  #bytes = 0
  /** The position of the newest entry. */
  #sequence = 0
  /** Entries up to this position are due. */
  #dueSequence = 0
  #batchBytes = BATCH_BYTES

  #run: Promise<void> | undefined
  /** What the run waits for: a response, or the time of the next attempt. */
  #step: Promise<unknown> | undefined
  /** The number of the current run. Older runs must not touch the queue. */
  #runNumber = 0
  /** A run that makes no progress by this time is dead. In milliseconds since 1970. */
  #deadAt = 0

  #timer: Promise<void> | undefined
  #timerUntil = 0

  constructor(service: Service, losses: Losses, options: QueueOptions) {
    this.#service = service
    this.#losses = losses
    this.#flushIntervalMs = options.flushIntervalMs ?? FLUSH_INTERVAL_MS
    this.#flushAt = options.flushAt ?? FLUSH_AT
    this.#maxBytes = options.maxQueueBytes ?? MAX_QUEUE_BYTES
    this.#waitUntil = options.waitUntil
  }

  add(event: EventName, json: string, bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) {
      const message = `More than ${this.#maxBytes} bytes are waiting to be sent`
      this.#losses.add({ ...event, reason: 'queue_full', message })
      return
    }
    this.#bytes += bytes
    this.#entries.push({ event, json, bytes, sequence: ++this.#sequence, attempts: 0 })
    this.#schedule()
  }

  /** Resolves once everything that's queued now is delivered or lost. Never rejects. */
  async flush(): Promise<void> {
    const last = this.#sequence
    while (this.#first <= last) {
      this.#start(last)
      // Keeps the process alive while a caller waits, and stops the wait if the run is dead.
      const timeout = pause(Math.max(0, this.#deadAt - Date.now()), { keepsAlive: true })
      await Promise.race([this.#step, timeout.over])
      timeout.cancel()
    }
  }

  get #first(): number {
    return this.#entries[0]?.sequence ?? Number.POSITIVE_INFINITY
  }

  /** Sends the queue: immediately if it's long enough, and otherwise soon. */
  #schedule(): void {
    const isEnough = this.#entries.length >= this.#flushAt || this.#bytes >= this.#batchBytes
    const sent = isEnough ? this.#start(this.#sequence) : this.#startLater()
    if (this.#waitUntil) safely(() => this.#waitUntil?.(sent))
  }

  #startLater(): Promise<void> {
    const now = Date.now()
    if (!this.#timer || now > this.#timerUntil) {
      this.#timerUntil = now + this.#flushIntervalMs + STALL_MS
      this.#timer = pause(this.#flushIntervalMs, { keepsAlive: false }).over.then(() => {
        this.#timer = undefined
        return this.#start(this.#sequence)
      })
    }
    return this.#timer
  }

  /** Delivers the queue up to a position. Resolves when the run ends, once nothing more is due. */
  #start(dueSequence: number): Promise<void> {
    this.#dueSequence = Math.max(this.#dueSequence, dueSequence)
    if (!this.#run || Date.now() > this.#deadAt) {
      this.#deadAt = Date.now() + STALL_MS
      this.#run = this.#deliver(++this.#runNumber)
    }
    return this.#run
  }

  async #deliver(runNumber: number): Promise<void> {
    this.#step = undefined
    // Events recorded in the same turn of the event loop join the batch.
    await Promise.resolve()
    while (this.#first <= this.#dueSequence) {
      const batch = this.#nextBatch()
      const attempt = this.#attempt(batch)
      this.#step = attempt
      const answer = await attempt
      if (runNumber !== this.#runNumber) return
      const delayMs = this.#settle(batch, answer)
      if (delayMs === 0) continue
      this.#deadAt = Date.now() + delayMs + STALL_MS
      this.#step = pause(delayMs, { keepsAlive: false }).over
      await this.#step
      if (runNumber !== this.#runNumber) return
    }
    this.#run = undefined
  }

  #attempt(batch: readonly Entry[]): Promise<Answer> {
    this.#deadAt = Date.now() + REQUEST_MS + STALL_MS
    const body = `{"events":[${batch.map(({ json }) => json).join()}]}`
    return this.#service.attempt('/api/v1/batch', { method: 'POST', body })
  }

  /** As many entries from the front as one request can hold. The first one is included, however large it is. */
  #nextBatch(): Entry[] {
    let bytes = 0
    const end = this.#entries.findIndex((entry, index) => {
      bytes += entry.bytes
      return index > 0 && (bytes > this.#batchBytes || index >= MAX_BATCH_EVENTS)
    })
    return this.#entries.slice(0, end === -1 ? undefined : end)
  }

  /** Removes entries that were delivered or lost. Returns how many milliseconds to wait before retrying the rest. */
  #settle(batch: readonly Entry[], answer: Answer): number {
    if (answer.status === 413 && batch.length > 1) {
      // A proxy between here and the service has a lower limit than the service.
      this.#batchBytes = batch.reduce((sum, { bytes }) => sum + bytes, 0) / 2
      return 0
    }
    const outcomes = outcomesOf(answer, batch.length)
    const kept: Entry[] = []
    const keptIds = new Set<string | undefined>()
    let delayMs = 0
    for (const [index, entry] of batch.entries()) {
      const { type, traceId, id } = entry.event
      const outcome = outcomes[index] ?? answer
      entry.attempts++
      const mayRetry = isTemporary(outcome) && entry.attempts < MAX_ATTEMPTS
      // A 404 means that the event's trace is still queued, and an update must not arrive before the event that it
      // updates.
      const mustWait = (outcome.status === 404 && keptIds.has(traceId)) || (id !== undefined && keptIds.has(id))
      if (mayRetry || mustWait) {
        kept.push(entry)
        keptIds.add(type === 'trace' ? traceId : id)
        delayMs = Math.max(delayMs, Math.min(retryDelayMs(outcome, entry.attempts), MAX_RETRY_AFTER_MS))
      } else {
        this.#bytes -= entry.bytes
        if (!isSuccess(outcome.status) || outcome.error) this.#lose(entry, outcome)
        else this.#reportWarnings(entry, outcome)
      }
    }
    this.#entries = [...kept, ...this.#entries.slice(batch.length)]
    return delayMs
  }

  #lose({ event }: Entry, outcome: Answer): void {
    const { status, message } = errorOf(outcome)
    this.#losses.add({ ...event, reason: isTemporary(outcome) ? 'undelivered' : 'refused', status, message })
  }

  /** Only metadata can be accepted in part. */
  #reportWarnings({ event }: Entry, { status, body }: Answer): void {
    const warnings = fieldOf(body, 'warnings')
    if (!Array.isArray(warnings) || warnings.length === 0) return
    this.#losses.add({ ...event, reason: 'incomplete', field: 'metadata', status, message: warnings.join('; ') })
  }
}

/** The outcome of each event in a batch: its own result, or else the response to the whole batch. */
function outcomesOf(answer: Answer, count: number): readonly Answer[] {
  if (!isSuccess(answer.status)) return Array<Answer>(count).fill(answer)
  const results = fieldOf(answer.body, 'results')
  if (Array.isArray(results) && results.length === count) {
    return results.map(result => ({ status: Number(fieldOf(result, 'status')), body: fieldOf(result, 'body') }))
  }
  // A successful response without results isn't from the service.
  return Array<Answer>(count).fill({ ...answer, error: errorOf(answer) })
}
