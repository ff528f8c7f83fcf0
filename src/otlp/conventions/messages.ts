import { findJsonFault, isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { MAX_JSON_DEPTH } from '../../limits.ts'

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

/**
 * A serialised value: texts that are JSON objects, lists or quoted texts are parsed, twice where they were serialised twice.
 * Any other text stays as it is: a number says nothing more than its text, and might be one.
 */
export function parsed(value: Json): Json {
  const once = parsedOnce(value)
  return once === value ? value : parsedOnce(once)
}

function parsedOnce(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value
  try {
    const result: Json = JSON.parse(value)
    // Nested too deep, or with a number that JSON cannot write again: the text says it better.
    return findJsonFault(result) ? value : result
  } catch {
    return value
  }
}

type Branch = Map<string, Branch | { leaf: Json }>

/**
 * The value whose parts were sent under keys like `0.message.role`; undefined where there are none. Where all keys of a level
 * are indices they make a list in the order of the numbers, whatever these are: one that is left out or far too large takes
 * no room. Nulls are left out.
 */
export function unflatten(entries: Iterable<readonly [string, Json]>): Json | undefined {
  const root: Branch = new Map()
  for (const [key, leaf] of entries) if (leaf !== null) graft(root, key, leaf)
  return root.size === 0 ? undefined : grown(root)
}

function graft(root: Branch, key: string, leaf: Json): void {
  const steps = key.split('.')
  // A key of a thousand dots would nest as deep: the rest of it is one name.
  const path = [...steps.slice(0, MAX_JSON_DEPTH / 2), ...joined(steps.slice(MAX_JSON_DEPTH / 2))]
  let branch = root
  for (const step of path.slice(0, -1)) {
    const next = branch.get(step)
    if (next instanceof Map) {
      branch = next
      continue
    }
    // Where a key is another one's beginning, its own value goes under an empty name.
    const added: Branch = new Map(next && [['', next]])
    branch.set(step, added)
    branch = added
  }
  const last = path.at(-1) ?? ''
  const there = branch.get(last)
  if (there instanceof Map) there.set('', { leaf })
  else branch.set(last, { leaf })
}

const joined = (steps: string[]): string[] => (steps.length === 0 ? [] : [steps.join('.')])

function grown(branch: Branch): Json {
  const entries = [...branch].map(([key, node]) => [key, node instanceof Map ? grown(node) : node.leaf] as const)
  if (!entries.every(([key]) => /^\d+$/.test(key))) return Object.fromEntries(entries)
  return entries
    .sort(([left], [right]) => left.length - right.length || (left < right ? -1 : 1))
    .map(([, item]) => item)
}

/** An object's fields, as far as nobody took them. Nulls are none. */
class Fields {
  readonly #left = new Map<string, Json>()

  constructor(value: JsonObject) {
    for (const [name, item] of Object.entries(value)) if (item !== null) this.#left.set(name, item)
  }

  /** The first of these that is there; it is removed, as with the others below. */
  take(...names: string[]): Json | undefined {
    return this.#first(names, () => true)
  }

  text(...names: string[]): string | undefined {
    const found = this.#first(names, value => typeof value === 'string')
    return typeof found === 'string' ? found : undefined
  }

  list(...names: string[]): Json[] {
    const found = this.#first(names, Array.isArray)
    return Array.isArray(found) ? found : []
  }

  object(...names: string[]): JsonObject | undefined {
    const found = this.#first(names, isJsonObject)
    return isJsonObject(found) ? found : undefined
  }

  put(name: string, value: Json): void {
    this.#left.set(name, value)
  }

  has(name: string, value: Json): boolean {
    return this.#left.get(name) === value
  }

  drop(...names: string[]): void {
    for (const name of names) this.#left.delete(name)
  }

  /** What is left, but for what is empty. */
  rest(): JsonObject {
    for (const [name, value] of this.#left) if (isEmpty(value)) this.#left.delete(name)
    return Object.fromEntries(this.#left)
  }

  #first(names: string[], accepts: (value: Json) => boolean): Json | undefined {
    for (const name of names) {
      const value = this.#left.get(name)
      if (value === undefined || !accepts(value)) continue
      this.#left.delete(name)
      return value
    }
    return undefined
  }
}

const isEmpty = (value: Json): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** The fields that are there. Their names are not a sender's. */
function present(fields: Record<string, Json | undefined>): JsonObject {
  const found: JsonObject = {}
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) found[name] = value
  }
  return found
}

