/** `countersign/client`: records runs of AI pipelines and reads their results. See docs/client.md. */

export {
  type AttributionOptions,
  Countersign,
  type CountersignOptions,
  type SearchQuery,
  type SearchResult,
} from './countersign.ts'
export { CountersignError } from './errors.ts'
export type {
  ExperimentItem,
  ExperimentOptions,
  ExperimentProgress,
  ExperimentReport,
  ExperimentSettings,
  ItemRun,
  NewExperiment,
} from './experiment.ts'
export type { FeedbackFields } from './feedback.ts'
export type { Fetch } from './fetch.ts'
export type { EventType, Loss } from './loss.ts'
export type { ActivePrompt, Prompts } from './prompts.ts'
export type {
  ItemCosts,
  ModelCall,
  Span,
  SpanContext,
  SpanOptions,
  TokenUsage,
  Trace,
  TraceOptions,
  TraceResult,
} from './run.ts'
export type {
  DetailPage,
  ReadOptions,
  Spans,
  SpansOptions,
  TraceListOptions,
  TraceSpan,
  Traces,
} from './traces.ts'
export type { Attribution, Experiment, Prompt, SpanDetail, TraceDetail, TraceHit, TraceItem } from './wire.ts'
