import * as v from 'valibot'
import { ERROR_CATEGORIES } from '../domain/attribution.ts'
import { IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import type { AttributionResult, NamedErrorType } from '../store/attributions.ts'

/** An error type as a result names it. */
const errorTypeFields = {
  error_type: v.pipe(v.string(), v.metadata({ examples: ['outdated_reference'] })),
  error_type_id: Uuid,
  error_type_name: v.string(),
  error_type_category: v.picklist(ERROR_CATEGORIES),
}

const Confidence = v.pipe(v.number(), v.minValue(0), v.maxValue(1))

/** The root cause of a disagreement: a reviewer's word where there is one, and the engine's beside it. */
export const Attribution = v.object({
  trace_id: v.string(),
  ...errorTypeFields,
  reasoning: v.string(),
  confidence: v.pipe(Confidence, v.metadata({ description: "How likely the engine's answer is the cause" })),
  alternatives: v.array(v.object({ error_type: v.string(), confidence: Confidence })),
  span_id: v.pipe(v.nullable(Uuid), v.metadata({ description: 'Where it went wrong; null: in no span' })),
  evidence: v.array(v.object({ span_id: v.nullable(Uuid), path: v.string(), note: v.string() })),
  engine: v.pipe(v.string(), v.metadata({ description: "rules, or the model's name" })),
  created_at: IsoTime,
  engine_answer: v.object(errorTypeFields),
  override: v.pipe(
    v.nullable(
      v.object({ ...errorTypeFields, span_id: Uuid, by: Uuid, comment: v.nullable(v.string()), created_at: IsoTime }),
    ),
    v.metadata({ description: 'The newest decision in force on a span of the trace that names an error type' }),
  ),
  duration_ms: v.number(),
  usage: v.nullable(
    v.object({
      input_tokens: v.nullable(v.number()),
      output_tokens: v.nullable(v.number()),
      cost_usd: v.nullable(v.number()),
    }),
  ),
})

/** A result on the wire. */
export const toAttribution = (traceId: string, result: AttributionResult): v.InferOutput<typeof Attribution> => ({
  trace_id: traceId,
  ...toErrorType(result.override ?? result.answer),
  reasoning: result.reasoning,
  confidence: result.confidence,
  alternatives: result.alternatives.map(({ errorType, confidence }) => ({ error_type: errorType, confidence })),
  span_id: result.spanId,
  evidence: result.evidence.map(({ spanId, path, note }) => ({ span_id: spanId, path, note })),
  engine: result.engine,
  created_at: isoTime(result.createdAt),
  engine_answer: toErrorType(result.answer),
  override: result.override && {
    ...toErrorType(result.override),
    span_id: result.override.spanId,
    by: result.override.userId,
    comment: result.override.comment,
    created_at: isoTime(result.override.createdAt),
  },
  duration_ms: result.cost.durationMs,
  usage: usageOf(result),
})

const toErrorType = ({ errorType, id, name, category }: NamedErrorType) => ({
  error_type: errorType,
  error_type_id: id,
  error_type_name: name,
  error_type_category: category,
})

function usageOf({ cost: { inputTokens, outputTokens, costUsd } }: AttributionResult) {
  if (inputTokens === null && outputTokens === null && costUsd === null) return null
  return { input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: costUsd }
}
