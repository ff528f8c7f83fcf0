import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { MAX_CONVERSATION_MESSAGES } from '../../limits.ts'
import { combined, contentOf, Fields, isEmpty, piecesOf, present, resultOf } from './message-parts.ts'
import { parsed } from './serialized.ts'

/*
 * Every client has its own form of a conversation. Reviewers read and correct one:
 *
 *   {role, content, reasoning?, tool_calls?: [{id, name, arguments}], tool_results?: [{id, name, result}], tool_call_id?, name?}
 *
 * `content` is a text, or a list of parts where not all is text (`{type: "text", text}`, and images and files as they came),
 * or null where there is none; a tool message's is the tool's result. What a message holds beyond that stays on it.
 */

/** A message in the one form. */
export type Message = JsonObject

/** What a model answered, taken out of what it came in. */
export interface Answer {
  /** The message; `{choices: [...]}` where there are several; `{messages: [...]}` where they are a conversation. */
  output: Json
  /** Why each choice ended. They are no longer on the messages. */
  finishReasons: string[]
  /** What the answer came with: its id, its model, its usage. */
  rest: JsonObject
}

/** What LangChain, Gemini and others call the roles. */
const ROLES: ReadonlyMap<string, string> = new Map([
  ['human', 'user'],
  ['HumanMessage', 'user'],
  ['HumanMessageChunk', 'user'],
  ['ai', 'assistant'],
  ['AIMessage', 'assistant'],
  ['AIMessageChunk', 'assistant'],
  ['model', 'assistant'],
  ['bot', 'assistant'],
  ['SystemMessage', 'system'],
  ['SystemMessageChunk', 'system'],
  ['ToolMessage', 'tool'],
  ['ToolMessageChunk', 'tool'],
  ['FunctionMessage', 'function'],
])

const roleOf = (name: string): string => ROLES.get(name) ?? name

/** LangChain's `type` of a message. */
const LANGCHAIN_TYPES = new Set(['human', 'ai', 'system', 'tool', 'function', 'AIMessageChunk', 'HumanMessageChunk'])

const CONTENT_FIELDS = ['content', 'contents', 'parts', 'tool_calls', 'toolCalls', 'function_call', 'reasoning_content']

/** LangChain serializes a message as the call that makes it; others wrap one with its index and its end. */
function unwrapped(value: JsonObject): JsonObject {
  const { kwargs, id, data, type, message } = value
  if (value.lc !== undefined && isJsonObject(kwargs)) {
    const name = Array.isArray(id) ? id.at(-1) : undefined
    return { ...kwargs, ...(typeof name === 'string' && ROLES.has(name) && { role: name }) }
  }
  if (typeof type === 'string' && LANGCHAIN_TYPES.has(type) && value.role === undefined) {
    const { type: _, data: __, ...fields } = value
    return isJsonObject(data) ? { ...fields, ...data, role: type } : { ...fields, role: type }
  }
  if (isJsonObject(message) && value.role === undefined) {
    const { message: _, index: __, text, ...fields } = value
    const inner = unwrapped(message)
    // LangChain has the text of an answer beside it, too.
    return { ...fields, ...(text !== undefined && text !== inner.content && { text }), ...inner }
  }
  return value
}

/** Whether a value is a message of any form. */
function isMessage(value: Json | undefined): value is JsonObject {
  if (!isJsonObject(value)) return false
  const message = unwrapped(value)
  return typeof message.role === 'string' && CONTENT_FIELDS.some(field => message[field] !== undefined)
}

/** Whether a list is of messages, and no more than are brought into the one form: a longer one stays as it came. */
const areMessages = (list: readonly Json[]): boolean => list.length <= MAX_CONVERSATION_MESSAGES && list.some(isMessage)

/**
 * One message of any form in the one form. Results of tools that came within a user's or a tool's message become messages of
 * their own, before it; within an assistant's they are its `tool_results`.
 */
