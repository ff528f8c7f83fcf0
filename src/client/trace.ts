/// <reference lib="esnext.disposable" preserve="true" />
import { type FeedbackFields, recordFeedback } from './feedback.ts'
import { newTraceId, newUuid } from './ids.ts'
import { merged } from './json.ts'
import type { Recorder } from './recorder.ts'
import { Span, type SpanOptions } from './span.ts'

/** What is known of a trace when it begins. */
export interface TraceOptions {
  /** Its fields are searchable. */
  metadata?: object | undefined
  /** Goes on with the trace that another process has begun under this id and the same name; else an id is made. */
  traceId?: string | undefined
  /** When the run began, if not now. */
  timestamp?: Date | string | undefined
}

/** What a trace came to. */
export interface TraceResult {
  output?: unknown
  /** Comes to what was given at the start. */
  metadata?: object | undefined
}

/** One run of a pipeline. Its calls return at once and never throw; what is recorded goes out in the background. */
export class Trace {
  /** The `trace_id`: `trace_` and 22 lowercase hex characters, unless another one was given. */
  readonly id: string
  /** @internal */
  readonly recorder: Recorder
  readonly #name: string
  readonly #timestamp: string
  readonly #metadata: (object | undefined)[]
  #isCompleted = false

  /** @internal */
  constructor(recorder: Recorder, name: string, options: TraceOptions | undefined) {
    this.recorder = recorder
    this.id = options?.traceId ?? newTraceId()
    this.#name = name
    this.#timestamp = recorder.time({ type: 'trace', traceId: this.id }, options?.timestamp)
    this.#metadata = [options?.metadata]
    this.#send('running')
  }

  /**
   * Runs a step of the pipeline. The callback's result is its output, unless it sets another one with `span.output(...)`;
   * what it throws is recorded, and passed on. Within another span's callback it becomes a part of that span, where the
   * runtime has an AsyncLocalStorage; `span.span(...)` says so everywhere.
   */
  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>> {
    const current = this.recorder.context.getStore()
    return Span.run(this, current?.trace === this ? current : undefined, stepId, run, options)
  }

  /** Records what went into the run as a whole, if need be part by part, or what came out of it. */
  observe(type: 'input' | 'output', data: unknown): void {
    this.record({ type }, data)
  }

  /** Records what the run went by, so that it can be replayed: `config`, `documents`, `retrieved_chunks`, ... */
  state(key: string, value: unknown): void {
    this.record({ type: 'state', key }, value)
  }

  /** Rates, comments on or corrects the run. Returns the feedback's id, by which it can be changed. */
  feedback(fields: FeedbackFields): string {
    return recordFeedback(this.recorder, this.id, fields)
  }

  /** Ends the run. */
  complete(result?: TraceResult): void {
    if (result?.output !== undefined) this.observe('output', result.output)
    this.#metadata.push(result?.metadata)
    this.#isCompleted = true
    this.#send('completed')
  }

  /** `using trace = ...` completes it at the end of the block, where nothing else has. */
  [Symbol.dispose](): void {
    if (!this.#isCompleted) this.complete()
  }

  /** @internal */
  record(of: { type: 'input' | 'output' } | { type: 'state'; key: string }, value: unknown, spanId?: string): void {
    const event = { type: 'observation', traceId: this.id, id: newUuid() } as const
    const data = this.recorder.encode(event, 'data', () => value)
    if (!data) return
    const fields = { trace_id: this.id, observation_id: event.id, span_id: spanId, timestamp: new Date().toISOString() }
    this.recorder.add(event, { ...fields, ...of }, { data })
  }

  #send(status: 'running' | 'completed'): void {
    const event = { type: 'trace', traceId: this.id } as const
    // A clock that was set back meanwhile must not make it negative.
    const durationMs = Math.max(0, Date.now() - Date.parse(this.#timestamp))
    const fields = { trace_id: this.id, name: this.#name, timestamp: this.#timestamp, status }
    this.recorder.add(event, status === 'completed' ? { ...fields, duration_ms: durationMs } : fields, {
      metadata: this.recorder.encode(event, 'metadata', () => merged(this.#metadata)),
    })
  }
}
