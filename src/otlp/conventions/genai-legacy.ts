import { isJsonObject, type Json } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { numberOf, present, taken, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader } from '../reading/convention.ts'
import { type Answer, answerOf, conversationOf, inputMessages, outputMessage } from '../reading/messages.ts'
import { parsed, unflatten } from '../reading/serialized.ts'
import { valueFrom } from '../reading/span-content.ts'

/*
 * The oldest conventions for generative AI, which OpenLLMetry's Python instrumentations still use: messages under
 * `gen_ai.prompt.0.content` and `gen_ai.completion.0.content`, or all of them as JSON under `gen_ai.prompt` and
 * `gen_ai.completion`. This content ranks last: if an instrumentation also writes a newer form, that form is complete.
 */

const KINDS_OF_REQUESTS: ReadonlyMap<string, StepKind> = new Map([
  ['chat', 'llm'],
  ['completion', 'llm'],
  ['embedding', 'embedding'],
  ['rerank', 'reranker'],
])

export const genAiLegacy: Convention = {
  name: 'gen_ai-legacy',
  read(span) {
    if (!span.speaksOf('gen_ai', 'llm')) return undefined
    const answer = answered(span)
    const total = taken(span, 'llm.usage.total_tokens', numberOf)
    return present<Reading>({
      kind: taken(span, 'llm.request.type', type => KINDS_OF_REQUESTS.get(textOf(type) ?? '')),
      usage: total === undefined ? undefined : { total_tokens: total },
      finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
      fallback: present<NonNullable<Reading['fallback']>>({
        input: asked(span),
        output: answer?.output ?? valueFrom(span.get('gen_ai.completion')),
      }),
      metadata: answer && Object.keys(answer.rest).length > 0 ? { response: answer.rest } : undefined,
    })
  },
}

function asked(span: SpanReader): Json | undefined {
  const messages = numbered(span, 'gen_ai.prompt.')
  if (messages !== undefined) return conversationOf(messages)
  const whole = span.get('gen_ai.prompt')
  return inputMessages(whole) ?? valueFrom(whole)
}

function answered(span: SpanReader): Answer | undefined {
  const messages = numbered(span, 'gen_ai.completion.')
  return messages === undefined ? outputMessage(span.get('gen_ai.completion')) : answerOf(messages)
}

/** Reads messages with numbered keys. The prompt's name and version share the prefix. */
function numbered(span: SpanReader, prefix: string): Json | undefined {
  if (!span.hasBelow(prefix)) return undefined
  const entries = [...span.span.attributes.keys()]
    .filter(key => key.startsWith(prefix) && /^\d+\./.test(key.slice(prefix.length)))
    .flatMap(key => {
      const value = span.get(key)
      return value === undefined ? [] : [[key.slice(prefix.length), partsOf(key, value)] as const]
    })
  return unflatten(entries)
}

/** Content that isn't only text comes as JSON. */
function partsOf(key: string, value: Json): Json {
  const parts = key.endsWith('.content') ? parsed(value) : value
  return Array.isArray(parts) && parts.every(isJsonObject) ? parts : value
}
