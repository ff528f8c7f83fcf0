/// <reference lib="esnext.disposable" preserve="true" />
import { sharedContext } from './context.ts'
import { CountersignError } from './errors.ts'
import { type FeedbackFields, recordFeedback } from './feedback.ts'
import type { Fetch } from './fetch.ts'
import { ATTRIBUTION_PAUSE_MS, ATTRIBUTION_REQUEST_MS, ATTRIBUTION_WAIT_MS, PROMPT_FRESH_MS } from './limits.ts'
import type { Loss } from './loss.ts'
import { Losses } from './losses.ts'
import { parametersOf } from './parameters.ts'
import { Prompts } from './prompts.ts'
import { Queue } from './queue.ts'
import { Recorder } from './recorder.ts'
import type { Span, SpanContext, Trace, TraceOptions } from './run.ts'
import { Service } from './service.ts'
import { pause } from './timers.ts'
import { RecordedTrace } from './trace.ts'
import { Spans, Traces } from './traces.ts'
import type { Attribution, TraceHit } from './wire.ts'

export interface CountersignOptions {
  /** Where the service is: `https://countersign.example.workers.dev`. */
  baseUrl: string
  /** A key: scope `ingest` records, searches and attributes; `read` reads. */
  apiKey: string
  /** The project, for a key that serves several, and for reading lists and prompts. */
  projectSlug?: string | undefined
  /** The project's UUID: reads traces by their `trace_id`, and lists where there is no slug. */
  projectId?: string | undefined
  /** In place of the global `fetch`. */
  fetch?: Fetch | undefined
  /** Told of everything that was recorded and did not arrive. Without it, the first loss is a warning on the console. */
  onLoss?: ((loss: Loss) => unknown) | undefined
  /** Keeps a Worker alive until what it recorded is out: `promise => ctx.waitUntil(promise)`. */
  waitUntil?: ((promise: Promise<unknown>) => unknown) | undefined
  /** How long events wait for others to go with, in milliseconds: 2000. */
  flushIntervalMs?: number | undefined
  /** How many events are sent without waiting longer: 100. */
  flushAt?: number | undefined
  /** What waiting events may take together, in bytes: 16 MiB. */
  maxQueueBytes?: number | undefined
  /** How long a prompt is answered from memory, in milliseconds: 10,000. */
  promptFreshMs?: number | undefined
  /** An `AsyncLocalStorage` for implicit nesting, in a runtime where the client finds none by itself. */
  asyncLocalStorage?: SpanContext | undefined
}

/** What a search looks for; all of it must match. */
export interface SearchQuery {
  name?: string | undefined
  status?: TraceHit['status'] | undefined
  /** 10 by default, 100 at most. */
  limit?: number | undefined
  /** Any other is a metadata field, by its dotted path: `group_id`, `customer.tier`, ... */
  [field: string]: string | number | boolean | undefined
}

export interface SearchResult {
  /** Newest first. */
  traces: TraceHit[]
  count: number
  /** Says so where older traces that might match were not looked at. */
  warnings?: string[]
}

export interface AttributionOptions {
  /** Whether to analyze again with nothing new on the trace; needs the scope `manage`. */
  force?: boolean | undefined
  /** How long to wait for a result, in milliseconds: 60,000. */
  waitMs?: number | undefined
}

/**
 * A client of one Countersign project. What it records is sent in the background and neither waits nor throws; what it
 * reads does both. Making one costs nothing: no request, no timer.
 */
export class Countersign {
  /** Reads traces. */
  readonly traces: Traces
  /** Reads spans. */
  readonly spans: Spans
  /** Reads prompts. */
  readonly prompts: Prompts
  readonly #service: Service
  readonly #losses: Losses
  readonly #context: SpanContext
  readonly #queue: Queue
  readonly #recorder: Recorder

  /** Throws a `TypeError` where the base URL or the key is missing. */
  constructor(options: CountersignOptions) {
    this.#service = new Service(options)
    this.#context = options.asyncLocalStorage ?? sharedContext()
    this.#losses = new Losses(options.onLoss)
    this.#queue = new Queue(this.#service, this.#losses, options)
    this.#recorder = new Recorder(this.#queue, this.#losses)
    this.traces = new Traces(this.#service, options)
    this.spans = new Spans(this.#service)
    this.prompts = new Prompts(this.#service, options, options.promptFreshMs ?? PROMPT_FRESH_MS)
  }

  /** How much that was recorded did not arrive: events, and fields of events. */
  get lost(): number {
    return this.#losses.count
  }

  /** Begins a trace: one run of a pipeline. */
  startTrace(name: string, options?: TraceOptions): Trace {
    return new RecordedTrace(this.#recorder, this.#context, name, options)
  }

  /** The span whose callback is running, where the runtime has an `AsyncLocalStorage`. */
  currentSpan(): Span | undefined {
    const span = this.#context.getStore()
    // Clients share the context: the span may be another one's.
    const isOwn = span?.trace instanceof RecordedTrace && span.trace.recorder === this.#recorder
    return isOwn ? span : undefined
  }

  /** Rates, comments on or corrects a trace that may have been over for long. Returns the feedback's id. */
  feedback(traceId: string, fields: FeedbackFields): string {
    return recordFeedback(this.#recorder, traceId, fields)
  }

  /** Withdraws feedback by its id, once all that was recorded is out. Returns whether it was there. Throws a `CountersignError`. */
  async deleteFeedback(feedbackId: string): Promise<boolean> {
    await this.flush()
    try {
      await this.#service.read<{ feedback_id: string }>(
        `/api/v1/feedback/${encodeURIComponent(feedbackId)}`,
        'feedback_id',
        { method: 'DELETE' },
      )
      return true
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'not_found') return false
      throw error
    }
  }

  /** Finds traces by name, status and metadata. Throws a `CountersignError`. */
  async search(query: SearchQuery): Promise<SearchResult> {
    const path = `/api/v1/traces/search?${parametersOf(query)}`
    return (await this.#service.read<SearchResult>(path, 'traces')).body
  }

  /**
   * Names the root cause of a disagreement between the AI and what people said of it, once all that was recorded is out.
   * Throws a `CountersignError`: 422 where nobody disagreed, `pending` where it takes longer than `waitMs`,
   * `model_limit_reached` where the project's model calls of the day are used up: it goes on at 00:00 UTC.
   */
  async attribute(
    traceId: string,
    { force, waitMs = ATTRIBUTION_WAIT_MS }: AttributionOptions = {},
  ): Promise<Attribution> {
    const until = Date.now() + waitMs
    await this.flush()
    const path = `/api/v1/traces/${encodeURIComponent(traceId)}/attribute`
    for (let query = force ? '?force=true' : ''; ; query = '') {
      const request = { method: 'POST', timeoutMs: ATTRIBUTION_REQUEST_MS } as const
      const { status, body } = await this.#service.read<Attribution>(path + query, 'trace_id', request)
      if (status === 200) return body
      if (Date.now() + ATTRIBUTION_PAUSE_MS > until) {
        throw new CountersignError(status, 'pending', 'The trace is still being analyzed; ask again')
      }
      await pause(ATTRIBUTION_PAUSE_MS, { keepsAlive: true }).over
    }
  }

  /** Sends what waits. Resolves when all that was recorded so far has arrived or is lost; never rejects. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  /** `await using countersign = ...` flushes at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.flush()
  }
}
