import type { Json, JsonObject } from '../../domain/json.ts'
import { STEP_KINDS, type StepKind } from '../../domain/step-kind.ts'
import { idOf, numberOf, objectOf, parsedObject, present, taken, textOf } from '../reading/attribute-values.ts'
import { isParameter } from '../reading/content-by-kind.ts'
import type { Convention, Reading, SpanReader, TraceReading, Usage } from '../reading/convention.ts'
import { errorFrom } from '../reading/errors.ts'
import { retrievedChunks } from '../reading/retrieved-chunks.ts'
import { contentOf } from '../reading/span-content.ts'
import { nameInGraph } from '../reading/step-names.ts'

/*
 * LangSmith's SDKs in OpenTelemetry mode, and the attributes that it documents for other instrumentations. Only
 * `langsmith.span.kind` describes a span correctly: `gen_ai.operation.name` calls a retriever "embeddings" and a prompt
 * "chat". Source: langsmith-sdk, `js/src/experimental/otel/{constants,translator}.ts`, and a run of the client.
 */

const OTHER_KINDS: ReadonlyMap<string, StepKind> = new Map([
  ['parser', 'task'],
  ['rerank', 'reranker'],
  ['graph', 'workflow'],
])

export const langsmith: Convention = {
  name: 'langsmith',
  read(span) {
    if (!span.hasBelow('langsmith.')) return undefined
    const kind = kindOf(taken(span, 'langsmith.span.kind', textOf))
    const metadata = span.below('langsmith.metadata.')
    const usage = objectOf(span.peek('langsmith.usage_metadata')) ?? objectOf(metadata.get('usage_metadata'))
    const name = taken(span, 'langsmith.trace.name', textOf)
    // LangSmith uses these keys for the input of every kind of run. Other senders use them only for prompts.
    const isRun = span.span.source.scope.name === 'langsmith' || span.has('langsmith.trace.name')
    const output = isRun ? returned(span.get('gen_ai.completion')) : undefined
    const { response, ...content } = contentOf(kind, isRun ? span.get('gen_ai.prompt') : undefined, output)
    return present<Reading>({
      kind,
      stepId: nameInGraph(kind, name ?? span.span.name, Object.fromEntries(metadata)) ?? name,
      ...content,
      state: present<Record<string, Json>>({
        retrieved_chunks: kind === 'retriever' ? retrievedChunks(output) : undefined,
        config: configOf(metadata),
      }),
      // The translator infers the provider from the model's name and otherwise sends "langchain".
      model: idOf(metadata.get('ls_model_name')),
      provider: idOf(metadata.get('ls_provider')),
      usage: usageOf(usage),
      cost: costOf(usage),
      trace: traceOf(metadata),
      metadata: present<JsonObject>({ error: errorOf(span), response }),
    })
  },
}

function kindOf(type: string | undefined): StepKind | undefined {
  const name = type?.toLowerCase()
  if (name === undefined) return undefined
  return STEP_KINDS.find(kind => kind === name) ?? OTHER_KINDS.get(name) ?? 'chain'
}

/**
 * `traceable` reads the usage from the returned value, but the usage also stays there. If the value isn't an object,
 * it's wrapped as `{output: …}`. If the run failed, the wrapped value is null.
 */
function returned(output: Json | undefined): Json | undefined {
  const { usage_metadata, ...rest } = objectOf(output) ?? {}
  if (rest.output !== undefined && Object.keys(rest).length === 1) return rest.output ?? undefined
  return usage_metadata === undefined ? output : rest
}

/**
 * LangSmith sets a run's status to ok at the start, and later statuses can't override it, so only the exception shows a
 * failure.
 */
function errorOf({ span }: SpanReader): JsonObject | undefined {
  const exception = span.events.findLast(({ name }) => name === 'exception')?.attributes
  return (
    exception &&
    errorFrom(textOf(exception.get('exception.type')) ?? 'error', textOf(exception.get('exception.message')))
  )
}

const PARAMETERS = ['ls_temperature', 'ls_max_tokens', 'ls_stop']

function configOf(metadata: ReadonlyMap<string, Json>): JsonObject | undefined {
  const named = PARAMETERS.flatMap(key => {
    const value = metadata.get(key)
    return value === undefined ? [] : [[key.slice('ls_'.length), numberOf(value) ?? value] as const]
  })
  const config = { ...parsedObject(named), ...objectOf(metadata.get('invocation_params')) }
  return Object.keys(config).length > 0 ? config : undefined
}

function usageOf(usage: JsonObject | undefined): Usage | undefined {
  if (!usage) return undefined
  const input = objectOf(usage.input_token_details)
  return present<Usage>({
    input_tokens: numberOf(usage.input_tokens),
    output_tokens: numberOf(usage.output_tokens),
    total_tokens: numberOf(usage.total_tokens),
    cache_read_tokens: numberOf(input?.cache_read),
    cache_write_tokens: numberOf(input?.cache_creation),
    reasoning_tokens: numberOf(objectOf(usage.output_token_details)?.reasoning),
  })
}

const costOf = (usage: JsonObject | undefined): JsonObject | undefined =>
  usage &&
  present<JsonObject>({
    input: numberOf(usage.input_cost),
    output: numberOf(usage.output_cost),
    total: numberOf(usage.total_cost),
  })

/**
 * The session's name (the project's name) and copies of OpenTelemetry's ids stay among the attributes. LangChain adds a
 * model's parameters to the metadata of its call.
 */
const traceOf = (metadata: ReadonlyMap<string, Json>): TraceReading | undefined => {
  const isOfModel = (key: string): boolean => metadata.has('_type') && (isParameter(key) || key === 'model_name')
  return present<TraceReading>({ metadata: parsedObject([...metadata].filter(([key]) => !isOfModel(key))) })
}
