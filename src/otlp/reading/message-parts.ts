import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { valueOfText } from './python.ts'
import { parsed } from './serialized.ts'
import { objectValue } from './values.ts'

/*
 * The parts of a message in any client's form: text, reasoning, tool calls and their results, images, and files.
 */

/** A message's content, sorted by type. */
export interface Pieces {
  parts: JsonObject[]
  reasoning: string[]
  reasoningDetails: Json[]
  calls: JsonObject[]
  results: JsonObject[]
}

/** Fields with a message's content. LlamaIndex has blocks, and Semantic Kernel has items. */
export const CONTENTS = ['content', 'parts', 'contents', 'blocks', 'items']

/** Takes all content out of a message. */
export function piecesOf(fields: Fields): Pieces & { whole: Json | undefined } {
  const pieces: Pieces = { parts: [], reasoning: [], reasoningDetails: [], calls: [], results: [] }
  let whole: Json | undefined
  for (const name of CONTENTS) {
    const content = fields.take(name)
    // OpenInference sends some text twice, as the content and as its only part.
    const [first] = pieces.parts
    const before = pieces.parts.length === 1 && first?.type === 'text' ? first.text : undefined
    if (Array.isArray(content)) for (const part of content) addPart(pieces, part)
    else if (typeof content === 'string') pieces.parts.push({ type: 'text', text: content })
    else whole ??= content
    const [, again] = pieces.parts
    if (before !== undefined && pieces.parts.length === 2 && again?.text === before) pieces.parts.pop()
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
  // LangChain sends each call twice: in its own form and in the provider's.
  const provided = fields.object('additional_kwargs')
  if (provided) addProvided(pieces, fields, provided)
  return { ...pieces, whole }
}

function addProvided(pieces: Pieces, fields: Fields, provided: JsonObject): void {
  const more = new Fields(provided)
  const calls = more.list('tool_calls').map(toolCall)
  if (pieces.calls.length === 0) pieces.calls.push(...calls)
  const id = more.text('tool_call_id')
  if (id !== undefined) fields.put('tool_call_id', id)
  const reasoning = more.text('reasoning_content')
  if (reasoning) pieces.reasoning.push(reasoning)
  fields.put('additional_kwargs', more.rest())
}

/** Joins the parts into one string if all of them are text; otherwise returns them as a list. */
export function contentOf(parts: JsonObject[]): Json {
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
  // OpenInference wraps each part, and wraps an image twice.
  if (isJsonObject(part.message_content)) {
    const { image, ...inner } = part.message_content
    const picture = isJsonObject(image) && isJsonObject(image.image) ? image.image : image
    addPart(pieces, picture === undefined ? inner : { ...inner, image: picture })
    return
  }
  const { block_type, content_type = block_type, ...block } = part
  if (typeof content_type === 'string') {
    addPart(pieces, { ...block, type: content_type })
    return
  }
  const type = typeof part.type === 'string' ? part.type : untypedPart(part)
  if (CALL_PARTS.has(type)) addCall(pieces, part)
  else if (RESULT_PARTS.has(type)) pieces.results.push(toolResult(part))
  else if (REASONING_PARTS.has(type) && addReasoning(pieces, part)) return
  else if (TEXT_PARTS.has(type)) pieces.parts.push(textPart(part))
  else pieces.parts.push(part)
}

/** OpenInference leaves an empty placeholder in the parts and sends the call next to them. */
function addCall(pieces: Pieces, part: JsonObject): void {
  const call = toolCall(part)
  if (!isEmpty(call)) pieces.calls.push(call)
}

/** Parts from Gemini, Genkit, and LlamaIndex have no type, so the fields that are present determine it. */
function untypedPart(part: JsonObject): string {
  if (typeof part.text === 'string') return part.thought === true ? 'reasoning' : 'text'
  if (part.functionCall ?? part.function_call ?? part.toolRequest ?? part.toolUse ?? part.tool_kwargs)
    return 'function_call'
  if (part.functionResponse ?? part.function_response ?? part.toolResponse ?? part.toolResult)
    return 'function_call_output'
  return typeof part.reasoning === 'string' ? 'reasoning' : ''
}

function textPart(part: JsonObject): JsonObject {
  const fields = new Fields(part)
  const text = fields.text('text', 'content')
  if (text === undefined) return part
  fields.drop('type')
  return combined({ type: 'text', text }, fields.rest())
}

/** Returns false if the part has no readable reasoning. Some parts contain only encrypted reasoning. */
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

/** OpenAI sends reasoning as a list of parts. */
function textOf(parts: Json[]): string | undefined {
  const texts = parts.map(part => (isJsonObject(part) ? part.text : part)).filter(text => typeof text === 'string')
  return texts.length > 0 ? texts.join('\n') : undefined
}

/** A tool call in any form, as `{id, name, arguments}`. */
function toolCall(value: Json): JsonObject {
  if (!isJsonObject(value)) return { arguments: value }
  const inner = value.tool_call ?? value.functionCall ?? value.toolRequest ?? value.toolUse
  if (isJsonObject(inner)) return toolCall(inner)
  const fields = new Fields(value)
  const called = fields.object('function', 'function_call')
  const callee = new Fields(called ?? {})
  const type = fields.text('type')
  const id = fields.take('call_id', 'toolCallId', 'toolUseId', 'tool_call_id', 'id', 'ref')
  const name = callee.take('name') ?? fields.take('toolName', 'tool_name', 'name')
  const given = callee.take('arguments', 'args') ?? fields.take('arguments', 'args', 'input', 'tool_kwargs')
  const call = present({
    id,
    name,
    arguments: given === undefined ? undefined : parsed(given),
    // Keep the type, because it distinguishes the provider's own tools from the caller's.
    type: type !== undefined && /server|mcp/.test(type) ? type : undefined,
  })
  return combined(combined(call, callee.rest()), fields.rest())
}

/** A tool result in any form, as `{id, name, result}`. */
function toolResult(value: JsonObject): JsonObject {
  const inner = value.functionResponse ?? value.function_response ?? value.toolResponse ?? value.toolResult
  if (isJsonObject(inner)) return toolResult(inner)
  const fields = new Fields(value)
  if (fields.has('status', 'success')) fields.drop('status')
  const type = fields.text('type')
  const id = fields.take('call_id', 'toolCallId', 'toolUseId', 'tool_call_id', 'tool_use_id', 'id', 'ref')
  const name = fields.take('toolName', 'tool_name', 'name')
  const result = fields.take('response', 'result', 'output', 'content')
  const known = present({
    id,
    name,
    result: result === undefined ? undefined : resultOf(valueOfText(result)),
    type: type !== undefined && /server|mcp/.test(type) ? type : undefined,
  })
  return combined(known, fields.rest())
}

/**
 * Unwraps the AI SDK's tagged results. Errors stay wrapped, because they would otherwise look like successful results.
 */
export function resultOf(value: Json): Json {
  if (Array.isArray(value) && value.length > 0) {
    const pieces: Pieces = { parts: [], reasoning: [], reasoningDetails: [], calls: [], results: [] }
    // Bedrock's blocks: `{json}` and `{text}`.
    const [block] = value
    if (value.length === 1 && isJsonObject(block) && Object.keys(block).join() === 'json') return block.json ?? null
    if (!value.every(part => isJsonObject(part) && (part.type === 'text' || Object.keys(part).join() === 'text'))) {
      return value
    }
    for (const part of value) addPart(pieces, part)
    return contentOf(pieces.parts)
  }
  if (!isJsonObject(value) || Object.keys(value).length !== 2) return value
  return (value.type === 'json' || value.type === 'text') && value.value !== undefined ? value.value : value
}

/** The fields of an object that haven't been taken yet. Null fields are ignored. */
export class Fields {
  readonly #left = new Map<string, Json>()

  constructor(value: JsonObject) {
    for (const [name, item] of Object.entries(value)) if (item !== null) this.#left.set(name, item)
  }

  /** Takes the first of these fields that is present. This method and those below remove the fields they take. */
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

  /** The only text under these names. Doesn't remove it. */
  onlyText(...names: string[]): string | undefined {
    const [value, ...others] = names.flatMap(name => this.#left.get(name) ?? [])
    if (others.length > 0 || value === undefined) return undefined
    const part = isJsonObject(value) && isJsonObject(value.message_content) ? value.message_content : value
    const text = isJsonObject(part) ? part.text : part
    return typeof text === 'string' ? text : undefined
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

  /** The remaining fields that aren't empty. */
  rest(): JsonObject {
    for (const [name, value] of this.#left) if (isEmpty(value)) this.#left.delete(name)
    return objectValue(this.#left)
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

export const isEmpty = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** The fields that are defined. Field names must come from our code, never from a sender. */
export function present(fields: Record<string, Json | undefined>): JsonObject {
  const found: JsonObject = {}
  for (const name in fields) {
    const value = fields[name]
    if (value !== undefined) found[name] = value
  }
  return found
}

/**
 * Merges the fields we recognize with the source's other fields. A source field whose name clashes goes under `other`.
 */
export function combined(known: JsonObject, rest: JsonObject): JsonObject {
  // The rest is usually empty, and spreading two objects takes ten times as long.
  if (isEmpty(rest)) return known
  const [clashing = [], free = []] = [true, false].map(clashes =>
    Object.entries(rest).filter(([field]) => Object.hasOwn(known, field) === clashes),
  )
  const other = clashing.length > 0 ? { other: Object.fromEntries(clashing) } : {}
  return { ...known, ...Object.fromEntries(free), ...other }
}
