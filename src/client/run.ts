/// <reference lib="esnext.disposable" preserve="true" />
import type { FeedbackFields } from './feedback.ts'

/** A trace's fields that are known when it begins. */
export interface TraceOptions {
  /** Its fields are searchable. */
  metadata?: object | undefined
  /** Continues the trace that another process began with this id and the same name. Without it, the client creates an id. */
  traceId?: string | undefined
  /** When the run began, if not now. */
  timestamp?: Date | string | undefined
}

/** How a trace ended. */
export interface TraceResult {
  output?: unknown
  /** Added to the metadata given at the start. */
  metadata?: object | undefined
}

/** A span's fields that are known when it begins. All of them can also be set later. */
export interface SpanOptions {
  /** The step's input. */
  input?: unknown
  /** The prompt that the step uses: the `versionId` of `prompts.active(...)`. */
  promptVersionId?: string | undefined
  metadata?: object | undefined
  /** The span that this one is a part of, if another process runs that one. */
  parentSpanId?: string | undefined
}

/** One run of a pipeline. Its calls return at once and never throw; the client sends what they record in the background. */
export interface Trace {
  /** The `trace_id`: `trace_` and 22 lowercase hex characters, unless you gave another. */
  readonly id: string

  /**
   * Runs a step of the pipeline. The callback's result is the step's output, unless the callback sets another with
   * `span.output(...)`; an error that it throws is recorded and rethrown. Inside another span's callback, the step becomes
   * a part of that span if the runtime has an AsyncLocalStorage; `span.span(...)` does so everywhere.
   */
  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>>

  /** Records what went into the run as a whole, in parts if you like, or what came out of it. */
  observe(type: 'input' | 'output', data: unknown): void

  /** Records what the run used, so that it can be replayed: `config`, `documents`, `retrieved_chunks`, ... */
  state(key: string, value: unknown): void

  /** Rates, comments on or corrects the run. Returns the feedback's id, which later changes need. */
  feedback(fields: FeedbackFields): string

  /** Ends the run. */
  complete(result?: TraceResult): void

  /** `using trace = ...` completes the trace at the end of the block, unless it's complete already. */
  [Symbol.dispose](): void
}

/** A step of a trace, while its callback runs. It's sent as a whole when the callback ends. */
export interface Span {
  /** Its id in both interfaces, a UUID. */
  readonly id: string
  readonly trace: Trace

  /** Runs a step that is a part of this one. */
  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>>

  /** Sets what went in; the last call counts. Null changes nothing: the service keeps what it already has. */
  input(value: unknown): void

  /**
   * Sets what came out, instead of the callback's result. After the span's end, as with a stream, it replaces the output.
   * Null changes nothing: the service keeps what it already has.
   */
  output(value: unknown): void

  /** Adds fields to the metadata. */
  metadata(fields: object): void

  /** Says which prompt the step uses: the `versionId` of `prompts.active(...)`. */
  promptVersion(versionId: string): void

  /** Records what the step used, so that it can be replayed: `config`, `documents`, `retrieved_chunks`, ... */
  state(key: string, value: unknown): void

  /** Rates, comments on or corrects the step. Returns the feedback's id, which later changes need. */
  feedback(fields: FeedbackFields): string
}

/** The part of `AsyncLocalStorage` that the client uses: it holds the span whose callback is running. */
export interface SpanContext {
  run<Result>(span: Span, run: () => Result): Result
  getStore(): Span | undefined
}
