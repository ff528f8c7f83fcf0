import type { Json, JsonObject } from '../domain/json.ts'
import type { SpanStatus } from '../domain/span.ts'
import type { HumanJudgment, Kind, PromptReference, TraceReading } from './reading/convention.ts'
import type { TelemetrySpan } from './reading/telemetry.ts'

/** A span as a step of a pipeline: what all conventions together say of it. */
export interface SpanStep {
  kind: Kind
  /** 1 to 256 characters. */
  stepId: string
  status: SpanStatus
  /** Whether the record only tells that a span has begun: it is not to be stored. */
  isPending: boolean
  /** These and each state are no larger, and nest no deeper, than an observation's data may. */
  input: Json | undefined
  output: Json | undefined
  /** By state key. */
  state: ReadonlyMap<string, Json>
  /**
   * As `metadata` of the span, within its limit: its kind, model, usage, error, links, events, ids, and the attributes that no
   * convention knows.
   */
  metadata: JsonObject
  prompt: PromptReference | undefined
  feedback: readonly HumanJudgment[]
  trace: TraceReading
  /** What had to be cut, as sentences for who sent it. */
  warnings: readonly string[]
}

/** A span and what it is as a step. */
export interface ReadSpan {
  span: TelemetrySpan
  step: SpanStep
}

/** What of a span its trace goes by. The rest is as large as the export, and need not stay. */
export interface SpanOutline {
  span: Pick<TelemetrySpan, 'traceId' | 'spanId' | 'parentSpanId' | 'hasRemoteParent' | 'name' | 'startNs' | 'endNs'>
  step: Pick<SpanStep, 'kind' | 'stepId' | 'isPending' | 'feedback' | 'trace'>
}

export const outlineOf = ({
  span: { traceId, spanId, parentSpanId, hasRemoteParent, name, startNs, endNs },
  step: { kind, stepId, isPending, feedback, trace },
}: ReadSpan): SpanOutline => ({
  span: { traceId, spanId, parentSpanId, hasRemoteParent, name, startNs, endNs },
  step: { kind, stepId, isPending, feedback, trace },
})

/** Whether a span stands for its whole trace. One that has but begun may still turn out to have a parent. */
export const isRootOf = ({ span, step }: SpanOutline): boolean =>
  !step.isPending && (span.parentSpanId === null || step.trace.isRoot === true)

/** What a log record adds to its span. */
export interface SpanMessage {
  type: 'input' | 'output'
  /** A message of a conversation, of which a span has several, or the whole value. */
  isMessage: boolean
  data: Json
  /** Which of a model's choices an output message is. */
  choice?: number
}
