import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { withMessages } from './messages.ts'
import { toolNames } from './model-config.ts'
import { pythonLiteral, valueOfText, withoutPrints } from './python.ts'
import { isEmbedding, vectorsIn, withoutVectors } from './vectors.ts'

/*
 * Turns what clients send into the input and output that reviewers see for each kind of step: a tool's arguments and
 * its result as values, a model's answer as a message, an embedding's text.
 */

/** The first of these inputs that has content, in the kind's form. */
export const inputFor = (kind: StepKind, given: Iterable<Json>): Json | undefined =>
  firstContent(given, value => {
    // An empty list as input only means that no messages were sent. As output, it would mean that there were no
    // results.
    if (Array.isArray(value) && value.length === 0) return undefined
    const form = inputForms.get(kind)
    return form ? form(value) : plainValue(value)
  })

/** The first of these outputs that has content, in the kind's form. */
export const outputFor = (kind: StepKind, given: Iterable<Json>): Json | undefined =>
  firstContent(given, value => {
    const form = outputForms.get(kind)
    return form ? form(value) : isEmbedding(value) ? vectorsIn(value) : plainValue(value)
  })

type Form = (value: Json) => Json | undefined

const inputForms: ReadonlyMap<StepKind, Form> = new Map<StepKind, Form>([
  ['llm', value => value],
  ['tool', toolInput],
  ['embedding', embeddedTexts],
])

const outputForms: ReadonlyMap<StepKind, Form> = new Map<StepKind, Form>([
  ['llm', value => value],
  ['tool', toolOutput],
  ['embedding', value => vectorsIn(value) ?? plainValue(value)],
])

/** Returns an empty answer only if there's no other content: some clients send tool calls in only one of two places. */
function firstContent(given: Iterable<Json>, form: Form): Json | undefined {
  let blank: Json | undefined
  for (const value of given) {
    const content = form(value)
    if (content === undefined || isHollow(content)) continue
    if (!isBlank(content)) return content
    blank ??= content
  }
  return blank
}

/** Whether a value has messages without content, which clients send if they're set not to capture content. */
function isHollow(value: Json): boolean {
  if (!isJsonObject(value)) return value === null
  const { messages, choices, output } = value
  // LangSmith wraps a run's return value, even if the run returned nothing.
  if (output === null && Object.keys(value).length === 1) return true
  if (Array.isArray(messages)) return Object.keys(value).length === 1 && !messages.some(hasText)
  if (Array.isArray(choices)) return !choices.some(choice => hasText(choice) || hasCalls(choice))
  return typeof value.role === 'string' && 'content' in value && !hasText(value) && !hasCalls(value)
}

const hasText = (message: Json): boolean =>
  !isJsonObject(message) ||
  [message.content, message.reasoning, message.tool_results].some(part => part !== null && part !== undefined)

const hasCalls = (message: Json): boolean =>
  isJsonObject(message) && Object.keys(message).some(field => field !== 'role' && field !== 'content')

const isBlank = (value: Json): boolean =>
  isJsonObject(value) && value.role === 'assistant' && value.content === '' && Object.keys(value).length === 2

/** A value without vectors and without anything that only Python can read. Undefined if nothing else is left. */
function plainValue(given: Json): Json | undefined {
  if (isCrewOutput(given)) return given.json_dict ?? given.pydantic ?? given.raw
  const value = withoutPrints(given)
  if (typeof value === 'string') return pythonLiteral(value) ?? value
  return value === undefined ? undefined : (withoutVectors(value) ?? undefined)
}

/**
 * Whether a value is the result of a crew or one of its tasks. It comes with a copy of the task and the conversation.
 */
const isCrewOutput = (value: Json): value is JsonObject =>
  isJsonObject(value) && typeof value.raw === 'string' && ('tasks_output' in value || 'output_format' in value)

/** A tool's arguments, unwrapped from the call to the framework's own function. */
function toolInput(given: Json): Json | undefined {
  const value = valueOfText(given)
  if (!isJsonObject(value)) return plainValue(value)
  const { input_str, inputs, messages } = value
  if (typeof input_str === 'string') return isJsonObject(inputs) ? inputs : valueOfText(input_str)
  const [message, ...others] = Array.isArray(messages) ? messages : []
  if (isJsonObject(message) && others.length === 0 && message.role === 'tool') {
    const [call] = Array.isArray(message.tool_calls) ? message.tool_calls : []
    return toolInput((isJsonObject(call) ? call.arguments : message.content) ?? null)
  }
  return plainValue(calledWith(value))
}

/** Fields in the call to a framework's own function. */
const CALL_FIELDS = new Set(['args', 'kwargs', 'sanitize_inputs_outputs'])

/**
 * A function's arguments as its caller wrote them, from `{args: [...], kwargs: {...}}`: an object with the named
 * arguments, the only positional argument, or a list of the positional arguments. A call with both kinds keeps `args`
 * and `kwargs`, and any other value stays as it is.
 */
