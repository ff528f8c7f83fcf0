import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { idOf, numberOf, parsedObject, present, textOf } from './attribute-values.ts'
import type { Convention, Kind, PromptReference, Reading, SpanReader, Usage } from './convention.ts'
import { assistantMessage, inputMessages, parsed } from './messages.ts'
import { modelConfig, toolNames } from './model-config.ts'
import { valueFrom } from './span-content.ts'

/*
 * Vercel's AI SDK 4 to 6 and the `LegacyOpenTelemetry` of 7. A call is two spans: the caller's (`ai.generateText`), and in it
 * one for each call of the model (`ai.generateText.doGenerate`). Of 7's own form, which is OpenTelemetry's, only the context
 * is read here. Source: recorded exports.
 */

/** What operations are by the last part of their name. Their callers' spans repeat the usage, so that they are no calls. */
const KINDS_OF_OPERATIONS: ReadonlyMap<string, Kind> = new Map([
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
    const operation = textOf(span.get('ai.operationId'))
    const kind = operation === undefined ? undefined : KINDS_OF_OPERATIONS.get(operation.split('.').at(-1) ?? '')
    const requested = idOf(span.get('ai.model.id'))
    const finishReason = textOf(span.get('ai.response.finishReason'))
    const context = parsedObject([...span.below('ai.telemetry.metadata.'), ...span.below('ai.settings.context.')])
    return present<Reading>({
      kind,
      stepId: stepIdOf(span, operation),
      input: inputOf(span),
      output: outputOf(span),
      state: present<Record<string, Json>>({ config: configOf(span, requested) }),
      model: idOf(span.get('ai.response.model')) ?? requested,
      provider: idOf(span.get('ai.model.provider')),
      usage: usageOf(span),
      finishReasons: finishReason === undefined ? undefined : [finishReason],
      prompt: promptOf(context),
      trace: context && { metadata: context },
    })
  },
}

/** The caller's name for what it does, as it is or with the operation inside of it. */
function stepIdOf(span: SpanReader, operation: string | undefined): string | undefined {
  // Both are put together of what is read here.
  if (operation !== undefined) span.first('operation.name', 'resource.name')
  const tool = idOf(span.peek('ai.toolCall.name'))
  const functionId = idOf(span.peek('ai.telemetry.functionId'))
  if (tool !== undefined || functionId === undefined) return tool
  const [, , inner] = operation?.split('.') ?? []
  return inner === undefined ? functionId : `${functionId}.${inner}`
}

function inputOf(span: SpanReader): Json | undefined {
  const messages = span.get('ai.prompt.messages')
  const prompt = span.get('ai.prompt')
  const asked =
    inputMessages(messages) ?? valueFrom(messages) ?? (prompt === undefined ? undefined : promptInput(prompt))
  const values = span.get('ai.values')
  return (
    valueFrom(span.first('ai.toolCall.args', 'ai.toolCall.input')) ??
    asked ??
    valueFrom(span.get('ai.value')) ??
    (Array.isArray(values) ? values.map(parsed) : valueFrom(values))
  )
}

/** What the caller gave: messages, or a prompt of one text, with instructions or without. */
function promptInput(prompt: Json): Json {
  const given = parsed(prompt)
  if (!isJsonObject(given) || typeof given.prompt !== 'string') return inputMessages(given) ?? given
  const { prompt: text, ...rest } = given
  return inputMessages({ messages: [{ role: 'user', content: text }], ...rest }) ?? given
}

function outputOf(span: SpanReader): Json | undefined {
  const result = span.first('ai.toolCall.result', 'ai.toolCall.output')
  if (result !== undefined) return parsed(result)
  const object = valueFrom(span.get('ai.response.object'))
  const text = span.get('ai.response.text')
  const message = assistantMessage(
    present<{ text: Json; reasoning: Json; toolCalls: Json }>({
      // A structured answer's text is the object once more.
      text: object === undefined ? text : undefined,
      reasoning: span.get('ai.response.reasoning'),
      toolCalls: span.get('ai.response.toolCalls'),
    }) ?? {},
  )
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
  return present<Usage>({
    input_tokens: numberOf(span.first('ai.usage.inputTokens', 'ai.usage.promptTokens', 'ai.usage.tokens')),
    output_tokens: numberOf(span.first('ai.usage.outputTokens', 'ai.usage.completionTokens')),
    total_tokens: numberOf(span.get('ai.usage.totalTokens')),
    cache_read_tokens: numberOf(span.first('ai.usage.inputTokenDetails.cacheReadTokens', 'ai.usage.cachedInputTokens')),
    cache_write_tokens: numberOf(span.get('ai.usage.inputTokenDetails.cacheWriteTokens')),
    reasoning_tokens: numberOf(span.first('ai.usage.outputTokenDetails.reasoningTokens', 'ai.usage.reasoningTokens')),
  })
}

function promptOf(context: JsonObject | undefined): PromptReference | undefined {
  const version = context?.promptVersion
  return present<PromptReference>({
    name: idOf(context?.promptName),
    version: typeof version === 'number' ? version : idOf(version),
  })
}