/** An object of the one form, and what else its source held: under `other`, where that has a name of the form. */
function combined(known: JsonObject, rest: JsonObject): JsonObject {
  // Most have nothing more, and spreading two objects takes ten times as long.
  if (isEmpty(rest)) return known
  const [clashing = [], free = []] = [true, false].map(clashes =>
    Object.entries(rest).filter(([field]) => Object.hasOwn(known, field) === clashes),
  )
  const other = clashing.length > 0 ? { other: Object.fromEntries(clashing) } : {}
  return { ...known, ...Object.fromEntries(free), ...other }
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

/** LangChain serialises a message as the call that makes it; others wrap one with its index and its end. */
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
export function isMessage(value: Json | undefined): value is JsonObject {
  if (!isJsonObject(value)) return false
  const message = unwrapped(value)
  return typeof message.role === 'string' && CONTENT_FIELDS.some(field => message[field] !== undefined)
}

/** A message's content while it is taken apart. */
interface Pieces {
  parts: JsonObject[]
  reasoning: string[]
  reasoningDetails: Json[]
  calls: JsonObject[]
  results: JsonObject[]
}

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
  const { whole, ...pieces } = piecesOf(fields)
  const { reasoning, reasoningDetails, calls, results } = pieces
  const content = pieces.parts.length === 0 ? whole : contentOf(pieces.parts)
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

/** Takes out of a message all that is its content. */
function piecesOf(fields: Fields): Pieces & { whole: Json | undefined } {
  const pieces: Pieces = { parts: [], reasoning: [], reasoningDetails: [], calls: [], results: [] }
  let whole: Json | undefined
  for (const name of ['content', 'parts', 'contents']) {
    const content = fields.take(name)
    if (Array.isArray(content)) for (const part of content) addPart(pieces, part)
    else if (typeof content === 'string') pieces.parts.push({ type: 'text', text: content })
    else whole ??= content
  }
  for (const name of ['reasoning_content', 'reasoning', 'thinking']) {
    const text = fields.text(name)
    if (text && !pieces.reasoning.includes(text)) pieces.reasoning.push(text)
  }
  for (const name of ['tool_calls', 'toolCalls']) {
    for (const call of fields.list(name)) pieces.calls.push(toolCall(call))
  }
  const functionCall = fields.object('function_call')
  if (functionCall) pieces.calls.push(toolCall(functionCall))
  // LangChain sends a call twice: as its own, and as the provider's.
  const provided = fields.object('additional_kwargs')
  if (provided) addProvided(pieces, fields, provided)
  return { ...pieces, whole }
}

function addProvided(pieces: Pieces, fields: Fields, provided: JsonObject): void {
  const more = new Fields(provided)
  const calls = more.list('tool_calls').map(toolCall)
  if (pieces.calls.length === 0) pieces.calls.push(...calls)
  const reasoning = more.text('reasoning_content')
  if (reasoning) pieces.reasoning.push(reasoning)
  fields.put('additional_kwargs', more.rest())
}

/** Several texts are one; with anything else among them they are a list. */
function contentOf(parts: JsonObject[]): Json {
  const texts = parts.map(part => (Object.keys(part).length === 2 && part.type === 'text' ? part.text : undefined))
  return texts.every(text => typeof text === 'string') ? texts.join('\n') : parts
}

const TEXT_PARTS = new Set(['text', 'input_text', 'output_text'])
const REASONING_PARTS = new Set(['reasoning', 'thinking'])
const CALL_PARTS = new Set([
  'tool_call',
  'tool-call',
  'tool_use',
  'function',
  'function_call',
  'server_tool_call',
  'server_tool_use',
  'mcp_tool_use',
])
const RESULT_PARTS = new Set([
  'tool_call_response',
  'tool-result',
  'tool_result',
  'function_call_output',
  'server_tool_call_response',
  'mcp_tool_result',
])

function addPart(pieces: Pieces, part: Json): void {
  if (!isJsonObject(part)) {
    pieces.parts.push({ type: 'text', text: part })
    return
  }
  // OpenInference wraps each part, and an image once more.
  if (isJsonObject(part.message_content)) {
    const { image, ...inner } = part.message_content
    const picture = isJsonObject(image) && isJsonObject(image.image) ? image.image : image
    addPart(pieces, picture === undefined ? inner : { ...inner, image: picture })
    return
  }
  const type = typeof part.type === 'string' ? part.type : untypedPart(part)
  if (CALL_PARTS.has(type)) addCall(pieces, part)
  else if (RESULT_PARTS.has(type)) pieces.results.push(toolResult(part))
  else if (REASONING_PARTS.has(type) && addReasoning(pieces, part)) return
  else if (TEXT_PARTS.has(type)) pieces.parts.push(textPart(part))
  else pieces.parts.push(part)
}

/** OpenInference has a call's place among the parts, and the call itself beside them. */
function addCall(pieces: Pieces, part: JsonObject): void {
  const call = toolCall(part)
  if (!isEmpty(call)) pieces.calls.push(call)
}

/** Gemini and Genkit tell their parts by the field that is there. */
function untypedPart(part: JsonObject): string {
  if (typeof part.text === 'string') return part.thought === true ? 'reasoning' : 'text'
  if (part.functionCall ?? part.function_call ?? part.toolRequest) return 'function_call'
  if (part.functionResponse ?? part.function_response ?? part.toolResponse) return 'function_call_output'
  return typeof part.reasoning === 'string' ? 'reasoning' : ''
}

function textPart(part: JsonObject): JsonObject {
  const fields = new Fields(part)
  const text = fields.text('text', 'content')
  if (text === undefined) return part
  fields.drop('type')
  return combined({ type: 'text', text }, fields.rest())
}

/** Whether the part told its reasoning: some only hold it encrypted. */
function addReasoning(pieces: Pieces, part: JsonObject): boolean {
  const fields = new Fields(part)
  const text = fields.text('content', 'text', 'thinking', 'reasoning') ?? textOf(fields.list('summary'))
  if (text === undefined) return false
  pieces.reasoning.push(text)
  fields.drop('type', 'thought')
  const details = fields.rest()
  if (!isEmpty(details)) pieces.reasoningDetails.push(details)
  return true
}

/** OpenAI tells its reasoning in parts. */
function textOf(parts: Json[]): string | undefined {
  const texts = parts.map(part => (isJsonObject(part) ? part.text : part)).filter(text => typeof text === 'string')
  return texts.length > 0 ? texts.join('\n') : undefined
}

/** A tool call of any form as `{id, name, arguments}`. */
export function toolCall(value: Json): JsonObject {
  if (!isJsonObject(value)) return { arguments: value }
  const inner = value.tool_call ?? value.functionCall ?? value.toolRequest
  if (isJsonObject(inner)) return toolCall(inner)
  const fields = new Fields(value)
  const called = fields.object('function', 'function_call')
  const callee = new Fields(called ?? {})
  const type = fields.text('type')
  const id = fields.take('call_id', 'toolCallId', 'tool_call_id', 'id', 'ref')
  const name = callee.take('name') ?? fields.take('toolName', 'tool_name', 'name')
  const given = callee.take('arguments', 'args') ?? fields.take('arguments', 'args', 'input')
  const call = present({
    id,
    name,
    arguments: given === undefined ? undefined : parsed(given),
    // The provider's own tools are told apart from the caller's.
    type: type !== undefined && /server|mcp/.test(type) ? type : undefined,
  })
  return combined(combined(call, callee.rest()), fields.rest())
}

/** A tool's result of any form as `{id, name, result}`. */
function toolResult(value: JsonObject): JsonObject {
  const inner = value.functionResponse ?? value.function_response ?? value.toolResponse
  if (isJsonObject(inner)) return toolResult(inner)
  const fields = new Fields(value)
  const type = fields.text('type')
  const id = fields.take('call_id', 'toolCallId', 'tool_call_id', 'tool_use_id', 'id', 'ref')
  const name = fields.take('toolName', 'tool_name', 'name')
  const result = fields.take('response', 'result', 'output', 'content')
  const told = present({
    id,
    name,
    result: result === undefined ? undefined : resultOf(parsed(result)),
    type: type !== undefined && /server|mcp/.test(type) ? type : undefined,
  })
  return combined(told, fields.rest())
}

/** The AI SDK says with a result whether it is a text or a value; a failure stays as it is, for else it would look like none. */
function resultOf(value: Json): Json {
  if (Array.isArray(value) && value.length > 0) {
    const pieces: Pieces = { parts: [], reasoning: [], reasoningDetails: [], calls: [], results: [] }
    if (!value.every(part => isJsonObject(part) && part.type === 'text')) return value
    for (const part of value) addPart(pieces, part)
    return contentOf(pieces.parts)
  }
  if (!isJsonObject(value) || Object.keys(value).length !== 2) return value
  return (value.type === 'json' || value.type === 'text') && value.value !== undefined ? value.value : value
}

const systemOf = (instructions: Json): Message[] =>
  Array.isArray(instructions) && !instructions.some(isMessage)
    ? messagesFrom({ role: 'system', content: instructions }, 'system')
    : listOf(instructions).flatMap(item => messagesFrom(item, 'system'))

const listOf = (value: Json): Json[] => (Array.isArray(value) ? value : [value])

/**
 * What a model was asked, as `{messages: [...]}`; undefined where the value is no conversation. Takes lists of messages (also
 * of one conversation in a list), one message, and requests with `messages`, whose other fields stay beside them; all of them
 * serialised or not. Instructions that came apart come first, as a system message.
 */
export function inputMessages(value: Json | undefined, instructions?: Json): JsonObject | undefined {
  const system = instructions === undefined ? [] : systemOf(parsed(instructions))
  if (value === undefined) return system.length > 0 ? { messages: system } : undefined
  const conversation = parsed(value)
  if (isJsonObject(conversation) && !isMessage(conversation)) return requestMessages(conversation, system)
  const list = Array.isArray(conversation) ? conversation.flat() : [conversation]
  if (!list.some(isMessage)) return undefined
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
  if (!messages.some(isMessage)) return undefined
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
 * Gemini and LangChain, serialised or not.
 */
export function outputMessage(value: Json | undefined): Answer | undefined {
  if (value === undefined) return undefined
  const answer = parsed(value)
  if (isMessage(answer)) return answerFrom([answer], {})
  if (Array.isArray(answer)) return answer.some(isMessage) ? answerFrom(answer.flat(), {}) : undefined
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
  return candidates.some(isMessage) ? answerFrom(candidates, fields.rest()) : undefined
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
