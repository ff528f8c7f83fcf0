import { type FeedbackFields, recordFeedback } from './feedback.ts'
import { newTraceId } from './ids.ts'
import { merged } from './json.ts'
import { recordObservation } from './observation.ts'
import type { Recorder } from './recorder.ts'
import type { Span, SpanContext, SpanOptions, Trace, TraceOptions, TraceResult } from './run.ts'
import { runSpan, type SpanSetting } from './span.ts'

/** A trace that's sent through a recorder. */
export class RecordedTrace implements Trace {
  readonly id: string
  readonly recorder: Recorder
  readonly #setting: SpanSetting
  readonly #name: string
  readonly #timestamp: string
  readonly #metadata: (object | undefined)[]
  #isCompleted = false

  /** `mark` is added to the metadata. */
  constructor(
    recorder: Recorder,
    context: SpanContext,
    name: string,
    options: TraceOptions | undefined,
    mark: object | undefined,
  ) {
    this.recorder = recorder
    this.id = options?.traceId ?? newTraceId()
    this.#setting = { trace: this, recorder, context }
    this.#name = name
    this.#timestamp = recorder.time({ type: 'trace', traceId: this.id }, options?.timestamp)
    this.#metadata = [options?.metadata, mark]
    this.#send('running')
  }

  span<Result>(stepId: string, run: (span: Span) => Result, options?: SpanOptions): Promise<Awaited<Result>> {
    const current = this.#setting.context.getStore()
    return runSpan(this.#setting, current?.trace === this ? current.id : undefined, stepId, run, options)
  }

  observe(type: 'input' | 'output', data: unknown): void {
    recordObservation(this.recorder, { traceId: this.id }, { type }, data)
  }

  state(key: string, value: unknown): void {
    recordObservation(this.recorder, { traceId: this.id }, { type: 'state', key }, value)
  }

  feedback(fields: FeedbackFields): string {
    return recordFeedback(this.recorder, this.id, fields)
  }

  complete(result?: TraceResult): void {
    if (result?.output !== undefined) this.observe('output', result.output)
    this.#metadata.push(result?.metadata)
    this.#isCompleted = true
    this.#send('completed')
  }

  [Symbol.dispose](): void {
    if (!this.#isCompleted) this.complete()
  }

  #send(status: 'running' | 'completed'): void {
    const event = { type: 'trace', traceId: this.id } as const
    // The clock may have been set back, but the duration must not be negative.
    const durationMs = Math.max(0, Date.now() - Date.parse(this.#timestamp))
    const fields = { trace_id: this.id, name: this.#name, timestamp: this.#timestamp, status }
    this.recorder.add(event, status === 'completed' ? { ...fields, duration_ms: durationMs } : fields, {
      metadata: this.recorder.encode(event, 'metadata', () => merged(this.#metadata)),
    })
  }
}
