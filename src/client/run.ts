/// <reference lib="esnext.disposable" preserve="true" />
import type { FeedbackFields } from './feedback.ts'

/** A trace's fields that are known at its start. */
export interface TraceOptions {
  /** The fields are searchable. */
  metadata?: object | undefined
  /** Continues the trace that another process began with this id and the same name. Default: a new id. */
  traceId?: string | undefined
  /** When the run began. Default: now. */
  timestamp?: Date | string | undefined
}

/** How a trace ended. */
export interface TraceResult {
  output?: unknown
  /** Merged into the metadata from the start. */
  metadata?: object | undefined
}

/** The tokens of a model call. `totalTokens` defaults to the sum of input and output. */
export interface TokenUsage {
  inputTokens?: number | null | undefined
  outputTokens?: number | null | undefined
  totalTokens?: number | null | undefined
  /** The input tokens that the provider read from its cache. */
  cachedTokens?: number | null | undefined
  /** The output tokens that the model spent on reasoning. */
  reasoningTokens?: number | null | undefined
}

/** The model that a step called, and what the call used. */
export interface ModelCall {
  model?: string | null | undefined
  provider?: string | null | undefined
  usage?: TokenUsage | null | undefined
  /** US dollars. */
  costUsd?: number | null | undefined
}

/** The tokens, cost, and trace of one run of an experiment's item, as far as they're known. */
export interface ItemCosts {
  /** All of the item's tokens. Sent if the numbers of input and output tokens are both given. */
  usage?: TokenUsage | null | undefined
  /** US dollars. */
  costUsd?: number | null | undefined
  /** The `trace_id` of the run, if it isn't that of the first trace that the function started. */
  traceId?: string | null | undefined
}

/** A span's fields that are known at its start. All of them can also be set later. */
export interface SpanOptions extends ModelCall {
  /** The step's input. */
  input?: unknown
  /** The prompt that the step uses: the `versionId` from `prompts.active(...)`. */
  promptVersionId?: string | undefined
  metadata?: object | undefined
  /** The id of the parent span, if it runs in another process. */
  parentSpanId?: string | undefined
}

/** One run of a pipeline. Calls return immediately and never throw; the client sends everything in the background. */
export interface Trace {
  /** The `trace_id`: `trace_` and 22 lowercase hex characters, unless you passed a different one. */
  readonly id: string

  /**
   * Runs a step of the pipeline. The callback's result is the step's output, unless the callback sets another with
   * `span.output(...)`. An error that the callback throws is recorded and rethrown. Inside another span's callback, the
   * new span becomes its child if the runtime has an AsyncLocalStorage; `span.span(...)` works everywhere.
   */
  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>>

  /** Records the input or output of the whole run, in parts if you like. */
  observe(type: 'input' | 'output', data: unknown): void

  /** Records data that the run used, so that it can be replayed: `config`, `documents`, `retrieved_chunks`, ... */
  state(key: string, value: unknown): void

  /** Rates, comments on, or corrects the run. Returns the feedback's id, which you need to change it later. */
  feedback(fields: FeedbackFields): string

  /** Ends the run. */
  complete(result?: TraceResult): void

  /** `using trace = ...` completes the trace at the end of the block, unless it's already complete. */
  [Symbol.dispose](): void
}

/** A step of a trace, while its callback runs. It's sent as a whole when the callback ends. */
export interface Span {
  /** A UUID. The service uses the same id for the span everywhere. */
  readonly id: string
  readonly trace: Trace

  /** Runs a child step. */
  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>>

  /** Sets the input; the last call wins. Null changes nothing: the service keeps the value it has. */
  input(value: unknown): void

  /**
   * Sets the output, instead of the callback's result. A call after the span's end, as with a stream, replaces the
   * output. Null changes nothing: the service keeps the value it has.
   */
  output(value: unknown): void

  /** Adds fields to the metadata. */
  metadata(fields: object): void

  /** Sets the prompt that the step uses: the `versionId` from `prompts.active(...)`. */
  promptVersion(versionId: string): void

  /** Sets the model that the step called, its tokens, and its cost. Fields that you leave out stay as they are. */
  modelCall(fields: ModelCall): void

  /** Records data that the step used, so that it can be replayed: `config`, `documents`, `retrieved_chunks`, ... */
  state(key: string, value: unknown): void

  /** Rates, comments on, or corrects the step. Returns the feedback's id, which you need to change it later. */
  feedback(fields: FeedbackFields): string
}

/** The part of `AsyncLocalStorage` that the client uses: it holds the span whose callback is running. */
export interface SpanContext {
  run<Result>(span: Span, run: () => Result): Result
  getStore(): Span | undefined
}
