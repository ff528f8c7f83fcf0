import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { MAX_CONVERSATION_MESSAGES } from '../../limits.ts'
import { messageOfLangChain, ROLES_OF_CLASSES, withoutLangChain } from './langchain.ts'
import { CONTENTS, combined, contentOf, Fields, isEmpty, piecesOf, present, resultOf } from './message-parts.ts'
import { valueOfText } from './python.ts'
import { parsed } from './serialized.ts'

/*
 * Every client has its own form for conversations. Reviewers read and correct this form:
 *
 *   {role, content, reasoning?, tool_calls?: [{id, name, arguments}], tool_results?: [{id, name, result}],
 *    tool_call_id?, name?}
 *
 * `content` is a string; or a list of parts if some aren't text (`{type: "text", text}`, and images and files as sent);
 * or null if there is none. The content of a tool message is the tool's result. All other fields of a message are kept.
 */

/** A message in the form above. */
export type Message = JsonObject

/** A model's answer, unwrapped from the response. */
export interface Answer {
  /** The message, `{choices: [...]}` if there are several, or `{messages: [...]}` if they form a conversation. */
  output: Json
  /** Why each choice ended. These reasons are removed from the messages. */
  finishReasons: string[]
  /** Other fields of the response: its id, model, usage. */
  rest: JsonObject
}

/** Role names in LangChain, Gemini, smolagents, and others. */
const ROLES: ReadonlyMap<string, string> = new Map([
  ...ROLES_OF_CLASSES,
  ['user', 'user'],
  ['assistant', 'assistant'],
  ['model', 'assistant'],
  ['bot', 'assistant'],
  ['tool-call', 'assistant'],
  ['tool-response', 'tool'],
])

/** Items in OpenAI's Responses API, and in LiveKit, that aren't messages. */
const ROLES_OF_ITEMS: ReadonlyMap<string, string> = new Map([
  ['function_call', 'assistant'],
  ['reasoning', 'assistant'],
  ['function_call_output', 'tool'],
])

const roleOf = (name: string): string => ROLES.get(name) ?? name

const CONTENT_FIELDS = [...CONTENTS, 'tool_calls', 'toolCalls', 'function_call', 'reasoning_content']

/** Some clients wrap a message with its index and finish reason. */
function unwrapped(value: JsonObject): JsonObject {
  const { kwargs, message } = value
  const ofLangChain = messageOfLangChain(value)
  if (ofLangChain) return ofLangChain
  if (value.lc !== undefined && isJsonObject(kwargs)) return kwargs
  if (isJsonObject(message) && value.role === undefined) {
    const { message: _, index: __, type: ___, generation_info, text, ...fields } = value
    const { finish_reason } = isJsonObject(generation_info) ? generation_info : {}
    if (finish_reason !== undefined) fields.finish_reason = finish_reason
    const inner = unwrapped(message)
    // LangChain repeats an answer's text next to the message.
    return { ...fields, ...(text !== undefined && text !== inner.content && { text }), ...inner }
  }
  return value
}

/** Whether a value is a message in any client's form. */
function isMessage(value: Json | undefined): value is JsonObject {
  if (!isJsonObject(value)) return false
  const message = unwrapped(value)
  return typeof message.role === 'string' && CONTENT_FIELDS.some(field => message[field] !== undefined)
}

/** Whether a list holds messages and is short enough to convert. A longer list is kept verbatim. */
const areMessages = (list: readonly Json[]): boolean => list.length <= MAX_CONVERSATION_MESSAGES && list.some(isMessage)

/**
 * Converts one message in any form. Tool results inside a user or tool message become separate messages before it. In
 * an assistant message, they become its `tool_results`.
 */
