import { isJsonObject, type Json, type JsonObject } from '../../domain/json.ts'
import { objectOf, present } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader } from '../reading/convention.ts'
import { type Answer, answerOf, conversationOf, inputMessages, outputMessage } from '../reading/messages.ts'
import { parsed, unflatten } from '../reading/serialized.ts'
import { valueFrom } from '../reading/span-content.ts'
import type { TelemetryEvent } from '../reading/telemetry.ts'

/*
 * OpenTelemetry's conventions for generative AI up to 1.36: each message is an event of the span, or a log record in
 * newer instrumentations. Before 1.28 there were two events, each with all messages in one attribute.
 */

const ROLES_OF_EVENTS: ReadonlyMap<string, string> = new Map([
  ['gen_ai.system.message', 'system'],
  ['gen_ai.user.message', 'user'],
  ['gen_ai.assistant.message', 'assistant'],
  ['gen_ai.tool.message', 'tool'],
])

export const genAiEvents: Convention = {
  name: 'gen_ai-events',
  read(span) {
    if (span.span.events.length === 0) return undefined
    // All messages, in their original order.
    const asked = span.span.events.filter(({ name }) => ROLES_OF_EVENTS.has(name))
    for (const name of ROLES_OF_EVENTS.keys()) span.events(name)
    const answered = span.events('gen_ai.choice')
    const prompt = valueFrom(contentOf(span, 'prompt'))
    const completion = valueFrom(contentOf(span, 'completion'))
    const answer = answered.length > 0 ? answerOf(answered.map(messageOf)) : answerIn(completion)
    return present<Reading>({
      input: asked.length > 0 ? conversationOf(asked.map(messageOf)) : conversationIn(prompt),
      output: answer?.output ?? completion,
      finishReasons: answer && answer.finishReasons.length > 0 ? answer.finishReasons : undefined,
    })
  },
}

/** Spring AI sends only the text of each message. */
const areTexts = (value: Json | undefined): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.every(item => typeof item === 'string')

const conversationIn = (prompt: Json | undefined): Json | undefined =>
  areTexts(prompt) ? conversationOf(prompt) : (inputMessages(prompt) ?? prompt)

const answerIn = (completion: Json | undefined): Answer | undefined =>
  areTexts(completion) ? answerOf(completion) : outputMessage(completion)

/** All messages at once, as in version 1.27. */
const contentOf = (span: SpanReader, side: 'prompt' | 'completion'): Json | undefined =>
  span
    .events(`gen_ai.content.${side}`)
    .map(({ attributes }) => attributes.get(`gen_ai.${side}`))
    .find(value => value !== undefined && value !== null)

/**
 * Reads a message from an event's or a log record's attributes, or from JSON in one of the attributes, as Azure's SDKs
 * send it.
 */
export function messageOf({ name, attributes }: Pick<TelemetryEvent, 'name' | 'attributes'>): Json {
  const fields = [...attributes].filter(([key]) => !key.startsWith('gen_ai.') && !key.startsWith('event.'))
  const body = objectOf(attributes.get('gen_ai.event.content') ?? undefined) ?? unflatten(fields)
  if (!isJsonObject(body)) return { role: ROLES_OF_EVENTS.get(name) ?? 'assistant', content: body ?? null }
  const { index, id, message, tool_calls, content, tool, ...rest } = body
  const list = content === undefined ? undefined : parsed(content)
  const role = ROLES_OF_EVENTS.get(name)
  return {
    ...(role !== undefined && { role }),
    ...present<Record<string, Json>>({
      [role === 'tool' ? 'tool_call_id' : 'id']: id,
      content: Array.isArray(list) ? list : content,
      tool_calls: valueFrom(tool_calls),
    }),
    ...(message !== undefined && messageFields(parsed(message), tool)),
    ...rest,
  }
}

/**
 * A choice contains its message or only the message's content. Strands adds the results of the message's tool calls.
 */
function messageFields(message: Json, tool: Json | undefined): JsonObject {
  if (isJsonObject(message)) return { ...message, ...present<JsonObject>({ tool }) }
  const results = valueFrom(isJsonObject(tool) ? tool.result : undefined)
  if (!Array.isArray(message) || !Array.isArray(results)) return { content: message, ...present<JsonObject>({ tool }) }
  return { content: [...message, ...results] }
}
