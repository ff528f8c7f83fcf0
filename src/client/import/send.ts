import {
  IMPORT_ATTEMPTS,
  IMPORT_BATCH_BYTES,
  IMPORT_CONCURRENCY,
  IMPORT_REQUEST_MS,
  MAX_BATCH_EVENTS,
  MAX_IMPORT_PAUSE_MS,
  MAX_IMPORTED_SPANS,
  MAX_REVIEWS,
} from '../limits.ts'
import { type Answer, errorOf, fieldOf, isSuccess, isTemporary, retryDelayMs, type Service } from '../service.ts'
import { pause } from '../timers.ts'
import type { Place, Report, SentKind } from './report.ts'
import { encodedExport } from './telemetry.ts'

/** Something to send, and the record that it's from. */
export interface Item extends Place {
  id: string | null
  kind: SentKind
  json: string
  /** Items with the same key don't go into the same request. */
  key?: string
}

interface Batch {
  items: Item[]
  bytes: number
  keys: Set<string>
}

type Call = 'spans' | 'events' | 'reviews'

const LIMITS: Readonly<Record<Call, number>> = {
  spans: MAX_IMPORTED_SPANS,
  events: MAX_BATCH_EVENTS,
  reviews: MAX_REVIEWS,
}

/**
 * Sends an import in batches, and notes the outcome of each item in the report. A request that fails temporarily is
 * repeated. If the service rejects a whole request, each half is sent separately, so that only the items at fault are
 * left out. Throws if nothing can be sent at all. `service` is undefined in a dry run.
 */
export class Sender {
  readonly #service: Pick<Service, 'attempt'> | undefined
  readonly #report: Report
  readonly #scope: string
  readonly #batches: Record<Call, Batch> = { spans: empty(), events: empty(), reviews: empty() }
  readonly #running = new Set<Promise<void>>()
  #failure: { error: unknown } | undefined

  constructor(service: Pick<Service, 'attempt'> | undefined, report: Report, scope: string) {
    this.#service = service
    this.#report = report
    this.#scope = scope
  }

  async add(call: Call, item: Item): Promise<void> {
    const bytes = new TextEncoder().encode(item.json).length
    const { items, bytes: waiting, keys } = this.#batches[call]
    const isFull = items.length >= LIMITS[call] || waiting + bytes > IMPORT_BATCH_BYTES
    if (items.length > 0 && (isFull || (item.key !== undefined && keys.has(item.key)))) await this.#start(call)
    const batch = this.#batches[call]
    batch.items.push(item)
    batch.bytes += bytes
    if (item.key !== undefined) batch.keys.add(item.key)
  }

  /** Resolves once everything has been sent. */
  async flush(): Promise<void> {
    for (const call of ['events', 'spans', 'reviews'] as const) await this.#start(call)
    await Promise.all(this.#running)
    this.#throwFailure()
  }

  /** Sends a batch. Spans may arrive in any order, so several requests with spans run at a time. */
  async #start(call: Call): Promise<void> {
    const { items } = this.#batches[call]
    this.#batches[call] = empty()
    if (items.length === 0) return
    const limit = call === 'spans' ? IMPORT_CONCURRENCY : 1
    while (this.#running.size >= limit) await Promise.race(this.#running)
    this.#throwFailure()
    const run = this.#send(call, items)
      .catch(error => {
        this.#failure ??= { error }
      })
      .finally(() => this.#running.delete(run))
    this.#running.add(run)
    if (limit === 1) await run
    this.#throwFailure()
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error
  }

  async #send(call: Call, items: readonly Item[]): Promise<void> {
    if (!this.#service) {
      for (const item of items) this.#report.sent[item.kind]++
      return
    }
    const answer = await this.#answer(call, items)
    if (!isSuccess(answer.status)) {
      if (answer.status !== 400 && answer.status !== 413 && answer.status !== 422) throw errorOf(answer)
      if (items.length === 1) this.#fail(items[0], errorOf(answer).message)
      else await this.#halves(call, items)
      return
    }
    if (call === 'spans') await this.#settleSpans(items, answer)
    else await this.#settleResults(call, items, answer)
  }

  async #halves(call: Call, items: readonly Item[]): Promise<void> {
    const middle = Math.ceil(items.length / 2)
    await this.#send(call, items.slice(0, middle))
    await this.#send(call, items.slice(middle))
  }

