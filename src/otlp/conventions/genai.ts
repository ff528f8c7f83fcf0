import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, numberOf, present, taken, textOf, textsOf, versionOf } from '../reading/attribute-values.ts'
import type { Convention, PromptReference, Reading, SpanReader, Usage } from '../reading/convention.ts'
import { type Answer, inputMessages, outputMessage } from '../reading/messages.ts'
import { modelConfig, toolNames } from '../reading/model-config.ts'
import { type SpanContent, valueFrom } from '../reading/span-content.ts'
import type { TelemetryEvent } from '../reading/telemetry.ts'

/*
 * OpenTelemetry's semantic conventions for generative AI since 1.37: messages are attributes of the span, as JSON or
 * structured values, or of its event `gen_ai.client.inference.operation.details`. This convention also reads everything
 * in older versions except messages and documents. Vercel's AI SDK 7 writes this form. Source: semantic-conventions
 * 1.41, gen-ai.
 */

const KINDS_OF_OPERATIONS: ReadonlyMap<string, StepKind> = new Map([
  ['chat', 'llm'],
  ['generate_content', 'llm'],
  ['text_completion', 'llm'],
  ['embeddings', 'embedding'],
  ['retrieval', 'retriever'],
  ['rerank', 'reranker'],
  ['execute_tool', 'tool'],
  ['create_agent', 'agent'],
  ['invoke_agent', 'agent'],
  ['invoke_workflow', 'workflow'],
  ['plan', 'chain'],
  // The AI SDK's name for a model call together with the tool calls that it requested.
  ['agent_step', 'chain'],
  ['search_memory', 'retriever'],
  ['create_memory', 'task'],
  ['update_memory', 'task'],
  ['upsert_memory', 'task'],
  ['delete_memory', 'task'],
  ['create_memory_store', 'task'],
  ['delete_memory_store', 'task'],
])

export const genAi: Convention = {
  name: 'gen_ai',
  read(span) {
    if (!span.hasBelow('gen_ai.') && !span.span.events.some(({ name }) => name.startsWith('gen_ai.'))) return undefined
    // Names also stay among the attributes, because the step's id may differ from them.
    const operation = textOf(span.peek('gen_ai.operation.name'))
    const tool = idOf(span.peek('gen_ai.tool.name'))
    const requested = taken(span, 'gen_ai.request.model', idOf)
    const model = taken(span, 'gen_ai.response.model', idOf) ?? requested
    const { input, output, response, finishReasons } = contentOf(span)
    const evaluations = span.events('gen_ai.evaluation.result').map(evaluationOf)
    const tools = toolNames(span.peek('gen_ai.tool.definitions'))
    return present<Reading>({
      kind: operation === undefined ? undefined : KINDS_OF_OPERATIONS.get(operation),
      stepId: tool,
      input,
      output,
      state: present<Record<string, Json>>({
        config: modelConfig(span.below('gen_ai.request.'), requested, tools),
      }),
      model,
      provider: taken(span, 'gen_ai.provider.name', idOf) ?? systemOf(span),
      usage: usageOf(span),
      finishReasons: taken(span, 'gen_ai.response.finish_reasons', textsOf) ?? enumReason(span) ?? finishReasons,
      prompt: promptOf(span),
      evaluations: evaluations.length > 0 ? evaluations : undefined,
      metadata: response && { response },
      fallback: present<NonNullable<Reading['fallback']>>({
        kind: tool !== undefined || span.has('gen_ai.tool.call.id') ? 'tool' : model === undefined ? undefined : 'llm',
        stepId: nameOf(span, operation),
      }),
    })
  },
}

/** Semantic Kernel prints its enum: `FinishReason.STOP`. */
const enumReason = (span: SpanReader): string[] | undefined =>
  taken(span, 'gen_ai.response.finish_reason', value => {
    const reason = textOf(value)
      ?.replace(/^FinishReason\./, '')
      .toLowerCase()
    return reason === undefined ? undefined : [reason]
  })

/** LangSmith sends "langchain" for every provider that it doesn't recognize. */
const systemOf = (span: SpanReader): string | undefined =>
  span.peek('gen_ai.system') === 'langchain' ? undefined : idOf(span.get('gen_ai.system'))

/**
 * The agent or workflow, or else the operation if the span's name adds only the model to it. Calls of different models
 * are the same step.
 */
