import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { idOf, numberOf, objectOf, present, taken, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, Usage } from '../reading/convention.ts'
import { modelConfig, toolNames } from '../reading/model-config.ts'
import { contentOf, valueFrom } from '../reading/span-content.ts'

/*
 * Genkit's actions. A model's input is `{messages, tools, config}`, its output `{message, finishReason, usage, ...}`.
 * Source: genkit, `js/core/src/tracing` and `js/ai/src/model-types.ts`.
 */

const KINDS_OF_ACTIONS: ReadonlyMap<string, StepKind> = new Map([
  ['model', 'llm'],
  ['embedder', 'embedding'],
  ['retriever', 'retriever'],
  ['reranker', 'reranker'],
  ['tool', 'tool'],
  ['flow', 'workflow'],
  ['prompt', 'prompt'],
  ['evaluator', 'evaluator'],
  ['util', 'chain'],
])

/** Attributes that say where an action ran. The action's parent spans also have them. */
const OF_THE_ACTION = ['genkit:type', 'genkit:path', 'genkit:state', 'genkit:isRoot', 'genkit:metadata:subtype']

export const genkit: Convention = {
  name: 'genkit',
  read(span) {
    if (!span.speaksOf('genkit:name', 'genkit:input', 'genkit:output', 'genkit:metadata:subtype')) return undefined
    const kind = taken(span, 'genkit:metadata:subtype', type => KINDS_OF_ACTIONS.get(textOf(type) ?? ''))
    const name = idOf(span.peek('genkit:name'))
    for (const key of OF_THE_ACTION) span.get(key)
    const asked = valueFrom(span.get('genkit:input'))
    const answered = valueFrom(span.get('genkit:output'))
    // Besides the message, the output has the usage and the provider's whole response.
    const { message, finishReason, usage } = isJsonObject(answered) ? answered : {}
    if (kind !== 'llm') {
      const { response, finishReasons, ...content } = contentOf(kind, asked, message ?? answered)
      return present<Reading>({ kind, stepId: name, fallback: content })
    }
    // A model's name starts with its plugin: openai/gpt-4.1-mini.
    const [, provider, model = name] = /^([^/]+)\/(.+)$/s.exec(name ?? '') ?? []
    const { messages, config } = isJsonObject(asked) ? asked : {}
    const { input, output } = contentOf(kind, messages === undefined ? asked : { messages }, message ?? answered)
    const tools = isJsonObject(asked) && asked.tools !== undefined ? toolNames(asked.tools) : []
    return present<Reading>({
      kind,
      // Calls of different models are the same step.
      stepId: 'model',
      state: present<Record<string, Json>>({
        config: modelConfig(Object.entries(objectOf(config) ?? {}), model, tools),
      }),
      model,
      provider,
      usage: usageOf(objectOf(usage)),
      finishReasons: typeof finishReason === 'string' ? [finishReason] : undefined,
      fallback: present<NonNullable<Reading['fallback']>>({ input, output }),
    })
  },
}

const usageOf = (usage: JsonObject | undefined): Usage | undefined =>
  usage &&
  present<Usage>({
    input_tokens: numberOf(usage.inputTokens),
    output_tokens: numberOf(usage.outputTokens),
    total_tokens: numberOf(usage.totalTokens),
    cache_read_tokens: numberOf(usage.cachedContentTokens),
    reasoning_tokens: numberOf(usage.thoughtsTokens),
  })
