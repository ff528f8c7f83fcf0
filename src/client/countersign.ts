/// <reference lib="esnext.disposable" preserve="true" />
import { itemContext, sharedContext } from './context.ts'
import { CountersignError } from './errors.ts'
import {
  type ExperimentItem,
  type ExperimentOptions,
  type ExperimentReport,
  type ExperimentSettings,
  type ItemRun,
  runExperiment,
} from './experiment.ts'
import { type FeedbackFields, recordFeedback } from './feedback.ts'
import type { Fetch } from './fetch.ts'
import {
  ATTRIBUTION_PAUSE_MS,
  ATTRIBUTION_REQUEST_MS,
  ATTRIBUTION_WAIT_MS,
  FLUSH_INTERVAL_MS,
  PROMPT_FRESH_MS,
} from './limits.ts'
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
  /** An API key. With the `ingest` scope, it can record, search, and attribute; with `read`, it can read. */
  apiKey: string
  /** The project's slug. Needed if the key works for several projects, and to read lists and prompts. */
  projectSlug?: string | undefined
  /** The project's UUID. If there's no slug, it's needed for lists and to get traces by their `trace_id`. */
  projectId?: string | undefined
  /** Replaces the global `fetch`. */
  fetch?: Fetch | undefined
  /**
   * Receives everything that was recorded but didn't arrive. If absent, a warning is logged for the first loss only.
   */
  onLoss?: ((loss: Loss) => unknown) | undefined
  /** Keeps a Worker alive until everything recorded is sent: `promise => ctx.waitUntil(promise)`. */
  waitUntil?: ((promise: Promise<unknown>) => unknown) | undefined
  /** How long events wait to be sent together, in milliseconds. Default: 2000. */
  flushIntervalMs?: number | undefined
  /** Sends the waiting events once there are this many, even before the interval is up. Default: 100. */
  flushAt?: number | undefined
  /** The largest total size of waiting events, in bytes. Default: 16 MiB. */
  maxQueueBytes?: number | undefined
  /** How long a prompt is served from memory, in milliseconds. Default: 10,000. */
  promptFreshMs?: number | undefined
  /** An `AsyncLocalStorage` for nesting spans by context. Needed only if the client can't find the runtime's own. */
  asyncLocalStorage?: SpanContext | undefined
}

/** A search's filters. All fields must match. */
export interface SearchQuery {
  name?: string | undefined
  status?: TraceHit['status'] | undefined
  /** At most 100. Default: 10. */
  limit?: number | undefined
  /** Any other name is a metadata field's dotted path: `group_id`, `customer.tier`, ... */
  [field: string]: string | number | boolean | undefined
}

export interface SearchResult {
  /** Newest first. */
  traces: TraceHit[]
  count: number
  /** Present if the search skipped older traces that might match. */
  warnings?: string[]
}

export interface AttributionOptions {
  /** Analyze again even if the trace has nothing new. Needs the `manage` scope. */
  force?: boolean | undefined
  /** How long to wait for a result, in milliseconds. Default: 60,000. */
  waitMs?: number | undefined
}

/**
 * A client for one Countersign project. Recording calls return immediately, never throw, and send in the background.
 * Reading calls wait and may throw. Creating a client is cheap: it makes no request and starts no timer.
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
  /** Records nothing. */
  readonly #muted: Recorder
  readonly #projectSlug: string | undefined
  readonly #flushIntervalMs: number

  /** Throws a `TypeError` if the base URL or the key is missing. */
  constructor(options: CountersignOptions) {
    this.#service = new Service(options)
    this.#context = options.asyncLocalStorage ?? sharedContext()
    this.#losses = new Losses(options.onLoss)
    this.#queue = new Queue(this.#service, this.#losses, options)
    this.#recorder = new Recorder(this.#queue, this.#losses)
    this.#muted = new Recorder({ add: () => {} }, new Losses(() => {}))
    this.#projectSlug = options.projectSlug
    this.#flushIntervalMs = options.flushIntervalMs ?? FLUSH_INTERVAL_MS
    this.traces = new Traces(this.#service, options)
    this.spans = new Spans(this.#service)
    this.prompts = new Prompts(this.#service, options, options.promptFreshMs ?? PROMPT_FRESH_MS)
  }

  /** The number of events and individual fields that were recorded but didn't arrive. */
  get lost(): number {
    return this.#losses.count
  }

  /** Starts a trace: one run of a pipeline. */
  startTrace(name: string, options?: TraceOptions): Trace {
    const scope = itemContext().getStore()
    const recorder = scope?.isRecorded === false ? this.#muted : this.#recorder
    const trace = new RecordedTrace(recorder, this.#context, name, options, scope?.mark)
    if (scope) scope.traceId ??= trace.id
    return trace
  }

  /** The span whose callback is running, if the runtime has an `AsyncLocalStorage`. */
  currentSpan(): Span | undefined {
    const span = this.#context.getStore()
    // All clients share one context, so the span may belong to another client.
    const recorder = span?.trace instanceof RecordedTrace && span.trace.recorder
    const isOwn = recorder === this.#recorder || recorder === this.#muted
    return isOwn ? span : undefined
  }

  /** Rates, comments on, or corrects a trace, even long after it has ended. Returns the feedback's id. */
  feedback(traceId: string, fields: FeedbackFields): string {
    return recordFeedback(this.#recorder, traceId, fields)
  }

  /**
   * Deletes feedback by its id, after sending the waiting events. Returns whether it existed. Throws a
   * `CountersignError`.
   */
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

  /** Finds traces by name, status, and metadata. Throws a `CountersignError`. */
  async search(query: SearchQuery): Promise<SearchResult> {
    const path = `/api/v1/traces/search?${parametersOf(query)}`
    return (await this.#service.read<SearchResult>(path, 'traces')).body
  }

  /**
   * Sends the waiting events, then finds the root cause of a disagreement between the AI and the feedback on it. Throws
   * a `CountersignError`: with the status 422 if nobody disagreed, with the code `pending` if the analysis takes longer
   * than `waitMs`, or with the code `model_limit_reached` if the project has used up its model calls for the day. In
   * the last case, the analysis continues at 00:00 UTC.
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
        throw new CountersignError(status, 'pending', 'The trace is still being analyzed; try again')
      }
      await pause(ATTRIBUTION_PAUSE_MS, { keepsAlive: true }).over
    }
  }

  /**
   * Runs a function on each item of a step's dataset, then finishes the experiment. The function's return value is the
   * item's output. If the function throws, the item has an error, and the other items still run. If the call itself
   * throws or the process ends, the experiment keeps its results, and the same call with its `id` runs the rest. Throws
   * a `CountersignError`, or the signal's reason. Needs a key with the `read` and `review` scopes.
   */
  async experiment<Input = unknown>(
    options: ExperimentOptions,
    run: (item: ExperimentItem<Input>, run: ItemRun) => unknown,
    settings: ExperimentSettings = {},
  ): Promise<ExperimentReport> {
    const setting = { service: this.#service, projectSlug: this.#projectSlug, intervalMs: this.#flushIntervalMs }
    const report = await runExperiment(setting, options, run, settings)
    await this.flush()
    return report
  }

  /** Sends the waiting events. Resolves once everything recorded so far has arrived or is lost. Never rejects. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  /** `await using countersign = ...` flushes at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.flush()
  }
}