export function messagesFrom(value: Json, defaultRole: string): Message[] {
  if (!isJsonObject(value)) return [{ role: defaultRole, content: value }]
  const fields = new Fields(unwrapped(value))
  const role = roleOf(fields.text('role') ?? defaultRole)
  // Which says nothing that its role does not.
  if (fields.has('type', 'message')) fields.drop('type')
  const { whole, parts, reasoning, reasoningDetails, calls, results } = piecesOf(fields)
  const content = parts.length === 0 ? whole : contentOf(whole === undefined ? parts : [...parts, { content: whole }])
  const isResult = role === 'tool' || role === 'function'
  const known = present({
    role,
    content: content === undefined ? null : isResult ? resultOf(parsed(content)) : content,
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

const resultMessage = ({ id, name, result, ...more }: JsonObject): Message =>
  combined(present({ role: 'tool', content: result ?? null, tool_call_id: id, name }), more)

const systemOf = (instructions: Json): Message[] =>
  Array.isArray(instructions) && !instructions.some(isMessage)
    ? messagesFrom({ role: 'system', content: instructions }, 'system')
    : listOf(instructions).flatMap(item => messagesFrom(item, 'system'))

const listOf = (value: Json): Json[] => (Array.isArray(value) ? value : [value])

/**
 * What a model was asked, as `{messages: [...]}`; undefined where the value is no conversation. Takes lists of messages (also
 * of one conversation in a list), one message, and requests with `messages`, whose other fields stay beside them; all of them
 * serialized or not. Instructions that came apart come first, as a system message.
 */
export function inputMessages(value: Json | undefined, instructions?: Json): JsonObject | undefined {
  const system = instructions === undefined ? [] : systemOf(parsed(instructions))
  if (value === undefined) return system.length > 0 ? { messages: system } : undefined
  const conversation = parsed(value)
  if (isJsonObject(conversation) && !isMessage(conversation)) return requestMessages(conversation, system)
  const list = Array.isArray(conversation) ? conversation.flat() : [conversation]
  if (!areMessages(list)) return undefined
  return { messages: [...system, ...list.flatMap(item => messagesFrom(item, 'user'))] }
}

/** What was asked, of values that are known to be messages, whatever they look like. */
export const conversationOf = (values: Json): JsonObject => ({
  messages: itemsOf(values).flatMap(item => messagesFrom(item, 'user')),
})

/** What was answered, of values that are known to be messages. */
export const answerOf = (values: Json): Answer => answerFrom(itemsOf(values), {})

/** A list that was sent under keys; where one of these is no index, it came as an object. */
const itemsOf = (values: Json): Json[] => (isJsonObject(values) ? Object.values(values) : listOf(values))

/** A value in which there may be messages: those that a chain, a tool or an agent passes on. Any other stays as it is. */
export function withMessages(value: Json): Json {
  if (!isMessage(value)) return inputMessages(value) ?? value
  const messages = messagesFrom(value, 'user')
  return messages.length === 1 ? (messages[0] ?? null) : { messages }
}

function requestMessages(request: JsonObject, system: Message[]): JsonObject | undefined {
  const fields = new Fields(request.lc !== undefined && isJsonObject(request.kwargs) ? request.kwargs : request)
  const messages = fields.list('messages', 'contents', 'input').flat()
  if (!areMessages(messages)) return undefined
  const instructions = fields.take('system', 'system_instruction', 'systemInstruction')
  return {
    messages: [
      ...system,
      ...(instructions === undefined ? [] : systemOf(instructions)),
      ...messages.flatMap(item => messagesFrom(item, 'user')),
    ],
    ...fields.rest(),
  }
}

/**
 * What a model answered; undefined where the value is no answer of one. Takes messages, and the responses of OpenAI, Anthropic,
 * Gemini and LangChain, serialized or not.
 */
export function outputMessage(value: Json | undefined): Answer | undefined {
  if (value === undefined) return undefined
  const answer = parsed(value)
  if (isMessage(answer)) return answerFrom([answer], {})
  if (Array.isArray(answer)) {
    const list = answer.flat()
    return answer.some(isMessage) && areMessages(list) ? answerFrom(list, {}) : undefined
  }
  if (!isJsonObject(answer)) return undefined
  const fields = new Fields(answer)
  if (Array.isArray(answer.output) && answer.output.some(isItem)) {
    fields.drop('output')
    return answerFrom([messageOfItems(answer.output)], fields.rest())
  }
  // Google's ADK has one of Gemini's candidates alone.
  if (isMessage(answer.content)) {
    fields.drop('content')
    return answerFrom([answer.content], fields.rest())
  }
  const choices = fields.list('choices', 'generations', 'candidates', 'messages').flat()
  const candidates = choices.map(candidate)
  return areMessages(candidates) ? answerFrom(candidates, fields.rest()) : undefined
}

const isItem = (item: Json): boolean =>
  isMessage(item) || (isJsonObject(item) && (item.type === 'function_call' || item.type === 'reasoning'))

/** OpenAI's Responses API tells an answer in items, of which the message is one. */
function messageOfItems(items: Json[]): JsonObject {
  const content = items.flatMap(item =>
    isJsonObject(item) && item.type === 'message' && Array.isArray(item.content) ? item.content : [item],
  )
  const message = items.find(item => isJsonObject(item) && item.type === 'message')
  return { role: 'assistant', ...(isJsonObject(message) && message), content }
}

/** Gemini has the message in `content`. */
function candidate(choice: Json): Json {
  if (!isJsonObject(choice) || !isJsonObject(choice.content)) return choice
  const { content, ...fields } = choice
  return { ...fields, ...content }
}

function answerFrom(values: Json[], rest: JsonObject): Answer {
  const finishReasons: string[] = []
  const messages = values.flatMap(value =>
    messagesFrom(value, 'assistant').map(message => {
      for (const field of ['finish_reason', 'finishReason', 'stop_reason']) {
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

/** An assistant's message of what came apart: its text, its reasoning, its tool calls; undefined where there is none of them. */
export function assistantMessage(parts: { text?: Json; reasoning?: Json; toolCalls?: Json }): Message | undefined {
  const calls = parts.toolCalls === undefined ? [] : listOf(parsed(parts.toolCalls))
  if (parts.text === undefined && parts.reasoning === undefined && calls.length === 0) return undefined
  const value = present({ content: parts.text, reasoning: parts.reasoning, tool_calls: calls })
  return messagesFrom(value, 'assistant')[0]
}
