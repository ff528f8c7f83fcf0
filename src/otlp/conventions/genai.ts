import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { TelemetryEvent } from '../telemetry.ts'
import { idOf, numberOf, present, textOf, textsOf } from './attribute-values.ts'
import type { Convention, Kind, PromptReference, Reading, SpanReader, Usage } from './convention.ts'
import { type Answer, inputMessages, outputMessage } from './messages.ts'
import { modelConfig, toolNames } from './model-config.ts'
import { type SpanContent, valueFrom } from './span-content.ts'

/*
 * OpenTelemetry's semantic conventions for generative AI, from 1.37 on: messages are attributes of the span, as JSON or
 * structured, or of its event `gen_ai.client.inference.operation.details`. What older versions have for anything but messages
 * and documents is read here too. Vercel's AI SDK 7 writes this form. Source: semantic-conventions 1.41, gen-ai.
 */

const KINDS_OF_OPERATIONS: ReadonlyMap<string, Kind> = new Map([
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
  // The AI SDK's: one call of the model, and of the tools that it asked for.
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
    // Names stay among the attributes: the step's id may be another one.
    const operation = textOf(span.peek('gen_ai.operation.name'))
    const tool = idOf(span.peek('gen_ai.tool.name'))
    const requested = idOf(span.get('gen_ai.request.model'))
    const model = idOf(span.get('gen_ai.response.model')) ?? requested
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
      provider: idOf(span.get('gen_ai.provider.name')) ?? idOf(span.get('gen_ai.system')),
      usage: usageOf(span),
      finishReasons: textsOf(span.get('gen_ai.response.finish_reasons')) ?? finishReasons,
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

/** The agent or the workflow; else the operation, where the span's name adds only the model, which makes no other step. */
function nameOf(span: SpanReader, operation: string | undefined): string | undefined {
  const agent = operation === 'invoke_agent' ? idOf(span.peek('gen_ai.agent.name')) : undefined
  const name = agent ?? idOf(span.peek('gen_ai.workflow.name'))
  // Logfire's template says better what an operation was for.
  if (name !== undefined || operation === undefined || span.has('logfire.msg_template')) return name
  const models = [span.peek('gen_ai.request.model'), span.peek('gen_ai.response.model')]
  return models.some(model => span.span.name === `${operation} ${model}`) ? operation : undefined
}

function contentOf(span: SpanReader): SpanContent {
  const tool = present<SpanContent>({
    input: valueFrom(span.get('gen_ai.tool.call.arguments')),
    output: valueFrom(span.get('gen_ai.tool.call.result')),
  })
  if (tool) return tool
  const details = span.events('gen_ai.client.inference.operation.details')
  const find = (key: string): Json | undefined =>
    span.get(key) ??
    details.map(({ attributes }) => attributes.get(key)).find(value => value !== undefined) ??
    undefined
  const asked = find('gen_ai.input.messages')
  const answered = find('gen_ai.output.messages')
  const answer = outputMessage(answered)
  const content = present<SpanContent>({
    // What is no list of messages is told as it is.
    input: inputMessages(asked, find('gen_ai.system_instructions')) ?? valueFrom(asked),
    output: answer ? outputOf(answer, find('gen_ai.output.type') === 'json') : valueFrom(answered),
    finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
    response: answer && Object.keys(answer.rest).length > 0 ? answer.rest : undefined,
  })
  return content ?? {}
}

/** A structured output is the value that was asked for, where the message holds nothing else. */
function outputOf({ output }: Answer, isStructured: boolean): Json {
  if (!isStructured || !isJsonObject(output) || Object.keys(output).length !== 2) return output
  const value = valueFrom(output.content)
  return typeof value === 'object' && value !== null ? value : output
}

function usageOf(span: SpanReader): Usage | undefined {
  return present<Usage>({
    input_tokens: numberOf(span.first('gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens')),
    output_tokens: numberOf(span.first('gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens')),
    total_tokens: numberOf(span.get('gen_ai.usage.total_tokens')),
    cache_read_tokens: numberOf(
      span.first('gen_ai.usage.cache_read.input_tokens', 'gen_ai.usage.cache_read_input_tokens'),
    ),
    cache_write_tokens: numberOf(
      span.first(
        'gen_ai.usage.cache_write.input_tokens',
        'gen_ai.usage.cache_creation.input_tokens',
        'gen_ai.usage.cache_creation_input_tokens',
      ),
    ),
    reasoning_tokens: numberOf(span.first('gen_ai.usage.reasoning.output_tokens', 'gen_ai.usage.reasoning_tokens')),
  })
}

function promptOf(span: SpanReader): PromptReference | undefined {
  const version = span.get('gen_ai.prompt.version')
  return present<PromptReference>({
    name: idOf(span.get('gen_ai.prompt.name')),
    version: typeof version === 'number' ? version : textOf(version),
  })
}

/** A judgment as `{name, score, label, explanation}`, and what else the event says. Who judged is not in it: no person. */
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
