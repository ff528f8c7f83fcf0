import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { idOf, numberOf, objectOf, parsedObject, present, sumOf, taken, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader, Usage } from '../reading/convention.ts'
import {
  answerOf,
  assistantMessage,
  conversationOf,
  inputMessages,
  type Message,
  outputMessage,
} from '../reading/messages.ts'
import { modelConfig, toolNames } from '../reading/model-config.ts'
import { valueFrom } from '../reading/span-content.ts'
import { messageOf } from './genai-events.ts'

/*
 * Logfire's SDKs, and pydantic-ai, whose instrumentation was built for them. For pydantic-ai, this convention reads
 * only the additions to OpenTelemetry's conventions: version 1 sends messages as lists of events, versions up to 2 use
 * their own names for agents and tools, and all versions send the messages of a whole run. Source: pydantic/logfire,
 * `_internal/constants.py` and `integrations/llm_providers`; pydantic/pydantic-ai, `capabilities/instrumentation.py`,
 * `models/instrumented.py`, and the tests of their older versions.
 */

export const logfire: Convention = {
  name: 'logfire',
  read(span) {
    const scope = span.span.source.scope.name
    const isPydanticAi = scope === 'pydantic-ai' || span.has('pydantic_ai.all_messages')
    const isLogfires = scope === 'logfire' || scope.startsWith('logfire.') || span.hasBelow('logfire.')
    if (!isPydanticAi && !isLogfires) return undefined
    // This record is sent when the span starts. The record has its own id, and its parent is the span itself.
    if (span.peek('logfire.span_type') === 'pending_span') return { isPending: true }
    const schema = taken(span, 'logfire.json_schema', objectOf)
    const agent = isPydanticAi ? idOf(span.peek('agent_name')) : undefined
    const content = agentRun(span, isPydanticAi) ?? modelTurn(span)
    const call = callOf(span)
    const cost = taken(span, 'operation.cost', numberOf)
    const metadata = isPydanticAi ? taken(span, 'metadata', objectOf) : undefined
    const isTool = isPydanticAi && (span.has('tool_arguments') || span.has('tool_response'))
    return present<Reading>({
      kind: agent !== undefined ? 'agent' : undefined,
      stepId: agent,
      input: content?.input ?? (isTool ? valueFrom(span.get('tool_arguments')) : undefined),
      output: content?.output ?? (isTool ? valueFrom(span.get('tool_response')) : undefined),
      state: present<Record<string, Json>>({ steps: content?.steps, config: call?.config }),
      model: agent === undefined ? undefined : idOf(span.peek('model_name')),
      usage: call?.usage,
      cost: cost === undefined ? undefined : { total: cost },
      trace: metadata && { metadata },
      fallback: present<NonNullable<Reading['fallback']>>({
        kind: call?.kind ?? (isTool ? 'tool' : undefined),
        stepId: ownTemplate(span) ?? wrapperName(span, call),
        input: call ? call.input : isPydanticAi ? undefined : argumentsOf(span, schema),
        output: call ? call.output : isPydanticAi ? undefined : valueFrom(span.peek('return')),
      }),
    })
  },
}

