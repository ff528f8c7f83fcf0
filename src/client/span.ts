import { describe } from './errors.ts'
import type { FeedbackFields } from './feedback.ts'
import { newUuid } from './ids.ts'
import { type Encoded, merged } from './json.ts'
import { BATCH_BYTES, MAX_ERROR_LENGTH } from './limits.ts'
import { recordObservation } from './observation.ts'
import type { Recorder, Values } from './recorder.ts'
import type { ModelCall, Span, SpanContext, SpanOptions, Trace } from './run.ts'

/** State shared by all spans of a trace. */
export interface SpanSetting {
  trace: Trace
  recorder: Recorder
  context: SpanContext
}

/** Runs a step in the context of its span. Returns the callback's result, and throws what the callback throws. */
export async function runSpan<Result>(
  setting: SpanSetting,
  parentId: string | undefined,
  stepId: string,
  run: (span: Span) => Result,
  options: SpanOptions | undefined,
): Promise<Awaited<Result>> {
  const span = new RecordedSpan(setting, parentId, stepId, options)
  let result: Awaited<Result>
  try {
    result = await setting.context.run(span, () => run(span))
  } catch (error) {
    span.fail(error)
    throw error
  }
  span.succeed(result)
  return result
}

/** A span that's sent through a recorder. */
class RecordedSpan implements Span {
  readonly id: string = newUuid()
  readonly trace: Trace
  readonly #setting: SpanSetting
  readonly #stepId: string
  readonly #parentId: string | undefined
  readonly #startedAt = Date.now()
  readonly #metadata: (object | undefined)[]
  #promptVersionId: string | undefined
  #modelCall: ModelCallFields = {}
  #input: Encoded | undefined
  #output: Encoded | undefined
  #hasOutput = false
  #status: 'ok' | 'error' | undefined
  #durationMs: number | undefined

  constructor(setting: SpanSetting, parentId: string | undefined, stepId: string, options: SpanOptions | undefined) {
    this.trace = setting.trace
    this.#setting = setting
    this.#stepId = stepId
    this.#parentId = options?.parentSpanId ?? parentId
    this.#promptVersionId = options?.promptVersionId
    this.#metadata = [options?.metadata]
    if (options) this.#modelCall = modelCallFields(options, {})
    if (options?.input !== undefined) this.input(options.input)
  }

  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>> {
    return runSpan(this.#setting, this.id, stepId, run, options)
  }

  input(value: unknown): void {
    this.#input = this.#encode('input', value)
    this.#update()
  }

  output(value: unknown): void {
    this.#hasOutput = true
    this.#output = this.#encode('output', value)
    this.#update()
  }

  metadata(fields: object): void {
    this.#metadata.push(fields)
    this.#update()
  }

  promptVersion(versionId: string): void {
    this.#promptVersionId = versionId
    this.#update()
  }

  modelCall(fields: ModelCall): void {
    this.#modelCall = modelCallFields(fields, this.#modelCall)
    this.#update()
  }

  state(key: string, value: unknown): void {
    const of = { traceId: this.trace.id, spanId: this.id }
    recordObservation(this.#setting.recorder, of, { type: 'state', key }, value)
  }

  feedback(fields: FeedbackFields): string {
    return this.trace.feedback({ ...fields, spanId: this.id })
  }

  /** Ends the span with the callback's result, which is its output unless one was set. */
  succeed(result: unknown): void {
    if (!this.#hasOutput && result !== undefined && !isStream(result)) this.output(result)
    this.#end('ok')
  }

  /** Ends the span with the error that the callback threw. */
  fail(error: unknown): void {
    this.#metadata.push({ error: errorFields(error) })
    this.#end('error')
  }

  get #event() {
    return { type: 'span', traceId: this.trace.id, id: this.id } as const
  }

  #encode(field: 'input' | 'output', value: unknown): Encoded | undefined {
    return this.#setting.recorder.encode(this.#event, field, () => value)
  }

  #end(status: 'ok' | 'error'): void {
    this.#status = status
    // The clock may have been set back, but the duration must not be negative.
    this.#durationMs = Math.max(0, Date.now() - this.#startedAt)
    this.#send()
  }

  /** Sends changes made after the end. The service updates only the fields that it receives. */
  #update(): void {
    if (this.#status) this.#send()
  }

  #send(): void {
    const { recorder } = this.#setting
    const add = (values: Values) =>
      recorder.add(
        this.#event,
        {
          trace_id: this.trace.id,
          span_id: this.id,
          parent_span_id: this.#parentId,
          step_id: this.#stepId,
          prompt_version_id: this.#promptVersionId,
          ...this.#modelCall,
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
    // Together, the input and output may exceed a batch's limit.
    const exceedsBatch = input && output && input.bytes + output.bytes > BATCH_BYTES
    if (exceedsBatch) add({ input })
    add({ ...(!exceedsBatch && { input }), output, metadata })
  }
}

interface ModelCallFields {
  model?: string | null | undefined
  provider?: string | null | undefined
  usage?: object | undefined
  cost_usd?: number | null | undefined
}

/** A model call in the form that the service accepts. Fields that aren't given stay as they were before. */
const modelCallFields = ({ model, provider, usage, costUsd }: ModelCall, before: ModelCallFields): ModelCallFields => ({
  model: model ?? before.model,
  provider: provider ?? before.provider,
  usage: usage
    ? {
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        total_tokens: usage.totalTokens,
        cached_tokens: usage.cachedTokens,
        reasoning_tokens: usage.reasoningTokens,
      }
    : before.usage,
  cost_usd: costUsd ?? before.cost_usd,
})

/** A stream isn't an output yet: it's read later, and JSON would turn it into an empty object. */
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
