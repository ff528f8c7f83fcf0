import { sha256Hex } from '../domain/hash.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../domain/json.ts'
import { messageOf } from './conventions/genai-events.ts'
import { idOf, isRedacted, numberOf, objectOf, textOf } from './reading/attribute-values.ts'
import { inputMessages, type Message, messagesFrom, outputMessage } from './reading/messages.ts'
import { valueFrom } from './reading/span-content.ts'
import type { TelemetryLog } from './reading/telemetry.ts'
import type { SpanMessage } from './span-step.ts'

/*
 * Some clients send content only in log records, along with a span that has the rest: OpenTelemetry's model
 * instrumentations under the conventions up to 1.36, Claude Code, and Codex. Source: semantic-conventions 1.36,
 * gen-ai-events.md; 1.41, gen-ai-events.md; code.claude.com/docs/en/monitoring-usage; openai/codex, `otel/src/events`;
 * and recorded exports.
 */

/** Readers by record name. */
const READERS: ReadonlyMap<string, (log: TelemetryLog, name: string) => SpanMessage[]> = new Map([
  ['gen_ai.system.message', inputMessage],
  ['gen_ai.user.message', inputMessage],
  ['gen_ai.assistant.message', inputMessage],
  ['gen_ai.tool.message', inputMessage],
  ['gen_ai.choice', outputChoice],
  ['gen_ai.client.inference.operation.details', details],
  ['gen_ai.content.prompt', log => wholeInput(log.attributes.get('gen_ai.prompt'))],
  ['gen_ai.content.completion', log => wholeOutput(log.attributes.get('gen_ai.completion'))],
  ['claude_code.user_prompt', log => textMessage('input', 'user', log.attributes.get('prompt'))],
  ['claude_code.assistant_response', log => textMessage('output', 'assistant', log.attributes.get('response'))],
  ['claude_code.tool_result', claudeTool],
  ['claude_code.api_request_body', log => wholeInput(log.attributes.get('body'))],
  ['claude_code.api_response_body', log => wholeOutput(log.attributes.get('body'))],
  ['codex.user_prompt', log => textMessage('input', 'user', log.attributes.get('prompt'))],
  ['codex.tool_result', codexTool],
])

const CLAUDE_CODE = 'claude_code.'

/**
 * The messages that a record adds to its span's input and output, in order. Empty if the record belongs to no span or
 * has no content, or if the sender omitted its content. `reasonForNothing` says which.
 */
export function messagesOf(log: TelemetryLog): SpanMessage[] {
  if (log.traceId === null || log.spanId === null) return []
  const name = contentName(log)
  return name === undefined ? [] : (READERS.get(name)?.(log, name) ?? [])
}

/**
 * Why `messagesOf` found nothing in a record. Always one of a few fixed strings, so records can be counted by reason.
 */
export function reasonForNothing(log: TelemetryLog): string {
  if (contentName(log) === undefined) return 'the record has no span content'
  if (log.traceId === null || log.spanId === null) return 'the record belongs to no span'
  return 'the sender omitted its content'
}

/**
 * A key that is unique within a record's span and the same each time the record is sent: its time, its name, and a hash
 * of its content. Records with the same time, name, and content get the same key here; `recordKeys` tells them apart.
 */
export async function recordKey(log: TelemetryLog): Promise<string> {
  const attributes = Object.fromEntries(log.attributes)
  const hash = await sha256Hex(canonicalJson([log.traceId, log.spanId, log.body, attributes]))
  return `${log.timeNs}:${contentName(log) ?? log.eventName}:${hash}`
}

/**
 * Returns a function that gives the keys of one export's records, in order, batch by batch. A repeated key gets a
 * number, because a conversation can contain the same text twice, even in the same millisecond.
 */
export function recordKeys(): (logs: readonly TelemetryLog[]) => Promise<string[]> {
  const counts = new Map<string, number>()
  return async logs => {
    const keys = await Promise.all(logs.map(recordKey))
    return keys.map(key => {
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      return count === 1 ? key : `${key}:${count}`
    })
  }
}

/**
 * Combines the messages of one span, given in the order they were sent. The input is `{messages: [...]}`. The output is
 * the message; `{choices: [...]}` if the model returned several; or `{messages: [...]}` if one answer followed another.
 * If a whole value was sent, the last one replaces all messages.
 */
export function foldMessages(messages: readonly SpanMessage[]): { input: Json | undefined; output: Json | undefined } {
  const side = (type: SpanMessage['type']) => messages.filter(message => message.type === type)
  const inputs = side('input')
  const outputs = side('output')
  return {
    input: wholeOf(inputs) ?? (inputs.length > 0 ? { messages: inputs.map(({ data }) => data) } : undefined),
    output: wholeOf(outputs) ?? answerOf(outputs),
  }
}

const wholeOf = (messages: readonly SpanMessage[]): Json | undefined =>
  messages.findLast(({ isMessage }) => !isMessage)?.data

function answerOf(outputs: readonly SpanMessage[]): Json | undefined {
  if (outputs.length <= 1) return outputs[0]?.data
  const choices = new Set(outputs.map(({ choice }) => choice))
  if (choices.has(undefined) || choices.size < outputs.length) return { messages: outputs.map(({ data }) => data) }
  return {
    choices: outputs.toSorted((left, right) => (left.choice ?? 0) - (right.choice ?? 0)).map(({ data }) => data),
  }
}

