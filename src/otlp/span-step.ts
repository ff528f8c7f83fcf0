import type { Json, JsonObject } from '../domain/json.ts'
import type { HumanJudgment, Kind, PromptReference, TraceReading } from './conventions/convention.ts'

/** A span as a step of a pipeline: what all conventions together say of it. */
export interface SpanStep {
  kind: Kind
  stepId: string
  input: Json | undefined
  output: Json | undefined
  /** By state key. */
  state: ReadonlyMap<string, Json>
  /** As `metadata` of the span: its kind, model, usage, error, links, events, ids, and the attributes that no convention knows. */
  metadata: JsonObject
  prompt: PromptReference | undefined
  feedback: readonly HumanJudgment[]
  trace: TraceReading
}

/** What a log record adds to its span. */
export interface SpanMessage {
  type: 'input' | 'output'
  /** A message of a conversation, of which a span has several, or the whole value. */
  isMessage: boolean
  data: Json
}
