import { MAX_SHARED_TEXT_LENGTH, MIN_SHARED_TEXT_LENGTH } from '../limits.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from './json.ts'

/*
 * A pipeline's root usually returns the same text as its last model call, but in a different form. A reviewer should
 * judge that text only once. This module finds the text in an output of any form, and converts a correction from one
 * form to another.
 */

/** Where an output holds its text: `keys` lead from the output to `value`. */
interface Held {
  keys: readonly (string | number)[]
  value: Json
}

/** How many layers an output may wrap its text in. Forms with more layers are treated as plain structures. */
const MAX_WRAPPERS = 16

/** Finds the content of an output: the text of a message or response, or the value inside objects with one field. */
function held(output: Json): Held {
  const keys: (string | number)[] = []
  let value = output
  while (keys.length < MAX_WRAPPERS) {
    const key = wrapperKey(value)
    const inner = key === undefined ? undefined : fieldOf(value, key)
    if (key === undefined || inner === undefined) break
    keys.push(key)
    value = inner
  }
  return { keys, value }
}

const fieldOf = (value: Json, key: string | number): Json | undefined =>
  Array.isArray(value) ? value[Number(key)] : isJsonObject(value) ? value[key] : undefined

/** The key under which a value wraps the text. Undefined if the value isn't a known form of message or response. */
function wrapperKey(value: Json): string | number | undefined {
  if (Array.isArray(value)) return listKey(value)
  if (!isJsonObject(value)) return undefined
  if (isMessage(value)) return callsTools(value) ? undefined : 'content' in value ? 'content' : 'parts'
  const [only, ...more] = Object.keys(value)
  if (more.length === 0) return only
  return RESPONSE_FORMS.find(([, isForm]) => isForm(value))?.[0]
}

/** A list's only item, the reply that ends a conversation, or the one message among a response's items. */
function listKey(items: readonly Json[]): number | undefined {
  if (items.length === 1) return 0
  const last = items.length - 1
  if (items.every(isMessage)) return isReply(items[last]) ? last : undefined
  const messages = items.flatMap((item, index) => (isJsonObject(item) && item.type === 'message' ? [index] : []))
  return messages.length === 1 ? messages[0] : undefined
}

/** Messages of chat APIs (`role`), and LangChain's (`type`). */
export const isMessage = (value: Json | undefined): value is JsonObject =>
  isJsonObject(value) &&
  ('content' in value || 'parts' in value) &&
  (typeof value.role === 'string' || MESSAGE_TYPES.has(String(value.type)))

const MESSAGE_TYPES = new Set(['ai', 'human', 'system', 'AIMessage', 'AIMessageChunk', 'HumanMessage', 'SystemMessage'])

const isReply = (value: Json | undefined): boolean =>
  isJsonObject(value) && (REPLIES.has(String(value.role)) || REPLIES.has(String(value.type)))

const REPLIES = new Set(['assistant', 'model', 'ai', 'AIMessage', 'AIMessageChunk'])

const callsTools = ({ tool_calls }: JsonObject): boolean => Array.isArray(tool_calls) && tool_calls.length > 0

/** The fields in which responses and content parts hold their text, each with a test for the form that has it. */
const RESPONSE_FORMS: readonly (readonly [key: string, isForm: (value: JsonObject) => boolean])[] = [
  // A part of a message's content.
  ['text', ({ type, text }) => (type === 'text' || type === 'output_text') && typeof text === 'string'],
  // OpenAI's chat completions, and Gemini's responses.
  ['choices', ({ choices }) => Array.isArray(choices)],
  ['candidates', ({ candidates }) => Array.isArray(candidates)],
  // A choice, and Ollama's response.
  ['message', ({ message }) => isMessage(message)],
  // A Gemini candidate.
  ['content', ({ content }) => isJsonObject(content) && Array.isArray(content.parts)],
  // OpenAI's responses, and Bedrock's.
  ['output', ({ output, object }) => object === 'response' && Array.isArray(output)],
  ['output', ({ output }) => isJsonObject(output) && isMessage(output.message)],
  // A serialized LangChain object.
  ['kwargs', ({ lc, kwargs }) => lc === 1 && isJsonObject(kwargs)],
]

