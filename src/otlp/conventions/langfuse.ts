import type { Json, JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { numberOf, objectOf, parsedObject, present, sumOf, taken, textOf } from '../reading/attribute-values.ts'
import { calledWith } from '../reading/content-by-kind.ts'
import type { Convention, PromptReference, Reading, SpanReader, TraceReading, Usage } from '../reading/convention.ts'
import { retrievedChunks } from '../reading/retrieved-chunks.ts'
import { contentOf, valueFrom } from '../reading/span-content.ts'

/*
 * Langfuse's SDKs. Their span processor adds the trace's fields to every span, including spans from other
 * instrumentations. Source: langfuse-js 5.11, `packages/core/src/constants.ts`, and recorded exports.
 */

const KINDS_OF_TYPES: ReadonlyMap<string, StepKind> = new Map([
  ['generation', 'llm'],
  ['embedding', 'embedding'],
  ['retriever', 'retriever'],
  ['tool', 'tool'],
  ['agent', 'agent'],
  ['chain', 'chain'],
  ['evaluator', 'evaluator'],
  ['guardrail', 'guardrail'],
  ['span', 'task'],
  ['event', 'task'],
])

export const langfuse: Convention = {
  name: 'langfuse',
  read(span) {
    if (!span.hasBelow('langfuse.')) return undefined
    const kind = kindOf(span)
    const returned = span.get('langfuse.observation.output')
    // The Python SDK joins the parts of a streamed answer into a string.
    const isText = kind === 'llm' && typeof valueFrom(returned) === 'string'
    const output = isText ? { role: 'assistant', content: valueFrom(returned) ?? null } : returned
    const input = valueFrom(span.get('langfuse.observation.input'))
    const { response, ...content } = contentOf(kind, input === undefined ? undefined : calledWith(input), output)
    return present<Reading>({
      kind,
      ...content,
      state: present<Record<string, Json>>({
        retrieved_chunks: kind === 'retriever' ? retrievedChunks(output) : undefined,
        config: configOf(taken(span, 'langfuse.observation.model.parameters', objectOf)),
      }),
      model: taken(span, 'langfuse.observation.model.name', textOf),
      usage: usageOf(objectOf(span.peek('langfuse.observation.usage_details'))),
      cost: taken(span, 'langfuse.observation.cost_details', objectOf),
      prompt: promptOf(span),
      trace: traceOf(span),
      metadata: metadataOf(span, response),
    })
  },
}

function kindOf(span: SpanReader): StepKind | undefined {
  const kind = taken(span, 'langfuse.observation.type', type => KINDS_OF_TYPES.get(textOf(type)?.toLowerCase() ?? ''))
  // Python SDKs before 3.3.1 label generations as spans.
  const isGeneration = span.has('langfuse.observation.model.name') || span.has('langfuse.observation.usage_details')
  return isGeneration && (kind === undefined || kind === 'task') ? 'llm' : kind
}

/** The OpenAI wrapper sends an unset parameter as an empty string, and an unset limit as infinity. */
const configOf = (parameters: JsonObject | undefined): JsonObject | undefined =>
  parsedObject(
    Object.entries(parameters ?? {}).filter(([, value]) => value !== '' && value !== null && value !== 'Infinity'),
  )

/**
 * Langfuse counts each token once: `input` excludes `input_cached_tokens` and the like. If a caller passes on a
 * provider's numbers, `input` includes them, and input plus output equals the total.
 */
function usageOf(details: JsonObject | undefined): Usage | undefined {
  if (!details) return undefined
  const count = (...names: string[]): number | undefined =>
    names.map(name => numberOf(details[name])).find(number => number !== undefined)
  const input = count('input', 'prompt_tokens', 'input_tokens', 'promptTokens')
  const output = count('output', 'completion_tokens', 'output_tokens', 'completionTokens')
  const total = count('total', 'total_tokens', 'totalTokens')
  // A provider's own numbers have the details in separate objects.
  const cached = numberOf(objectOf(details.prompt_tokens_details ?? details.input_tokens_details)?.cached_tokens)
  const reasoned = numberOf(
    objectOf(details.completion_tokens_details ?? details.output_tokens_details)?.reasoning_tokens,
  )
  const isWhole = details.input === undefined || (total !== undefined && sumOf(input, output) === total)
  return present<Usage>({
    input_tokens: isWhole ? input : sumOf(input, partsOf(details, 'input_')),
    output_tokens: isWhole ? output : sumOf(output, partsOf(details, 'output_')),
    total_tokens: total,
    cache_read_tokens: count('input_cached_tokens', 'input_cache_read', 'cache_read_input_tokens') ?? cached,
    cache_write_tokens: count('input_cache_creation', 'input_cache_write', 'cache_creation_input_tokens'),
    reasoning_tokens: count('output_reasoning_tokens', 'output_reasoning') ?? reasoned,
  })
}

const partsOf = (details: JsonObject, prefix: string): number | undefined =>
  sumOf(...Object.entries(details).map(([name, value]) => (name.startsWith(prefix) ? numberOf(value) : undefined)))

function promptOf(span: SpanReader): PromptReference | undefined {
  // Spans from other instrumentations have the second prefix.
  for (const prefix of ['langfuse.observation.prompt', 'langfuse.prompt']) {
    const name = taken(span, `${prefix}.name`, textOf)
    const version = taken(span, `${prefix}.version`, value => numberOf(value) ?? textOf(value))
    if (name !== undefined) return { name, ...(version !== undefined && { version }) }
  }
  return undefined
}

const traceOf = (span: SpanReader): TraceReading | undefined =>
  present<TraceReading>({
    name: taken(span, 'langfuse.trace.name', textOf),
    environment: taken(span, 'langfuse.environment', textOf),
    release: taken(span, 'langfuse.release', textOf),
    metadata: metadataBelow(span, 'langfuse.trace.metadata'),
    input: valueFrom(span.get('langfuse.trace.input')),
    output: valueFrom(span.get('langfuse.trace.output')),
    isRoot: taken(span, 'langfuse.internal.as_root', value => value === true || undefined),
  })

/** Metadata that isn't an object is sent as one value, with the prefix itself as its key. */
function metadataBelow(span: SpanReader, prefix: string): JsonObject | undefined {
  const whole = valueFrom(span.get(prefix))
  const fields = parsedObject(span.below(`${prefix}.`))
  return whole === undefined ? fields : { ...(objectOf(whole) ?? { metadata: whole }), ...fields }
}

function metadataOf(span: SpanReader, response: JsonObject | undefined): JsonObject | undefined {
  const level = taken(span, 'langfuse.observation.level', textOf)
  const message = taken(span, 'langfuse.observation.status_message', textOf)
  return present<JsonObject>({
    ...(level === 'ERROR' && { error: { type: 'error', ...(message !== undefined && { message }) } }),
    langfuse: present<JsonObject>({
      level,
      status_message: message,
      version: taken(span, 'langfuse.version', textOf),
      completion_start_time: valueFrom(span.get('langfuse.observation.completion_start_time')),
      metadata: metadataBelow(span, 'langfuse.observation.metadata'),
    }),
    response,
  })
}
