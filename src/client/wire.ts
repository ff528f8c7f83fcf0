import type { InferInput, InferOutput, StrictObjectSchema } from 'valibot'
import type { Json, JsonObject, JsonText, WrittenJson } from '../domain/json.ts'
import type { ExperimentItem as ExperimentItemSchema, Report as ReportSchema } from '../experiments/wire.ts'
import type { Attribution as AttributionSchema } from '../ingest/attribution-wire.ts'
import type { Feedback as FeedbackSchema } from '../ingest/feedback.ts'
import type { Trace as TraceCallSchema } from '../ingest/traces.ts'
import type { Prompt as PromptSchema } from '../read/text-wire.ts'
import type { traceFilters } from '../read/trace-filters.ts'
import type { SpanOfTrace, TraceItem as TraceItemSchema, Trace as TraceSchema } from '../read/wire.ts'

/*
 * The service's requests and responses, derived from the Worker's wire schemas. For the package,
 * `scripts/client-declarations.ts` writes these types out in full, so the package needs no schemas.
 */

/** Fields that are always objects; other stored values may be any JSON. */
type ObjectField = 'metadata' | 'outputSchema' | 'correction'

/** A wire type as a client sees it. Any JSON, and JSON text that the Worker passes on, is `unknown`. */
export type Plain<Wire> =
  Wire extends WrittenJson<infer Shape>
    ? Plain<Shape>
    : Wire extends JsonText
      ? unknown
      : [Json] extends [Wire]
        ? unknown
        : Wire extends readonly (infer Item)[]
          ? Plain<Item>[]
          : Wire extends object
            ? { [Field in keyof Wire]: Field extends ObjectField ? PlainObject<Wire[Field]> : Plain<Wire[Field]> }
            : Wire

type PlainObject<Wire> = Wire extends JsonText | JsonObject ? Record<string, unknown> : Wire

/** A trace in a list. */
export type TraceItem = Plain<InferOutput<typeof TraceItemSchema>>

/** A trace with its spans and feedback. */
export type TraceDetail = Plain<InferOutput<typeof TraceSchema>>

/** One span in full, and its trace. */
export type SpanDetail = Plain<InferOutput<typeof SpanOfTrace>>

/** A step's prompt with its active version. */
export type Prompt = Plain<InferOutput<typeof PromptSchema>>

/** The root cause of a disagreement. */
export type Attribution = Plain<InferOutput<typeof AttributionSchema>>

/** The filters of a list of traces, as in its query. */
export type TraceFilters = Plain<InferInput<StrictObjectSchema<typeof traceFilters, undefined>>>

/** The body of feedback, as the service accepts it. */
export type FeedbackBody = Plain<InferInput<typeof FeedbackSchema>>

/** A trace that a search found. */
export type TraceHit = Plain<Pick<InferInput<typeof TraceCallSchema>, 'trace_id' | 'name' | 'status' | 'timestamp'>> & {
  metadata: Record<string, unknown>
}

/** An experiment with the counts of its results. */
export type Experiment = Plain<InferOutput<typeof ReportSchema>>

/** An item of an experiment, without the fields that a candidate may not see. */
export type ListedItem = Plain<
  Pick<InferOutput<typeof ExperimentItemSchema>, 'id' | 'input' | 'state' | 'metadata' | 'split' | 'truncated'>
>
