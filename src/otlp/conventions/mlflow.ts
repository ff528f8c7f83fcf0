import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, numberOf, objectOf, present, taken, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader, TraceReading, Usage } from '../reading/convention.ts'
import { contentOf, valueFrom } from '../reading/span-content.ts'

/*
 * MLflow's tracing, which encodes every attribute as JSON, strings included. Source: mlflow,
 * `mlflow/tracing/constant.py`, and a recorded export of 3.17.
 */

const KINDS_OF_TYPES: ReadonlyMap<string, StepKind> = new Map([
  ['LLM', 'llm'],
  ['CHAT_MODEL', 'llm'],
  ['EMBEDDING', 'embedding'],
  ['RETRIEVER', 'retriever'],
  ['RERANKER', 'reranker'],
  ['TOOL', 'tool'],
  ['AGENT', 'agent'],
  ['CHAIN', 'chain'],
  ['PARSER', 'chain'],
  ['WORKFLOW', 'workflow'],
  ['TASK', 'task'],
  ['GUARDRAIL', 'guardrail'],
  ['EVALUATOR', 'evaluator'],
])

/** Attributes in which MLflow describes the recording itself. */
const OF_THE_RECORDING = ['spanFunctionName', 'spanLogLevel', 'traceRequestId', 'message.format']

export const mlflow: Convention = {
  name: 'mlflow',
  read(span) {
    if (!span.hasBelow('mlflow.')) return undefined
    const kind = taken(span, 'mlflow.spanType', type => KINDS_OF_TYPES.get(textOf(valueFrom(type)) ?? ''))
    const asked = valueFrom(span.get('mlflow.spanInputs'))
    const { input, output, finishReasons } = contentOf(kind, asked, span.get('mlflow.spanOutputs'))
    for (const key of OF_THE_RECORDING) span.get(`mlflow.${key}`)
    const copied = copiedArguments(span, asked)
    return present<Reading>({
      kind,
      finishReasons,
      model: textIn(span, 'mlflow.llm.model') ?? idOf(copied.get('model')),
      provider: textIn(span, 'mlflow.llm.provider'),
      usage: usageOf(taken(span, 'mlflow.chat.tokenUsage', objectOf)),
      cost: costOf(taken(span, 'mlflow.llm.cost', objectOf)),
      trace: present<TraceReading>({
        groupId: textIn(span, 'mlflow.trace.session'),
        userId: textIn(span, 'mlflow.trace.user'),
      }),
      fallback: present<NonNullable<Reading['fallback']>>({ input, output }),
    })
  },
}

const textIn = (span: SpanReader, key: string): string | undefined => taken(span, key, value => idOf(valueFrom(value)))

/** The arguments to a model call that MLflow's wrappers send a second time, each as its own attribute. */
function copiedArguments(span: SpanReader, asked: Json | undefined): Map<string, Json> {
  const copied = new Map<string, Json>()
  if (!isJsonObject(asked)) return copied
  for (const name of Object.keys(asked)) {
    const value = span.has(name) ? span.get(name) : undefined
    if (value !== undefined) copied.set(name, valueFrom(value) ?? null)
  }
  return copied
}

const usageOf = (usage: JsonObject | undefined): Usage | undefined =>
  usage &&
  present<Usage>({
    input_tokens: numberOf(usage.input_tokens),
    output_tokens: numberOf(usage.output_tokens),
    total_tokens: numberOf(usage.total_tokens),
    cache_read_tokens: numberOf(usage.cache_read_input_tokens),
    cache_write_tokens: numberOf(usage.cache_creation_input_tokens),
  })

const costOf = (cost: JsonObject | undefined): JsonObject | undefined =>
  cost &&
  present<JsonObject>({
    input: numberOf(cost.input_cost),
    output: numberOf(cost.output_cost),
    total: numberOf(cost.total_cost),
  })