/** The caller's message template. Logfire's wrappers for model clients have templates that only name the model. */
export const ownTemplate = (span: SpanReader): string | undefined => {
  const template = textOf(span.peek('logfire.msg_template'))
  return template === undefined || /\{(?:request_data|gen_ai\.)/.test(template) ? undefined : template
}

const wrapperName = (span: SpanReader, call: Call | undefined): string | undefined =>
  span.has('logfire.msg_template')
    ? (textOf(span.peek('gen_ai.operation.name')) ?? (call?.kind === 'embedding' ? 'embeddings' : 'chat'))
    : undefined

interface Content {
  input: Json | undefined
  output: Json | undefined
  /** The steps between input and output: tool calls and their results. */
  steps?: Json | undefined
}

/** Reads an agent run. Its list of messages includes messages from before the run. */
function agentRun(span: SpanReader, isPydanticAi: boolean): Content | undefined {
  const messages = allMessages(span)
  if (messages === undefined && !isPydanticAi) return undefined
  const result = valueFrom(span.get('final_result'))
  if (messages === undefined && result === undefined) return undefined
  const all = messages ?? []
  const lastPrompt = all.findLastIndex(message => message.role === 'user')
  // If there's no prompt, the run starts right after the instructions.
  const firstAnswer = all.findIndex(message => message.role === 'assistant')
  const end = lastPrompt >= 0 ? lastPrompt + 1 : firstAnswer >= 0 ? firstAnswer : all.length
  const last = all.length > end ? all.at(-1) : undefined
  const isAnswer = last?.role === 'assistant' && (result === undefined ? !last.tool_calls : last.content === result)
  const steps = all.slice(end, isAnswer ? -1 : undefined)
  return {
    input: end > 0 ? { messages: all.slice(0, end) } : undefined,
    output: isAnswer ? last : typeof result === 'string' ? assistantMessage({ text: result }) : result,
    steps: steps.length > 0 ? steps : undefined,
  }
}

function allMessages(span: SpanReader): Message[] | undefined {
  const events = eventsOf(span, 'all_messages_events')
  if (events) return messagesIn(conversationOf(events.map(eventMessage)))
  const instructions = span.peek('gen_ai.system_instructions')
  const conversation = inputMessages(span.peek('pydantic_ai.all_messages') ?? [], instructions)
  if (!conversation) return undefined
  span.first('pydantic_ai.all_messages', 'gen_ai.system_instructions')
  return messagesIn(conversation)
}

const messagesIn = (conversation: JsonObject | undefined): Message[] =>
  Array.isArray(conversation?.messages) ? conversation.messages.filter(isJsonObject) : []

/** Reads a model's turn from a list of events: its input messages and its choices. */
function modelTurn(span: SpanReader): Content | undefined {
  const events = eventsOf(span, 'events')
  if (!events) return undefined
  const choices = events.filter(event => event['event.name'] === 'gen_ai.choice')
  if (choices.length > 0) {
    const asked = events.filter(event => event['event.name'] !== 'gen_ai.choice')
    return { input: conversationOf(asked.map(eventMessage)), output: answerOf(choices.map(eventMessage)).output }
  }
  // In Logfire's form for OpenAI responses, the assistant's last messages are the answer, one event per part.
  const messages = messagesIn(conversationOf(events.map(eventMessage)))
  const end = messages.findLastIndex(message => message.role !== 'assistant') + 1
  const answer = messages.slice(end)
  const texts = answer.map(({ content }) => content).filter(content => typeof content === 'string')
  return {
    input: { messages: messages.slice(0, end) },
    output: assistantMessage({
      ...(texts.length > 0 && { text: texts.join('\n') }),
      toolCalls: answer.flatMap(({ tool_calls }) => tool_calls ?? []),
    }),
  }
}

/**
 * The list under a key, or undefined if it isn't a list of events. Logfire's callers may use these names for their own
 * data.
 */
function eventsOf(span: SpanReader, key: string): JsonObject[] | undefined {
  const list = valueFrom(span.peek(key))
  const events = Array.isArray(list) ? list.filter(isJsonObject) : []
  if (!events.some(event => textOf(event['event.name'])?.startsWith('gen_ai.'))) return undefined
  span.get(key)
  return events
}

const eventMessage = (event: JsonObject): Json =>
  messageOf({ name: textOf(event['event.name']) ?? '', attributes: new Map(Object.entries(event)) })

interface Call extends Content {
  kind: 'llm' | 'embedding'
  config: JsonObject | undefined
  usage: Usage | undefined
}

/** A model call through Logfire's wrappers for the OpenAI and Anthropic clients: the request and the response. */
function callOf(span: SpanReader): Call | undefined {
  const request = objectOf(span.peek('request_data'))
  const name = textOf(request?.model)
  if (!request || name === undefined) return undefined
  span.get('request_data')
  const { model, messages, system, input, prompt, tools, ...parameters } = request
  const response = taken(span, 'response_data', objectOf)
  const isSaid = span.hasBelow('gen_ai.request.')
  return {
    kind: input === undefined ? 'llm' : 'embedding',
    input: inputMessages(messages, system) ?? present<JsonObject>({ input, prompt }),
    output: response && responseOf(response),
    // OpenTelemetry's conventions already provide the same config.
    config: isSaid ? undefined : modelConfig(Object.entries(parameters), name, toolNames(tools)),
    usage: span.hasBelow('gen_ai.usage.') ? undefined : usageOf(objectOf(response?.usage)),
  }
}

function responseOf({ message, combined_chunk_content, usage, chunk_count, ...others }: JsonObject): Json | undefined {
  const text = textOf(combined_chunk_content)
  if (message !== undefined) return outputMessage(message)?.output ?? message
  if (text !== undefined) return assistantMessage({ text })
  return Object.keys(others).length > 0 ? others : undefined
}

/** Anthropic counts tokens read from and written to the cache separately. */
const usageOf = (usage: JsonObject | undefined): Usage | undefined =>
  usage &&
  present<Usage>({
    input_tokens:
      numberOf(usage.prompt_tokens) ??
      sumOf(
        numberOf(usage.input_tokens),
        numberOf(usage.cache_read_input_tokens),
        numberOf(usage.cache_creation_input_tokens),
      ),
    output_tokens: numberOf(usage.completion_tokens) ?? numberOf(usage.output_tokens),
    total_tokens: numberOf(usage.total_tokens),
    cache_read_tokens:
      numberOf(usage.cache_read_input_tokens) ?? numberOf(objectOf(usage.prompt_tokens_details)?.cached_tokens),
    cache_write_tokens: numberOf(usage.cache_creation_input_tokens),
    reasoning_tokens: numberOf(objectOf(usage.completion_tokens_details)?.reasoning_tokens),
  })

/** The arguments of a caller's own span or instrumented function. The schema lists their names. */
function argumentsOf(span: SpanReader, schema: JsonObject | undefined): JsonObject | undefined {
  if (span.peek('logfire.span_type') === 'log') return undefined
  // Names with a dot are attributes defined by conventions.
  const names = Object.keys(objectOf(schema?.properties) ?? {}).filter(name => !name.includes('.') && name !== 'return')
  const given = names.map(name => [name, span.peek(name)] as const)
  return parsedObject(given.filter((entry): entry is [string, Json] => entry[1] !== undefined))
}