/** The text of a message or response, whatever its form. If a message has parts, their texts are joined. */
export function messageText(value: Json): string | undefined {
  const { keys, value: said } = held(value)
  if (typeof said === 'string') return said
  if (!keys.includes('content') && !keys.includes('parts')) return undefined
  const parts = Array.isArray(said) ? said : [said]
  const texts = parts.flatMap(part => (isJsonObject(part) && typeof part.text === 'string' ? [part.text] : []))
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** Text that is JSON is treated as the object or list that it represents, because pipelines parse what models write. */
function structureIn(value: Json): Json | undefined {
  if (typeof value !== 'string') return value !== null && typeof value === 'object' ? value : undefined
  const text = value.trim()
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * A number that's the same for outputs with the same content: the same message text of at least 16 characters, or the
 * same object or list. Null for outputs that nobody would confuse, such as a label or a number, and for those over
 * `MAX_SHARED_TEXT_LENGTH`. `json` must be valid JSON. A caller that has already parsed it also passes its value.
 */
export function sharedTextHash(json: string, value?: Json): number | null {
  if (json.length > MAX_SHARED_TEXT_LENGTH) return null
  const output: Json = value ?? JSON.parse(json)
  const { keys, value: said } = held(output)
  const structure = structureIn(said)
  if (structure !== undefined) return isEmpty(structure) ? null : hash53(canonicalJson(structure))
  if (typeof said === 'string') {
    const text = said.trim()
    if ([...text.slice(0, 2 * MIN_SHARED_TEXT_LENGTH)].length >= MIN_SHARED_TEXT_LENGTH) return hash53(text)
  }
  // A short message could be a coincidence, but a small object is a whole result.
  const isResult = isJsonObject(output) && !keys.includes('content') && !keys.includes('parts')
  return isResult && !isEmpty(output) ? hash53(canonicalJson(output)) : null
}

const isEmpty = (structure: Json): boolean =>
  structure === null || typeof structure !== 'object' || Object.keys(structure).length === 0

/**
 * Writes an approved value of one output in the form of another with the same text, all as JSON: the other output with
 * its text replaced. Undefined if the approved value changes more than the text, or if the other form can't hold it.
 */
export function inFormOf(approved: string, outputs: { from: string; to: string }): string | undefined {
  const [value, from, to]: Json[] = [approved, outputs.from, outputs.to].map(json => JSON.parse(json))
  if (value === undefined || from === undefined || to === undefined) return undefined
  const [source, target] = [held(from), held(to)]
  const text = valueAt(value, source.keys)
  if (text === undefined || text === null) return undefined
  if (canonicalJson(replaceAt(value, source.keys, source.value)) !== canonicalJson(from)) return undefined
  const written = convert(text, target.value, source.value)
  return written === undefined ? undefined : JSON.stringify(replaceAt(to, target.keys, written))
}

/** Parses or writes JSON if one form holds a structure where the other holds its JSON as text. */
function convert(text: Json, target: Json, source: Json): Json | undefined {
  if (typeof target === 'string' && typeof source !== 'string') return JSON.stringify(text)
  if (typeof target !== 'string' && typeof source === 'string')
    return typeof text === 'string' ? structureIn(text) : undefined
  return typeof target === 'string' && typeof text !== 'string' ? undefined : text
}

function valueAt(value: Json, keys: Held['keys']): Json | undefined {
  let inner: Json | undefined = value
  for (const key of keys) inner = inner === undefined ? undefined : fieldOf(inner, key)
  return inner
}

/** A copy with another value at the place. The place must exist. */
function replaceAt(value: Json, [key, ...rest]: Held['keys'], replacement: Json): Json {
  if (key === undefined) return replacement
  const inner = replaceAt(fieldOf(value, key) ?? null, rest, replacement)
  if (Array.isArray(value)) return value.with(Number(key), inner)
  // Unlike an assignment, this keeps a field named __proto__.
  return Object.fromEntries(
    Object.entries(isJsonObject(value) ? value : {}).map(field => (field[0] === key ? [key, inner] : field)),
  )
}

/**
 * A 53-bit hash, which is enough to tell a trace's texts apart and far cheaper than SHA-256: two sums over the text,
 * each mixed with MurmurHash3's final step. Never 0, so it can be negated.
 */
function hash53(text: string): number {
  let [first, second] = [1, 2]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    first = Math.imul(first ^ code, 0x01000193)
    second = Math.imul(second + code, 0x85ebca6b)
  }
  return (mix(first) >>> 11) * 2 ** 32 + (mix(second ^ first) >>> 0) || 1
}

function mix(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35)
  return twice ^ (twice >>> 16)
}

/** A span with the same text as its trace's root. Times are in milliseconds. */
export interface SharingSpan {
  id: string
  /** How many spans lead from the root to this span, including this one. */
  depth: number
  timestamp: number
  receivedAt: number
  /** When it was first decided on. Null if it has no current decision. */
  firstReviewedAt: number | null
}

/**
 * Chooses the span whose review counts for the root: the deepest one, or the earlier of two equally deep ones. If the
 * chosen span was reviewed before a deeper one arrived, it stays the chosen one.
 */
export function chooseReviewed<Span extends SharingSpan>(spans: readonly Span[]): Span | undefined {
  let chosen: Span | undefined
  for (const span of spans.toSorted((left, right) => left.receivedAt - right.receivedAt || byTime(left, right))) {
    if (!chosen) chosen = span
    else if (chosen.firstReviewedAt !== null && chosen.firstReviewedAt < span.receivedAt) return chosen
    else if (span.depth > chosen.depth || (span.depth === chosen.depth && byTime(span, chosen) < 0)) chosen = span
  }
  return chosen
}

const byTime = (left: SharingSpan, right: SharingSpan): number =>
  left.timestamp - right.timestamp || (left.id < right.id ? -1 : 1)
