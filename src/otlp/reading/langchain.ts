import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { MAX_JSON_DEPTH } from '../../limits.ts'

/*
 * LangChain's and LangGraph's own objects, which their callbacks serialize wherever a chain passes them on: a message
 * or a document as a constructor call (`{lc, type, id, kwargs}`), a message as `{type, data}`, and a graph's command
 * (`{graph, update, resume, goto}`).
 */

/** Names of LangChain's message classes and types, with the role that each has. */
export const ROLES_OF_CLASSES: ReadonlyMap<string, string> = new Map([
  ['human', 'user'],
  ['HumanMessage', 'user'],
  ['HumanMessageChunk', 'user'],
  ['ai', 'assistant'],
  ['AIMessage', 'assistant'],
  ['AIMessageChunk', 'assistant'],
  ['system', 'system'],
  ['SystemMessage', 'system'],
  ['SystemMessageChunk', 'system'],
  ['tool', 'tool'],
  ['ToolMessage', 'tool'],
  ['ToolMessageChunk', 'tool'],
  ['function', 'function'],
  ['FunctionMessage', 'function'],
])

/** The fields of a LangChain message, with its role. Undefined if the value isn't a message. */
export function messageOfLangChain(value: JsonObject): JsonObject | undefined {
  // Almost no objects are LangChain's. Taking each one apart would cost more than everything else here.
  if (value.lc === undefined && (typeof value.type !== 'string' || value.role !== undefined)) return undefined
  const { lc, id, kwargs, type, data, ...fields } = value
  if (lc !== undefined && isJsonObject(kwargs)) {
    const name = Array.isArray(id) ? id.at(-1) : undefined
    const role = typeof name === 'string' ? ROLES_OF_CLASSES.get(name) : undefined
    return role === undefined ? undefined : { ...withoutRun(kwargs), role }
  }
  const role = typeof type === 'string' && value.role === undefined ? ROLES_OF_CLASSES.get(type) : undefined
  if (role === undefined) return undefined
  const message: JsonObject = isJsonObject(data)
    ? { ...fields, ...data }
    : { ...fields, ...(id !== undefined && { id }) }
  // A tool's definition also has a type, but no content.
  return message.content === undefined && message.tool_calls === undefined
    ? undefined
    : { ...withoutRun(message), role }
}

/** Removes a message's data about the run that it came from: its usage, its model, a random id. */
function withoutRun(message: JsonObject): JsonObject {
  const { response_metadata, usage_metadata, generation_info, type, id, status, example, chunk_position, ...fields } =
    message
  if (isJsonObject(fields.metadata) && isJsonObject(fields.metadata.versions)) delete fields.metadata
  const isRunId =
    typeof id !== 'string' || /^(?:lc_)?run-|^(?:chatcmpl|msg|resp)[-_]|^[0-9a-f]{8}-[0-9a-f]{4}-/.test(id)
  return {
    ...fields,
    ...(type !== undefined && (typeof type !== 'string' || !ROLES_OF_CLASSES.has(type)) && { type }),
    ...(id !== undefined && !isRunId && { id }),
    ...(status !== undefined && status !== 'success' && { status }),
  }
}

type Convert = (message: JsonObject) => JsonObject

/**
 * Converts all of LangChain's and LangGraph's objects in a value to plain ones. Returns the same value if it has none.
 * `convert` is applied to the messages within the value.
 */
export function withoutLangChain(value: Json, convert: Convert = message => message, depth = 0): Json {
  if (typeof value !== 'object' || value === null || depth > MAX_JSON_DEPTH) return value
  if (Array.isArray(value)) return plainList(value, convert, depth)
  const message = messageOfLangChain(value) ?? (typeof value.role === 'string' ? value : undefined)
  if (message) return depth === 0 ? plainFields(message, convert, depth) : convert(message)
  if (value.lc !== undefined && isJsonObject(value.kwargs)) return withoutLangChain(value.kwargs, convert, depth + 1)
  if (isCommand(value)) return withoutLangChain(value.update ?? null, convert, depth + 1)
  return plainFields(value, convert, depth)
}

function plainList(list: Json[], convert: Convert, depth: number): Json {
  // A node returns a list of commands, usually just one.
  const isOneCommand = list.length === 1 && isJsonObject(list[0]) && isCommand(list[0])
  if (isOneCommand) return withoutLangChain(list[0] ?? null, convert, depth + 1)
  const plain = list.map(item => withoutLangChain(item, convert, depth + 1))
  return plain.some((item, index) => item !== list[index]) ? plain : list
}

function plainFields(object: JsonObject, convert: Convert, depth: number): JsonObject {
  let changed: [string, Json][] | undefined
  for (const field of Object.keys(object)) {
    const item = object[field] ?? null
    if (typeof item !== 'object' || item === null) continue
    const plain = withoutLangChain(item, convert, depth + 1)
    if (plain === item) continue
    changed ??= []
    changed.push([field, plain])
  }
  return changed ? { ...object, ...Object.fromEntries(changed) } : object
}

/** In JavaScript, a command has a field with its class. */
const isCommand = (value: JsonObject): boolean =>
  value.update !== undefined &&
  (value.lg_name === 'Command' || ('graph' in value && 'goto' in value && Object.keys(value).length <= 4))
