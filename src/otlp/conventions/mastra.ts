import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, parsedObject, present, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader, TraceReading } from '../reading/convention.ts'
import { assistantMessage, inputMessages, withMessages } from '../reading/messages.ts'
import { valueFrom } from '../reading/span-content.ts'

/*
 * Mastra's exporter. Besides data in OpenTelemetry's form, each type of span has its content under its own keys, such
 * as `mastra.<type>.input`. A generation contains its steps, and a step contains one model call and the tools that it
 * requested. Only the call has a model and usage. Source: a recorded export of @mastra/otel-exporter 1.
 */

const KINDS_OF_TYPES: ReadonlyMap<string, StepKind> = new Map([
  ['agent_run', 'agent'],
  ['workflow_run', 'workflow'],
  ['workflow_step', 'task'],
  ['model_generation', 'chain'],
  ['model_step', 'chain'],
  ['model_inference', 'llm'],
  ['model_chunk', 'generic'],
  ['tool_call', 'tool'],
  ['mcp_tool_call', 'tool'],
])

/** Types of spans that the caller started. Metadata on spans of other types describes a part of the run. */
const OF_THE_CALLER = new Set(['agent_run', 'workflow_run'])

/** Metadata to leave out: what the trace has as fields, and a response's headers and body. */
const NOT_METADATA = new Set(['runId', 'sessionId', 'threadId', 'userId', 'headers', 'body', 'modelMetadata'])

export const mastra: Convention = {
  name: 'mastra',
  read(span) {
    const type = textOf(span.get('mastra.span.type'))
    if (type === undefined) return undefined
    const kind = KINDS_OF_TYPES.get(type)
    const metadata = span.below('mastra.metadata.')
    const input = valueFrom(span.get(`mastra.${type}.input`))
    const output = valueFrom(span.get(`mastra.${type}.output`))
    const own = parsedObject([...metadata].filter(([key]) => !NOT_METADATA.has(key)))
    return present<Reading>({
      kind,
      stepId: type === 'model_generation' ? type : undefined,
      input: input === undefined ? undefined : inputOf(span, input, kind),
      output: output === undefined ? undefined : outputOf(output),
      trace: present<TraceReading>({
        groupId: idOf(metadata.get('sessionId'), metadata.get('threadId')),
        userId: idOf(metadata.get('userId')),
        metadata: OF_THE_CALLER.has(type) ? own : undefined,
      }),
    })
  },
}

/** An agent's task is a string or messages; its instructions are in OpenTelemetry's form. */
function inputOf(span: SpanReader, given: Json, kind: StepKind | undefined): Json {
  if (kind === 'tool') return given
  const input = withoutOptions(given)
  const asked = kind === 'agent' && typeof input === 'string' ? { role: 'user', content: input } : input
  const instructions = kind === 'agent' ? span.get('gen_ai.system_instructions') : undefined
  return inputMessages(asked, instructions) ?? withMessages(asked)
}

/** `{text, toolCalls, reasoning, object}`, or whatever a workflow returned. */
function outputOf(given: Json): Json {
  if (!isJsonObject(given) || (typeof given.text !== 'string' && !Array.isArray(given.toolCalls))) return given
  if (given.object !== undefined && given.object !== null) return given.object
  const { text, toolCalls, reasoning } = given
  const calls = Array.isArray(toolCalls) ? toolCalls : []
  const thoughts = Array.isArray(reasoning)
    ? reasoning.flatMap(part => textOf(isJsonObject(part) ? part.text : part) ?? [])
    : []
  const message = assistantMessage({
    ...(text !== undefined && (text !== '' || calls.length === 0) && { text }),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('\n') }),
    ...(calls.length > 0 && { toolCalls: calls }),
  })
  return message ?? given
}

/** Mastra marks each part of a message with the time when it was created. */
function withoutOptions(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutOptions)
  if (!isJsonObject(value)) return value
  const { messages, content, providerOptions, ...fields } = value
  const parts: JsonObject = {
    ...(messages !== undefined && { messages: Array.isArray(messages) ? messages.map(withoutOptions) : messages }),
    ...(content !== undefined && { content: Array.isArray(content) ? content.map(withoutOptions) : content }),
  }
  const isOwn = isJsonObject(providerOptions) && Object.keys(providerOptions).join() === 'mastra'
  return { ...fields, ...parts, ...(providerOptions !== undefined && !isOwn && { providerOptions }) }
}
