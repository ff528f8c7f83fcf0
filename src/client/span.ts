import { describe } from './errors.ts'
import type { FeedbackFields } from './feedback.ts'
import { newUuid } from './ids.ts'
import { type Encoded, merged } from './json.ts'
import { BATCH_BYTES, MAX_ERROR_LENGTH } from './limits.ts'
import type { Values } from './recorder.ts'
import type { Trace } from './trace.ts'

/** What is known of a span when it begins; all of it may come later. */
export interface SpanOptions {
  /** What goes into the step. */
  input?: unknown
  /** The prompt that the step uses: the `versionId` of `prompts.active(...)`. */
  promptVersionId?: string | undefined
  metadata?: object | undefined
  /** The span that this one is a part of, where another process has that. */
  parentSpanId?: string | undefined
}

/** A step of a trace, while its callback runs. It is sent as a whole when that ends. */
export class Span {
  /** Its id in both interfaces, a UUID. */
  readonly id: string = newUuid()
  readonly trace: Trace
  readonly #stepId: string
  readonly #parentId: string | undefined
  readonly #startedAt = Date.now()
  readonly #metadata: (object | undefined)[]
  #promptVersionId: string | undefined
  #input: Encoded | undefined
  #output: Encoded | undefined
  #hasOutput = false
  #status: 'ok' | 'error' | undefined
  #durationMs: number | undefined

  private constructor(trace: Trace, parent: Span | undefined, stepId: string, options: SpanOptions | undefined) {
    this.trace = trace
    this.#stepId = stepId
    this.#parentId = options?.parentSpanId ?? parent?.id
    this.#promptVersionId = options?.promptVersionId
    this.#metadata = [options?.metadata]
    if (options?.input !== undefined) this.input(options.input)
  }

  /**
   * Runs a step in the context of its span. What the callback returns or throws is passed on as it is.
   * @internal
   */
  static async run<Result>(
    trace: Trace,
    parent: Span | undefined,
    stepId: string,
    run: (span: Span) => Result,
    options: SpanOptions | undefined,
  ): Promise<Awaited<Result>> {
    const span = new Span(trace, parent, stepId, options)
    let result: Awaited<Result>
    try {
      result = await trace.recorder.context.run(span, () => run(span))
    } catch (error) {
      span.#metadata.push({ error: errorFields(error) })
      span.#end('error')
      throw error
    }
    if (!span.#hasOutput && result !== undefined && !isStream(result)) span.output(result)
    span.#end('ok')
    return result
  }

  /** Runs a step that is a part of this one. */
  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>> {
    return Span.run(this.trace, this, stepId, run, options)
  }

  /** Sets what went in; the last one counts. Null is as good as none: the service keeps what it was sent before. */
  input(value: unknown): void {
    this.#input = this.#encode('input', value)
    this.#update()
  }

  /**
   * Sets what came out, in place of what the callback returns; after the span's end, as a stream's, in place of that.
   * Null is as good as none: the service keeps what it was sent before.
   */
  output(value: unknown): void {
    this.#hasOutput = true
    this.#output = this.#encode('output', value)
    this.#update()
  }

  /** Adds fields to the metadata. */
  metadata(fields: object): void {
    this.#metadata.push(fields)
    this.#update()
  }

  /** Says which prompt the step uses: the `versionId` of `prompts.active(...)`. */
  promptVersion(versionId: string): void {
    this.#promptVersionId = versionId
    this.#update()
  }

  /** Records what the step went by, so that it can be replayed: `config`, `documents`, `retrieved_chunks`, ... */
  state(key: string, value: unknown): void {
    this.trace.record({ type: 'state', key }, value, this.id)
  }

  /** Rates, comments on or corrects the step. Returns the feedback's id, by which it can be changed. */
  feedback(fields: FeedbackFields): string {
    return this.trace.feedback({ ...fields, spanId: this.id })
  }

  get #event() {
    return { type: 'span', traceId: this.trace.id, id: this.id } as const
  }

  #encode(field: 'input' | 'output', value: unknown): Encoded | undefined {
    return this.trace.recorder.encode(this.#event, field, () => value)
  }

  #end(status: 'ok' | 'error'): void {
    this.#status = status
    // A clock that was set back meanwhile must not make it negative.
    this.#durationMs = Math.max(0, Date.now() - this.#startedAt)
    this.#send()
  }

  /** What comes after the end is sent for itself: the service updates the fields that it is sent. */
  #update(): void {
    if (this.#status) this.#send()
  }

  #send(): void {
    const { recorder, id: traceId } = this.trace
    const add = (values: Values) =>
      recorder.add(
        this.#event,
        {
          trace_id: traceId,
          span_id: this.id,
          parent_span_id: this.#parentId,
          step_id: this.#stepId,
          prompt_version_id: this.#promptVersionId,
          timestamp: new Date(this.#startedAt).toISOString(),
          duration_ms: this.#durationMs,
          status: this.#status,
        },
        values,
      )
    const hasMetadata = this.#metadata.some(fields => fields !== undefined)
    const metadata = hasMetadata ? recorder.encode(this.#event, 'metadata', () => merged(this.#metadata)) : undefined
    const [input, output] = [this.#input, this.#output]
    this.#input = undefined
    this.#output = undefined
    // Together they may be more than a batch takes.
    const isMuch = input && output && input.bytes + output.bytes > BATCH_BYTES
    if (isMuch) add({ input })
    add({ ...(!isMuch && { input }), output, metadata })
  }
}

/** What is read later is no output yet, and JSON would make it an empty object. */
function isStream(value: unknown): boolean {
  try {
    return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
  } catch {
    return false
  }
}

function errorFields(error: unknown): object {
  const { message, ...others } = describe(error)
  return { ...others, message: message.slice(0, MAX_ERROR_LENGTH) }
}
