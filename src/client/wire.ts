import type { InferInput, InferOutput, StrictObjectSchema } from 'valibot'
import type { Json, JsonObject, JsonText, WrittenJson } from '../domain/json.ts'
import type { Attribution as AttributionSchema } from '../ingest/attribution-wire.ts'
import type { Feedback as FeedbackSchema } from '../ingest/feedback.ts'
import type { Trace as TraceCallSchema } from '../ingest/traces.ts'
import type { Prompt as PromptSchema } from '../read/text-wire.ts'
import type { traceFilters } from '../read/trace-filters.ts'
import type { SpanOfTrace, TraceItem as TraceItemSchema, Trace as TraceSchema } from '../read/wire.ts'

/*
 * What the service takes and answers, as the Worker's wire schemas say. `scripts/client-declarations.ts` writes these types
 * out for the package, so that whoever installs it needs none of the schemas.
 */

/** Fields that are objects wherever they stand; other stored values may be any JSON. */
type ObjectField = 'metadata' | 'outputSchema' | 'correction'

/** A wire type as a client sees it: what the Worker passes on as JSON text, and any JSON, is `unknown`. */
type Plain<Wire> =
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

/** A trace of a list. */
export type TraceItem = Plain<InferOutput<typeof TraceItemSchema>>

/** A trace with its spans and feedback. */
export type TraceDetail = Plain<InferOutput<typeof TraceSchema>>

/** One span in full, and the trace that it is of. */
export type SpanDetail = Plain<InferOutput<typeof SpanOfTrace>>

/** A step's prompt with its active version. */
export type Prompt = Plain<InferOutput<typeof PromptSchema>>

/** The root cause of a disagreement. */
export type Attribution = Plain<InferOutput<typeof AttributionSchema>>

/** What lists of traces are filtered by, as their query has it. */
export type TraceFilters = Plain<InferInput<StrictObjectSchema<typeof traceFilters, undefined>>>

/** What feedback may say, as the service takes it. */
export type FeedbackBody = Plain<InferInput<typeof FeedbackSchema>>

/** A trace that a search found. */
export type TraceHit = Plain<Pick<InferInput<typeof TraceCallSchema>, 'trace_id' | 'name' | 'status' | 'timestamp'>> & {
  metadata: Record<string, unknown>
}
