import type { Json, JsonObject } from '../domain/json.ts'
import type { ModelUse } from '../domain/model-use.ts'
import type { SpanStatus } from '../domain/span.ts'
import type { Reviewability, StepKind } from '../domain/step-kind.ts'
import type { HumanJudgment, PromptReference, TraceReading } from './reading/convention.ts'
import type { TelemetrySpan } from './reading/telemetry.ts'

/** A span as a step of a pipeline: the combined reading of all conventions. */
export interface SpanStep {
  kind: StepKind
  /** 1 to 256 characters. */
  stepId: string
  status: SpanStatus
  /** Whether the record only reports that the span has started. Such a record isn't stored. */
  isPending: boolean
  /** Whether the pipeline names the step itself, with `countersign.step_id`. */
  isNamed: boolean
  reviewability: Reviewability
  /** The input, the output, and each state are within the size and depth limits of an observation's data. */
  input: Json | undefined
  output: Json | undefined
  /** Keyed by state key. */
  state: ReadonlyMap<string, Json>
  /**
   * The span's `metadata`, within its limit: kind, model, usage, error, links, events, ids, and the attributes that no
   * convention read.
   */
  metadata: JsonObject
  modelUse: ModelUse
  prompt: PromptReference | undefined
  feedback: readonly HumanJudgment[]
  trace: TraceReading
  /** Messages for the sender about values that were truncated. */
  warnings: readonly string[]
}

/** A span and its step. */
export interface ReadSpan {
  span: TelemetrySpan
  step: SpanStep
}

/**
 * The part of a span that determines its trace. The rest is as large as the export and doesn't need to stay in memory.
 */
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

/** Whether a span is the root of its trace. A pending span isn't, because it may still turn out to have a parent. */
export const isRootOf = ({ span, step }: SpanOutline): boolean =>
  !step.isPending && (span.parentSpanId === null || step.trace.isRoot === true)

/** A log record's contribution to its span. */
export interface SpanMessage {
  type: 'input' | 'output'
  /** Whether this is one message of a conversation and not the whole value. */
  isMessage: boolean
  data: Json
  /** The index of an output message among the model's choices. */
  choice?: number
}
