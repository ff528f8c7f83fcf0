import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, numberOf, parsedObject, present, taken, textOf, versionOf } from '../reading/attribute-values.ts'
import type { Convention, PromptReference, Reading, SpanReader, Usage } from '../reading/convention.ts'
import { assistantMessage, inputMessages } from '../reading/messages.ts'
import { modelConfig, toolNames } from '../reading/model-config.ts'
import { parsed } from '../reading/serialized.ts'
import { valueFrom } from '../reading/span-content.ts'

/*
 * Vercel's AI SDK 4 to 6, and `LegacyOpenTelemetry` of version 7. The caller's call has a span (`ai.generateText`) that
 * contains one span per model call (`ai.generateText.doGenerate`). By default, version 7 follows OpenTelemetry's
 * conventions, so this convention reads only the context from it. Source: recorded exports.
 */

/** Kinds by the last part of the operation's name. Callers' spans repeat the usage, so they aren't model calls. */
const KINDS_OF_OPERATIONS: ReadonlyMap<string, StepKind> = new Map([
  ['doGenerate', 'llm'],
  ['doStream', 'llm'],
  ['doEmbed', 'embedding'],
  ['doRerank', 'reranker'],
  ['toolCall', 'tool'],
  ['generateText', 'agent'],
  ['streamText', 'agent'],
  ['generateObject', 'chain'],
  ['streamObject', 'chain'],
  ['embed', 'chain'],
  ['embedMany', 'chain'],
  ['rerank', 'chain'],
])

export const vercelAiSdk: Convention = {
  name: 'vercel-ai-sdk',
  read(span) {
    if (!span.hasBelow('ai.')) return undefined
    const operation = textOf(span.peek('ai.operationId'))
    const requested = taken(span, 'ai.model.id', idOf)
    const finishReason = taken(span, 'ai.response.finishReason', textOf)
    const context = parsedObject([...span.below('ai.telemetry.metadata.'), ...span.below('ai.settings.context.')])
    return present<Reading>({
      kind: taken(span, 'ai.operationId', kindOf),
      stepId: stepIdOf(span, operation),
      input: inputOf(span),
      output: outputOf(span),
      state: present<Record<string, Json>>({ config: configOf(span, requested) }),
      model: taken(span, 'ai.response.model', idOf) ?? requested,
      provider: taken(span, 'ai.model.provider', idOf),
      usage: usageOf(span),
      finishReasons: finishReason === undefined ? undefined : [finishReason],
      prompt: promptOf(context),
      trace: context && { metadata: context },
    })
  },
}

const kindOf = (operation: Json | undefined): StepKind | undefined =>
  KINDS_OF_OPERATIONS.get(textOf(operation)?.split('.').at(-1) ?? '')

/** The caller's name for the call, with the inner operation if there is one. */
function stepIdOf(span: SpanReader, operation: string | undefined): string | undefined {
  if (operation !== undefined) {
    // Both values only combine other attributes, which this convention reads.
    span.get('operation.name')
    span.get('resource.name')
  }
  const tool = idOf(span.peek('ai.toolCall.name'))
  const functionId = idOf(span.peek('ai.telemetry.functionId'))
  if (tool !== undefined || functionId === undefined) return tool
  const [, , inner] = operation?.split('.') ?? []
  return inner === undefined ? functionId : `${functionId}.${inner}`
}

function inputOf(span: SpanReader): Json | undefined {
  const given = span.get('ai.toolCall.args') ?? span.get('ai.toolCall.input')
  if (given !== undefined) return parsed(given)
  const messages = span.get('ai.prompt.messages')
  if (messages !== undefined) return inputMessages(messages) ?? parsed(messages)
  const prompt = span.get('ai.prompt')
  if (prompt !== undefined) return promptInput(prompt)
  const values = span.get('ai.value') ?? span.get('ai.values')
  return Array.isArray(values) ? values.map(parsed) : valueFrom(values)
}

/** The caller's input: messages, or a single-string prompt with or without instructions. */
function promptInput(prompt: Json): Json {
  const given = parsed(prompt)
  if (!isJsonObject(given) || typeof given.prompt !== 'string') return inputMessages(given) ?? given
  const { prompt: text, ...rest } = given
  return inputMessages({ messages: [{ role: 'user', content: text }], ...rest }) ?? given
}

function outputOf(span: SpanReader): Json | undefined {
  const result = span.get('ai.toolCall.result') ?? span.get('ai.toolCall.output')
  if (result !== undefined) return parsed(result)
  const object = valueFrom(span.get('ai.response.object'))
  const text = span.get('ai.response.text')
  const toolCalls = span.get('ai.response.toolCalls')
  // The text of a structured answer repeats the object. Version 7 sends empty text along with tool calls.
  const isText = object === undefined && (text !== '' || toolCalls === undefined)
  const message = assistantMessage({
    ...(isText && text !== undefined && { text }),
    ...present<{ reasoning: Json; toolCalls: Json }>({ reasoning: span.get('ai.response.reasoning'), toolCalls }),
  })
  if (object === undefined) return message
  return message === undefined ? object : { ...message, content: object }
}

function configOf(span: SpanReader, model: string | undefined): JsonObject | undefined {
  const parameters = span.below('ai.settings.')
  for (const key of parameters.keys()) if (key.startsWith('context.')) parameters.delete(key)
  const choice = span.get('ai.prompt.toolChoice')
  if (choice !== undefined) parameters.set('toolChoice', parsed(choice))
  return modelConfig(parameters, model, toolNames(span.peek('ai.prompt.tools')))
}

function usageOf(span: SpanReader): Usage | undefined {
  if (!span.hasBelow('ai.usage.')) return undefined
  const count = (key: string): number | undefined => taken(span, key, numberOf)
  // Newer versions send some counts under two keys with the same value.
  const first = (...keys: string[]): number | undefined => keys.map(count).find(number => number !== undefined)
  return present<Usage>({
    input_tokens: first('ai.usage.inputTokens', 'ai.usage.promptTokens', 'ai.usage.tokens'),
    output_tokens: first('ai.usage.outputTokens', 'ai.usage.completionTokens'),
    total_tokens: count('ai.usage.totalTokens'),
    cache_read_tokens: first('ai.usage.inputTokenDetails.cacheReadTokens', 'ai.usage.cachedInputTokens'),
    cache_write_tokens: count('ai.usage.inputTokenDetails.cacheWriteTokens'),
    reasoning_tokens: first('ai.usage.outputTokenDetails.reasoningTokens', 'ai.usage.reasoningTokens'),
  })
}

const promptOf = (context: JsonObject | undefined): PromptReference | undefined =>
  present<PromptReference>({ name: idOf(context?.promptName), version: versionOf(context?.promptVersion) })