export function calledWith(value: Json): Json {
  if (!isJsonObject(value)) return value
  const { args, kwargs } = value
  if (!isJsonObject(kwargs) || !Object.keys(value).every(field => CALL_FIELDS.has(field))) return value
  if (args === undefined || (Array.isArray(args) && args.length === 0)) return kwargs
  if (!Array.isArray(args)) return value
  if (Object.keys(kwargs).length > 0) return { args, kwargs }
  return args.length === 1 ? (args[0] ?? null) : args
}

/** A tool's result, unwrapped from the message or the blocks that a framework puts it in. */
function toolOutput(given: Json): Json | undefined {
  const value = withMessages(valueOfText(given))
  if (isJsonObject(value)) {
    const { role, status, content, isError, output, raw_output, is_error, ...others } = value
    // LangChain's callbacks, in Traceloop's form and in OpenInference's for JavaScript.
    if (output !== undefined && /^(?:kwargs)?$/.test(Object.keys(others).join())) return toolOutput(output)
    // Google's ADK wraps a result that isn't an object.
    if (typeof value.result === 'string' && Object.keys(value).length === 1)
      return { result: valueOfText(value.result) }
    // LlamaIndex.
    if (raw_output !== undefined && is_error === false) return toolOutput(raw_output)
    const isMessage = role === 'tool' || role === 'function' || role === 'assistant'
    if (isMessage && content !== undefined && value.tool_calls === undefined) return toolOutput(content)
    // Strands, Bedrock, and MCP. A failure stays wrapped, because it would otherwise look like a result.
    const isBlocks = Array.isArray(content) && (status === 'success' || isError === false)
    return plainValue(isBlocks ? (blocksValue(content) ?? value) : value)
  }
  return plainValue(Array.isArray(value) ? (blocksValue(value) ?? value) : value)
}

/** The values in blocks such as `{json: ...}` and `{text: ...}`, or undefined if the list holds anything else. */
function blocksValue(blocks: readonly Json[]): Json | undefined {
  const values = blocks.map(block => {
    const [[field, value] = [], ...others] = isJsonObject(block)
      ? Object.entries(block).filter(([name, part]) => !(name === 'type' && (part === 'text' || part === 'json')))
      : []
    if (others.length > 0 || value === undefined) return undefined
    return field === 'json' ? value : field === 'text' ? valueOfText(value) : undefined
  })
  const found = values.filter(value => value !== undefined)
  if (found.length === 0 || found.length < blocks.length) return undefined
  return found.length === 1 ? found[0] : found
}

/** The text or the list of texts in an embedding call. */
function embeddedTexts(given: Json): Json | undefined {
  const value = typeof given === 'string' ? (pythonLiteral(given) ?? given) : given
  if (!isJsonObject(value)) return value
  if (value.input !== undefined) return embeddedTexts(value.input)
  const { messages } = value
  if (!Array.isArray(messages)) return value
  const texts = messages.map(message => (isJsonObject(message) ? (message.content ?? null) : message))
  return texts.length === 1 ? texts[0] : texts
}

/** Whether a field of a model request is something other than its input. */
export const isParameter = (field: string): boolean => PARAMETERS.has(field)

const PARAMETERS = new Set([
  'model',
  'temperature',
  'top_p',
  'top_k',
  'n',
  'seed',
  'stop',
  'stop_sequences',
  'stream',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'service_tier',
  'verbosity',
  'thinking',
  'store',
  'user',
])
/** Fields of a request that concern its transport. */
const TRANSPORT = new Set(['stream_options', 'extra_headers', 'extra_body', 'extra_query', 'timeout'])

const NO_FIELDS: JsonObject = {}

/**
 * Divides a model's request into its conversation and its parameters, including the names of the tools that it offers.
 */
export function dividedRequest(input: Json | undefined): { input: Json | undefined; parameters: JsonObject } {
  if (!isJsonObject(input) || !Array.isArray(input.messages)) return { input, parameters: NO_FIELDS }
  if (Object.keys(input).length === 1) return { input, parameters: NO_FIELDS }
  const { tools, ...fields } = input
  const names = tools === undefined ? [] : toolNames(tools)
  const [parameters, others] = [true, false].map(isParameter =>
    Object.entries(fields).filter(([field]) => PARAMETERS.has(field) === isParameter && !TRANSPORT.has(field)),
  )
  return {
    input: Object.fromEntries(others ?? []),
    parameters: { ...Object.fromEntries(parameters ?? []), ...(names.length > 0 && { tools: names }) },
  }
}

/** Adds the system prompt from another part of the telemetry to a conversation that lacks one. */
export function withSystemPrompt(input: Json | undefined, others: Iterable<Json>): Json | undefined {
  if (!isJsonObject(input) || !Array.isArray(input.messages) || input.messages.some(isSystem)) return input
  for (const other of others) {
    const messages = isJsonObject(other) && Array.isArray(other.messages) ? other.messages : []
    const system = messages.filter(isSystem)
    if (system.length > 0) return { ...input, messages: [...system, ...input.messages] }
  }
  return input
}

const isSystem = (message: Json): boolean =>
  isJsonObject(message) && (message.role === 'system' || message.role === 'developer') && hasText(message)