  /** An export's response says only how many spans were rejected. */
  async #settleSpans(items: readonly Item[], { body }: Answer): Promise<void> {
    const partial = fieldOf(body, 'partialSuccess')
    const message = String(fieldOf(partial, 'errorMessage') ?? '')
    if (Number(fieldOf(partial, 'rejectedSpans') ?? 0) > 0) {
      if (items.length === 1) this.#fail(items[0], message)
      else await this.#halves('spans', items)
      return
    }
    if (message !== '') for (const warning of message.split('; ')) this.#report.warn(warning)
    this.#report.sent.spans += items.length
  }

  async #settleResults(call: Call, given: readonly Item[], first: Answer): Promise<void> {
    let items = given
    let answer = first
    for (let attempt = 1; ; attempt++) {
      const results = fieldOf(answer.body, 'results')
      if (!Array.isArray(results) || results.length !== items.length) throw errorOf(answer)
      const again: Item[] = []
      let delayMs = 0
      for (const [index, item] of items.entries()) {
        const outcome: Answer = {
          status: Number(fieldOf(results[index], 'status')),
          body: fieldOf(results[index], 'body'),
        }
        if (isSuccess(outcome.status)) this.#succeed(item, outcome)
        else if (isTemporary(outcome) && attempt < IMPORT_ATTEMPTS) {
          again.push(item)
          delayMs = Math.max(delayMs, delayOf(outcome, attempt))
        } else this.#fail(item, messageOf(outcome))
      }
      if (again.length === 0) return
      await pause(delayMs, { keepsAlive: true }).over
      items = again
      answer = await this.#answer(call, items)
      if (!isSuccess(answer.status)) throw errorOf(answer)
    }
  }

  #succeed(item: Item, { body }: Answer): void {
    this.#report.sent[item.kind]++
    const warnings = fieldOf(body, 'warnings')
    if (Array.isArray(warnings)) for (const warning of warnings) this.#report.warn(String(warning))
    if (item.kind === 'reviews') this.#report.reviews[fieldOf(body, 'import') === 'added' ? 'added' : 'unchanged']++
  }

  #fail(item: Item | undefined, message: string): void {
    if (item) this.#report.fail({ file: item.file, line: item.line, id: item.id, message })
  }

  /** Sends a request, and retries it after temporary failures. Throws if it keeps failing. */
  async #answer(call: Call, items: readonly Item[]): Promise<Answer> {
    const jsons = items.map(({ json }) => json)
    const [path, body] =
      call === 'spans'
        ? ['/api/v1/otel/v1/traces', encodedExport(this.#scope, jsons)]
        : call === 'events'
          ? ['/api/v1/batch', `{"events":[${jsons.join()}]}`]
          : ['/api/reviews', `{"reviews":[${jsons.join()}]}`]
    for (let attempt = 1; ; attempt++) {
      const request = { method: 'POST', body, timeoutMs: IMPORT_REQUEST_MS } as const
      const answer = (await this.#service?.attempt(path, request)) ?? { status: 0 }
      if (!isTemporary(answer)) return answer
      if (attempt >= IMPORT_ATTEMPTS) throw errorOf(answer)
      await pause(delayOf(answer, attempt), { keepsAlive: true }).over
    }
  }
}

const empty = (): Batch => ({ items: [], bytes: 0, keys: new Set() })

/** The pause before the next attempt: as long as the service asks for, but at most `MAX_IMPORT_PAUSE_MS`. */
const delayOf = (answer: Answer, attempt: number): number =>
  Math.min(retryDelayMs(answer, attempt), MAX_IMPORT_PAUSE_MS)

/** A failed result's status and message. */
const messageOf = (outcome: Answer): string => `${outcome.status}: ${errorOf(outcome).message}`
