import * as v from 'valibot'
import { citedDoc, ERROR_CATEGORIES, reviewersStatement } from '../domain/attribution.ts'
import { IsoTime, isoTime, Uuid } from '../http/atoms.ts'
import type { AttributionOverride, AttributionResult, NamedErrorType } from '../store/attribution/state.ts'

/** An error type in a result. */
const errorTypeFields = {
  error_type: v.pipe(v.string(), v.metadata({ examples: ['outdated_reference'] })),
  error_type_id: Uuid,
  error_type_name: v.string(),
  error_type_category: v.picklist(ERROR_CATEGORIES),
}

const Confidence = v.pipe(v.number(), v.minValue(0), v.maxValue(1))

const Evidence = v.object({ span_id: v.nullable(Uuid), path: v.string(), note: v.string() })

/** An engine's complete answer. */
const EngineAnswer = v.object({
  ...errorTypeFields,
  reasoning: v.string(),
  confidence: Confidence,
  alternatives: v.array(v.object({ error_type: v.string(), confidence: Confidence })),
  span_id: v.nullable(Uuid),
  evidence: v.array(Evidence),
  doc_slug: v.nullable(v.string()),
  engine: v.string(),
  created_at: IsoTime,
})

/** The root cause of a disagreement: the error type that a reviewer named, or else the engine's answer. */
export const Attribution = v.object({
  trace_id: v.string(),
  ...EngineAnswer.entries,
  reasoning: v.pipe(
    v.string(),
    v.metadata({ description: "The engine's reasoning, or the comment of the reviewer who named the error type" }),
  ),
  confidence: v.pipe(
    v.nullable(Confidence),
    v.metadata({
      description: "The probability that the engine's answer is the cause. Null if a reviewer named the cause.",
    }),
  ),
  alternatives: v.pipe(
    EngineAnswer.entries.alternatives,
    v.metadata({ description: 'The two next most likely error types. Empty if a reviewer named the cause.' }),
  ),
  span_id: v.pipe(
    v.nullable(Uuid),
    v.metadata({
      description:
        'The earliest span whose output should have been different. For errors by users and reviewers, the first span whose ' +
        'output was disputed. Null for an unsupported request, a step that never ran, or a trace that has only a root.',
    }),
  ),
  evidence: v.pipe(
    v.array(Evidence),
    v.metadata({
      description: 'The evidence, strongest first. If a reviewer named the cause, the decision of that reviewer.',
    }),
  ),
  doc_slug: v.pipe(
    v.nullable(v.string()),
    v.metadata({
      description:
        'The knowledge doc that the evidence cites first. Null if it cites none, or if a reviewer named another type.',
    }),
  ),
  engine: v.pipe(v.string(), v.metadata({ description: "The engine: rules, or the model's name" })),
  engine_answer: v.pipe(
    EngineAnswer,
    v.metadata({ description: "The engine's answer, even if a reviewer overruled it" }),
  ),
  override: v.pipe(
    v.nullable(
      v.object({ ...errorTypeFields, span_id: Uuid, by: Uuid, comment: v.nullable(v.string()), created_at: IsoTime }),
    ),
    v.metadata({
      description:
        "The newest of the current decisions on the trace's spans that name an error type. Null if there is none.",
    }),
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

/** A result as sent to clients. */
export function toAttribution(traceId: string, result: AttributionResult): v.InferOutput<typeof Attribution> {
  const { override } = result
  const engineAnswer = toEngineAnswer(result)
  return {
    trace_id: traceId,
    ...engineAnswer,
    ...(override && toStatement(override, result)),
    engine_answer: engineAnswer,
    override: override && {
      ...toErrorType(override),
      span_id: override.spanId,
      by: override.userId,
      comment: override.comment,
      created_at: isoTime(override.createdAt),
    },
    duration_ms: result.cost.durationMs,
    usage: usageOf(result),
  }
}

const toEngineAnswer = (result: AttributionResult): v.InferOutput<typeof EngineAnswer> => ({
  ...toErrorType(result.answer),
  reasoning: result.reasoning,
  confidence: result.confidence,
  alternatives: result.alternatives.map(({ errorType, confidence }) => ({ error_type: errorType, confidence })),
  span_id: result.spanId,
  evidence: result.evidence.map(({ spanId, path, note }) => ({ span_id: spanId, path, note })),
  doc_slug: citedDoc(result.evidence),
  engine: result.engine,
  created_at: isoTime(result.createdAt),
})

/**
 * The reviewer's error type instead of the engine's. Contains none of the engine's reasoning, but keeps the doc if both
 * name the same type.
 */
function toStatement(override: AttributionOverride, { answer, evidence: cited }: AttributionResult) {
  const { spanId, createdAt } = override
  const { reasoning, evidence } = reviewersStatement(override)
  return {
    ...toErrorType(override),
    reasoning,
    confidence: null,
    alternatives: [],
    span_id: spanId,
    evidence: evidence.map(({ spanId, path, note }) => ({ span_id: spanId, path, note })),
    doc_slug: override.errorType === answer.errorType ? citedDoc(cited) : null,
    created_at: isoTime(createdAt),
  }
}

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