export function messagesFrom(value: Json, defaultRole: string): Message[] {
  if (!isJsonObject(value)) return [{ role: defaultRole, content: value }]
  const itemRole = value.role === undefined ? ROLES_OF_ITEMS.get(String(value.type)) : undefined
  if (itemRole !== undefined) return messagesFrom({ role: itemRole, content: [value] }, itemRole)
  const fields = new Fields(unwrapped(value))
  const role = roleOf(fields.text('role') ?? defaultRole)
  // This `type` adds nothing to the role.
  if (fields.has('type', 'message')) fields.drop('type')
  const { whole, parts, reasoning, reasoningDetails, calls, results } = piecesOf(withoutLabel(fields))
  const content = parts.length === 0 ? whole : contentOf(whole === undefined ? parts : [...parts, { content: whole }])
  const isResult = role === 'tool' || role === 'function'
  const known = present({
    role,
    content: content === undefined ? null : isResult ? resultOf(valueOfText(content)) : content,
    reasoning: reasoning.length > 0 ? reasoning.join('\n') : undefined,
    reasoning_details: reasoningDetails.length > 0 ? reasoningDetails : undefined,
    tool_calls: calls.length > 0 ? calls : undefined,
    tool_results: role === 'assistant' && results.length > 0 ? results : undefined,
    tool_call_id: fields.text('tool_call_id', 'toolCallId'),
    name: fields.text('name'),
  })
  const rest = fields.rest()
  const message = combined(known, rest)
  if (role === 'assistant' || results.length === 0) return [message]
  const hasMore = content !== undefined || calls.length > 0 || reasoning.length > 0 || !isEmpty(rest)
  return [...results.map(resultMessage), ...(hasMore ? [message] : [])]
}

/** smolagents gives a model its calls and their results as text: `Calling tools:\n[{'id': …}]`. */
function withoutLabel(fields: Fields): Fields {
  const [, label, printed = ''] = LABEL.exec(fields.onlyText('content', 'contents') ?? '') ?? []
  const value = label === undefined ? undefined : valueOfText(printed)
  if (typeof value !== 'object') return fields
  fields.drop('content', 'contents')
  fields.put(label === 'Observation' ? 'content' : 'tool_calls', value)
  return fields
}