/**
 * The name of a record, or undefined for a record that we don't read. The name is in an attribute (older SDKs, and
 * Codex, whose `eventName` is a source location), in the record itself, or in its body as text. Claude Code's names
 * have their prefix only in the body.
 */
function contentName(log: TelemetryLog): string | undefined {
  const names = [log.attributes.get('event.name'), log.eventName, log.body].flatMap(
    name => textOf(name ?? undefined) ?? [],
  )
  return names.find(name => READERS.has(name)) ?? names.map(name => CLAUDE_CODE + name).find(name => READERS.has(name))
}

const whole = (type: SpanMessage['type'], data: Json): SpanMessage => ({ type, isMessage: false, data })

/** Attributes of a record that may belong to its message. */
const MESSAGE_ATTRIBUTE =
  /^(?:role|content|tool_calls|id|name|index|message|finish_reason|gen_ai\.event\.content)(?:\.|$)/

/** The record's message, read from its body or, if that has none, from its attributes. */
function recordMessage(log: TelemetryLog, name: string): Json {
  const body = objectOf(log.body)
  if (body) return messageOf({ name, attributes: new Map(Object.entries(body)) })
  const text = textOf(log.body)
  if (text !== undefined && text !== name) return messageOf({ name, attributes: new Map([['content', text]]) })
  return messageOf({ name, attributes: new Map([...log.attributes].filter(([key]) => MESSAGE_ATTRIBUTE.test(key))) })
}

/** Fields that a message has even if its instrumentation records no content. */
const ENVELOPE = ['role', 'id', 'name', 'tool_call_id', 'finish_reason']

const hasContent = (message: Message): boolean =>
  Object.entries(message).some(([field, value]) => !ENVELOPE.includes(field) && isContent(value))

function inputMessage(log: TelemetryLog, name: string): SpanMessage[] {
  const messages = messagesFrom(recordMessage(log, name), 'user').filter(hasContent)
  return messages.map(data => ({ type: 'input', isMessage: true, data }))
}

function outputChoice(log: TelemetryLog, name: string): SpanMessage[] {
  const body = objectOf(log.body)
  const index = numberOf(body?.index ?? log.attributes.get('index'))
  const messages = messagesFrom(recordMessage(log, name), 'assistant').filter(hasContent)
  return messages.map(({ finish_reason: _, ...data }) => ({
    type: 'output',
    isMessage: true,
    data,
    ...(index !== undefined && { choice: index }),
  }))
}

/** Reads a whole call from one record: from its attributes or, with some exporters, from its body. */
function details(log: TelemetryLog): SpanMessage[] {
  const body = isJsonObject(log.body) ? log.body : {}
  const field = (key: string): Json | undefined => log.attributes.get(key) ?? body[key] ?? undefined
  const input = inputMessages(field('gen_ai.input.messages'), field('gen_ai.system_instructions'))
  return [
    ...(input ? [whole('input', input)] : wholeInput(field('gen_ai.input.messages'))),
    ...wholeOutput(field('gen_ai.output.messages')),
  ]
}

function wholeInput(value: Json | undefined): SpanMessage[] {
  const input = inputMessages(value) ?? valueFrom(value)
  return isContent(input) ? [whole('input', input)] : []
}

function wholeOutput(value: Json | undefined): SpanMessage[] {
  const output = outputMessage(value)?.output ?? valueFrom(value)
  return isContent(output) ? [whole('output', output)] : []
}

const isContent = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== '' && !isRedacted(value)

const textMessage = (type: SpanMessage['type'], role: string, content: Json | undefined): SpanMessage[] =>
  isContent(content) ? [{ type, isMessage: true, data: { role, content } }] : []

/**
 * Reads a tool call as the message that requested it, because the record's span may be the tool's or the whole
 * conversation's. The record has no result except the error of a failed call.
 */
function claudeTool({ attributes }: TelemetryLog): SpanMessage[] {
  const given = valueFrom(attributes.get('tool_input') ?? attributes.get('tool_parameters') ?? undefined)
  const error = attributes.get('error')
  const id = idOf(attributes.get('tool_use_id'))
  const name = idOf(attributes.get('tool_name'))
  const call: JsonObject = { ...(id !== undefined && { id }), ...(name !== undefined && { name }) }
  const messages: Message[] = []
  if (isContent(given)) messages.push({ role: 'assistant', content: null, tool_calls: [{ ...call, arguments: given }] })
  if (isContent(error)) {
    messages.push({
      role: 'tool',
      content: error,
      ...(id !== undefined && { tool_call_id: id }),
      ...(name !== undefined && { name }),
    })
  }
  return messages.map(data => ({ type: 'input', isMessage: true, data }))
}

/** Reads a tool call. The record's span is the tool's. */
function codexTool({ attributes }: TelemetryLog): SpanMessage[] {
  const given = valueFrom(attributes.get('arguments') ?? undefined)
  const output = valueFrom(attributes.get('output') ?? undefined)
  return [...(isContent(given) ? [whole('input', given)] : []), ...(isContent(output) ? [whole('output', output)] : [])]
}