function nameOf(span: SpanReader, operation: string | undefined): string | undefined {
  const agent = operation === 'invoke_agent' ? idOf(span.peek('gen_ai.agent.name')) : undefined
  const name = agent ?? idOf(span.peek('gen_ai.workflow.name'))
  // Logfire's template describes the operation better.
  if (name !== undefined || operation === undefined || span.has('logfire.msg_template')) return name
  const models = ['gen_ai.request.model', 'gen_ai.response.model'].flatMap(key => idOf(span.peek(key)) ?? [])
  return models.some(model => span.span.name === `${operation} ${model}`) ? operation : undefined
}

function contentOf(span: SpanReader): SpanContent {
  const tool = present<SpanContent>({
    input: valueFrom(span.get('gen_ai.tool.call.arguments')),
    output: valueFrom(span.get('gen_ai.tool.call.result')),
  })
  if (tool) return tool
  const details = span.events('gen_ai.client.inference.operation.details')
  const detail = (key: string): Json | undefined =>
    details.map(({ attributes }) => attributes.get(key)).find(value => value !== undefined) ?? undefined
  const inputs = span.get('gen_ai.input.messages') ?? detail('gen_ai.input.messages')
  const input = inputMessages(inputs, span.peek('gen_ai.system_instructions') ?? detail('gen_ai.system_instructions'))
  if (input) span.get('gen_ai.system_instructions')
  const answered = span.get('gen_ai.output.messages') ?? detail('gen_ai.output.messages')
  const answer = outputMessage(answered)
  const content = present<SpanContent>({
    // Anything that isn't a list of messages is kept verbatim.
    input: input ?? valueFrom(inputs),
    output: answer
      ? outputOf(answer, (span.peek('gen_ai.output.type') ?? detail('gen_ai.output.type')) === 'json')
      : valueFrom(answered),
    finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
    response: answer && Object.keys(answer.rest).length > 0 ? answer.rest : undefined,
  })
  return content ?? {}
}

/** Unwraps the output value if structured output was requested and the message contains nothing else. */
function outputOf({ output }: Answer, isStructured: boolean): Json {
  if (!isStructured || !isJsonObject(output) || Object.keys(output).length !== 2) return output
  const value = valueFrom(output.content)
  return typeof value === 'object' && value !== null ? value : output
}

function usageOf(span: SpanReader): Usage | undefined {
  if (!span.hasBelow('gen_ai.usage.')) return undefined
  const count = (key: string): number | undefined => taken(span, key, numberOf)
  return present<Usage>({
    input_tokens: count('gen_ai.usage.input_tokens') ?? count('gen_ai.usage.prompt_tokens'),
    output_tokens: count('gen_ai.usage.output_tokens') ?? count('gen_ai.usage.completion_tokens'),
    total_tokens: count('gen_ai.usage.total_tokens'),
    cache_read_tokens: count('gen_ai.usage.cache_read.input_tokens') ?? count('gen_ai.usage.cache_read_input_tokens'),
    cache_write_tokens:
      count('gen_ai.usage.cache_write.input_tokens') ??
      count('gen_ai.usage.cache_creation.input_tokens') ??
      count('gen_ai.usage.cache_creation_input_tokens'),
    reasoning_tokens:
      count('gen_ai.usage.reasoning.output_tokens') ??
      count('gen_ai.usage.reasoning_tokens') ??
      count('gen_ai.usage.thinking_tokens') ??
      count('gen_ai.usage.details.reasoning_tokens'),
  })
}

const promptOf = (span: SpanReader): PromptReference | undefined =>
  present<PromptReference>({
    name: taken(span, 'gen_ai.prompt.name', idOf),
    version: taken(span, 'gen_ai.prompt.version', versionOf),
  })

/**
 * Reads a judgment as `{name, score, label, explanation}` plus the event's other fields. The event doesn't say who made
 * the judgment, so it isn't treated as a person's.
 */
function evaluationOf({ attributes }: TelemetryEvent): JsonObject {
  const rest = new Map(attributes)
  const take = (name: string): Json | undefined => {
    const value = rest.get(`gen_ai.evaluation.${name}`) ?? undefined
    rest.delete(`gen_ai.evaluation.${name}`)
    return value
  }
  const score = take('score.value')
  const known = present<JsonObject>({
    name: take('name'),
    score: numberOf(score) ?? score,
    label: take('score.label'),
    explanation: take('explanation'),
  })
  return { ...known, ...Object.fromEntries(rest) }
}