const LABEL = /^(Calling tools|Observation):\n(?=[[{])(.*)$/s

const resultMessage = ({ id, name, result, ...more }: JsonObject): Message =>
  combined(present({ role: 'tool', content: result ?? null, tool_call_id: id, name }), more)

const systemOf = (instructions: Json): Message[] =>
  Array.isArray(instructions) && !instructions.some(isMessage)
    ? messagesFrom({ role: 'system', content: instructions }, 'system')
    : listOf(instructions).flatMap(item => messagesFrom(item, 'system'))

const listOf = (value: Json): Json[] => (Array.isArray(value) ? value : [value])

/**
 * A model's input as `{messages: [...]}`, or undefined if the value isn't a conversation. Accepts lists of messages
 * (also nested in a list of one conversation), a single message, and requests with `messages`, whose other fields are
 * kept. Each may be serialized. Separate instructions come first, as a system message.
 */
export function inputMessages(value: Json | undefined, instructions?: Json): JsonObject | undefined {
  const system = instructions === undefined ? [] : systemOf(parsed(instructions))
  if (value === undefined) return system.length > 0 ? { messages: system } : undefined
  const conversation = parsed(value)
  if (isJsonObject(conversation) && !isMessage(conversation)) return requestMessages(conversation, system)
  const list = Array.isArray(conversation) ? messageList(conversation) : [conversation]
  if (!areMessages(list)) return undefined
  return { messages: [...system, ...list.flatMap(askedMessages)] }
}

/** A list of messages, or a list of one conversation. LangChain also accepts a message as `[role, text]`. */
const messageList = (list: Json[]): Json[] => (list.some(isPair) ? list : list.flat()).map(pairMessage)

const isPair = (item: Json): item is [string, Json] =>
  Array.isArray(item) && item.length === 2 && typeof item[0] === 'string' && ROLES.has(item[0])

const pairMessage = (item: Json): Json => (isPair(item) ? { role: item[0], content: item[1] } : item)

/** An input message, without the reason why an earlier answer ended. */
const askedMessages = (item: Json): Message[] =>
  messagesFrom(item, 'user').map(message => {
    for (const field of FINISH_REASONS) if (message[field] !== undefined) delete message[field]
    return message
  })

const FINISH_REASONS = ['finish_reason', 'finishReason', 'stop_reason']

/** Converts values that are known to be input messages, regardless of their form. */
export const conversationOf = (values: Json): JsonObject => ({
  messages: itemsOf(values).flatMap(askedMessages),
})

/** Converts values that are known to be output messages. */
export const answerOf = (values: Json): Answer => answerFrom(itemsOf(values), {})

/** A list that was sent as separate keys. If one of the keys wasn't an index, the list arrives as an object. */
const itemsOf = (values: Json): Json[] => (isJsonObject(values) ? Object.values(values) : listOf(values))

/** Converts messages in a value that a chain, a tool, or an agent passes on. Any other value is kept verbatim. */
export function withMessages(given: Json): Json {
  const only = Array.isArray(given) && given.length === 1 ? given[0] : given
  if (isJsonObject(only) && isResponse(only)) return answerIn(only)?.output ?? given
  const value = withoutLangChain(given, nestedMessage)
  if (!isMessage(value)) return inputMessages(value) ?? value
  const messages = askedMessages(value)
  return messages.length === 1 ? (messages[0] ?? null) : { messages }
}

/** A message within another value. Converts it to the form above unless it would become several messages. */
function nestedMessage(value: JsonObject): JsonObject {
  if (isResponse(value)) {
    const output = answerIn(value)?.output
    return isJsonObject(output) ? output : value
  }
  const isPlain = typeof value.content === 'string' && value.tool_calls === undefined && !value.additional_kwargs
  const messages = !isPlain && isMessage(value) && ROLES.has(String(value.role)) ? askedMessages(value) : []
  return messages.length === 1 ? (messages[0] ?? value) : value
}

function requestMessages(request: JsonObject, system: Message[]): JsonObject | undefined {
  const fields = new Fields(request.lc !== undefined && isJsonObject(request.kwargs) ? request.kwargs : request)
  const messages = messageList(fields.list('messages', 'contents', 'input', 'items'))
  // OpenAI's Responses API takes a string, along with the instructions or the model.
  if (messages.length === 0 && (request.instructions ?? request.model) !== undefined) {
    const text = fields.text('input')
    if (text !== undefined) messages.push({ role: 'user', content: text })
  }
  if (!areMessages(messages)) return undefined
  // Google's clients put the instructions among the parameters.
  const config = new Fields(fields.object('config') ?? {})
  const instructions =
    fields.take('system', 'system_instruction', 'systemInstruction', 'instructions') ??
    config.take('system_instruction', 'systemInstruction')
  const parameters = config.rest()
  if (!isEmpty(parameters)) fields.put('config', parameters)
  return {
    messages: [
      ...system,
      ...(instructions === undefined ? [] : systemOf(instructions)),
      ...messages.flatMap(askedMessages),
    ],
    ...fields.rest(),
  }
}

/**
 * A model's answer, or undefined if the value isn't one. Accepts messages and responses from OpenAI, Anthropic, Gemini,
 * and LangChain, serialized or not.
 */
export function outputMessage(value: Json | undefined): Answer | undefined {
  if (value === undefined) return undefined
  const answer = parsed(value)
  if (isJsonObject(answer) && isResponse(answer)) return answerIn(answer)
  if (isMessage(answer)) return answerFrom([answer], {})
  if (Array.isArray(answer)) {
    if (answer.length <= MAX_CONVERSATION_MESSAGES && answer.some(isCallItem))
      return answerFrom([messageOfItems(answer)], {})
    const list = answer.flat()
    return answer.some(isMessage) && areMessages(list) ? answerFrom(list, {}) : undefined
  }
  return isJsonObject(answer) ? answerIn(answer) : undefined
}

/** What a response says about its run, besides its message. */
const OF_RESPONSE = new Set([
  ...['id', 'model', 'usage', 'meta', 'stop_sequence', 'container', 'service_tier'],
  ...['inner_content', 'ai_model_id', 'metadata', 'content_type'],
])

/** Whether a value is a whole response from a provider or a framework, and not just a message. */
function isResponse(value: JsonObject): boolean {
  const { message, object, usage, meta, inner_content, finish_reason, index } = value
  // LlamaIndex and Genkit put the message next to the provider's response.
  if (value.role === undefined && isMessage(message)) return finish_reason === undefined && index === undefined
  if (typeof object === 'string') return /^(?:chat\.completion|response$)/.test(object)
  return value.role !== undefined && isJsonObject(usage ?? meta ?? inner_content)
}

function answerIn(answer: JsonObject): Answer | undefined {
  const fields = new Fields(answer)
  if (answer.role !== undefined) {
    const rest = Object.entries(answer).filter(([field]) => OF_RESPONSE.has(field))
    fields.drop(...OF_RESPONSE)
    return answerFrom([fields.rest()], Object.fromEntries(rest))
  }
  if (answer.message !== undefined && isResponse(answer)) {
    fields.drop('message')
    return answerFrom([answer.message], fields.rest())
  }
  if (Array.isArray(answer.output) && answer.output.some(isItem)) {
    fields.drop('output')
    return answerFrom([messageOfItems(answer.output)], fields.rest())
  }
  // Google's ADK sends a single Gemini candidate.
  if (isMessage(answer.content)) {
    fields.drop('content')
    return answerFrom([answer.content], fields.rest())
  }
  const choices = fields.list('choices', 'generations', 'candidates', 'replies', 'messages').flat()
  const candidates = choices.map(candidate)
  return areMessages(candidates) ? answerFrom(candidates, fields.rest()) : undefined
}

const isItem = (item: Json): boolean => isMessage(item) || isCallItem(item)

const isCallItem = (item: Json): boolean =>
  isJsonObject(item) && item.role === undefined && (item.type === 'function_call' || item.type === 'reasoning')

/** OpenAI's Responses API sends an answer as a list of items. One of them is the message. */
function messageOfItems(items: Json[]): JsonObject {
  const content = items.flatMap(item =>
    isJsonObject(item) && item.type === 'message' && Array.isArray(item.content) ? item.content : [item],
  )
  const message = items.find(item => isJsonObject(item) && item.type === 'message')
  const { id, status, ...fields } = isJsonObject(message) ? message : {}
  return { role: 'assistant', ...fields, content }
}

/** Gemini puts the message in `content`. */
function candidate(choice: Json): Json {
  if (!isJsonObject(choice) || !isJsonObject(choice.content)) return choice
  const { content, ...fields } = choice
  return { ...fields, ...content }
}

function answerFrom(values: Json[], rest: JsonObject): Answer {
  const finishReasons: string[] = []
  const messages = values.flatMap(value =>
    messagesFrom(value, 'assistant').map(message => {
      for (const field of FINISH_REASONS) {
        const reason = message[field]
        if (typeof reason !== 'string') continue
        finishReasons.push(reason)
        delete message[field]
      }
      return message
    }),
  )
  const [only] = messages
  if (messages.length === 1 && only) return { output: only, finishReasons, rest }
  const isConversation = messages.some(message => message.role !== 'assistant')
  return { output: isConversation ? { messages } : { choices: messages }, finishReasons, rest }
}

/**
 * Builds an assistant message from its separately sent text, reasoning, and tool calls. Undefined if all are absent.
 */
export function assistantMessage(parts: { text?: Json; reasoning?: Json; toolCalls?: Json }): Message | undefined {
  const calls = parts.toolCalls === undefined ? [] : listOf(parsed(parts.toolCalls))
  if (parts.text === undefined && parts.reasoning === undefined && calls.length === 0) return undefined
  const value = present({ content: parts.text, reasoning: parts.reasoning, tool_calls: calls })
  return messagesFrom(value, 'assistant')[0]
}
