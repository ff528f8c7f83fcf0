import type { Json, JsonObject } from '../../domain/json.ts'
import type { StepKind } from '../../domain/step-kind.ts'
import { MAX_CONVERSATION_MESSAGES } from '../../limits.ts'
import { idOf, isRedacted, numberOf, parsedObject, present, sumOf, taken, textOf } from '../reading/attribute-values.ts'
import type { Convention, Reading, SpanReader, Usage } from '../reading/convention.ts'
import { assistantMessage, type Message } from '../reading/messages.ts'
import { modelConfig, toolNames } from '../reading/model-config.ts'
import { valueFrom } from '../reading/span-content.ts'

/*
 * Claude Code's spans, a beta feature. They contain text only if the user allows it, under labels such as `[USER]` and
 * `[TOOL RESULT: <id>]`. Otherwise, the model's answers are only in log records. Source:
 * code.claude.com/docs/en/monitoring-usage, and third-party recordings of 2.1 releases.
 */

const KINDS_OF_TYPES: ReadonlyMap<string, StepKind> = new Map([
  ['interaction', 'agent'],
  ['llm_request', 'llm'],
  ['tool', 'tool'],
  ['tool.execution', 'task'],
  ['tool.blocked_on_user', 'task'],
  ['hook', 'task'],
])

export const claudeCode: Convention = {
  name: 'claude-code',
  read(span) {
    const { name, source } = span.span
    if (!source.scope.name.startsWith('com.anthropic.claude_code') && !name.startsWith('claude_code.')) return undefined
    const kind = KINDS_OF_TYPES.get(taken(span, 'span.type', textOf) ?? name.slice('claude_code.'.length))
    switch (kind) {
      case 'agent':
        return interaction(span)
      case 'llm':
        return request(span)
      case 'tool':
        return tool(span)
      default:
        return present<Reading>({ kind })
    }
  },
}

function interaction(span: SpanReader): Reading {
  const asked = contextMessages(shown(span, 'new_context'))
  const prompt = shown(span, 'user_prompt')
  const messages = prompt === undefined ? asked : [{ role: 'user', content: prompt }]
  return { kind: 'agent', ...(messages.length > 0 && { input: { messages } }) }
}

function request(span: SpanReader): Reading {
  const asked = contextMessages(shown(span, 'new_context'))
  const system = shown(span, 'user_system_prompt')
  const messages: Message[] = [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...asked]
  const answer = shown(span, 'response.model_output')
  const stop = taken(span, 'stop_reason', textOf)
  const model = taken(span, 'model', idOf)
  const parameters = parsedObject(
    ['speed', 'effort'].flatMap(key => {
      const value = span.get(key)
      return value === undefined ? [] : [[key, value] as const]
    }),
  )
  const fields: Reading = { kind: 'llm', provider: 'anthropic' }
  return {
    ...fields,
    ...present<Reading>({
      input: messages.length > 0 ? { messages } : undefined,
      output: answer === undefined ? undefined : assistantMessage({ text: answer }),
      state: present<Record<string, Json>>({
        config: modelConfig(Object.entries(parameters ?? {}), model, toolNames(span.peek('tools'))),
      }),
      model,
      usage: usageOf(span),
      finishReasons: stop === undefined ? undefined : [stop],
    }),
  }
}

/** Reads a tool's input and result, each after a label. */
function tool(span: SpanReader): Reading {
  const result = contextMessages(shown(span, 'new_context'))[0]?.content
  const { input, output } = outputEvent(span)
  const details = { ...input, ...detailsOf(span) }
  return {
    kind: 'tool',
    ...present<Reading>({
      stepId: idOf(span.peek('tool_name')),
      input: toolInput(shown(span, 'tool_input')) ?? (Object.keys(details).length > 0 ? details : undefined),
      output: output ?? result,
    }),
  }
}

const toolInput = (text: string | undefined): Json | undefined =>
  valueFrom(text?.replace(/^\[TOOL INPUT: [^\]\n]*\]\n/, ''))

/** Reads the details that a call has even if its input is missing. */
const detailsOf = (span: SpanReader): JsonObject =>
  present<JsonObject>({
    full_command: shown(span, 'full_command'),
    file_path: shown(span, 'file_path'),
    skill_name: shown(span, 'skill_name'),
    subagent_type: shown(span, 'subagent_type'),
  }) ?? {}

const INPUTS = ['bash_command', 'file_path']

/** Reads the event that records what a tool did: a command and its output, or a file with its content and changes. */
function outputEvent(span: SpanReader): { input: JsonObject; output: Json | undefined } {
  const fields = span.events('tool.output').flatMap(({ attributes }) => [...attributes])
  const input = parsedObject(fields.filter(([key]) => INPUTS.includes(key))) ?? {}
  const output = parsedObject(fields.filter(([key]) => !INPUTS.includes(key)))
  const isPlain = output?.output !== undefined && Object.keys(output).length === 1
  return { input, output: isPlain ? output.output : output }
}

/** Splits the messages since the last request into user text and tool results. */
function contextMessages(context: string | undefined): Message[] {
  if (context === undefined) return []
  const parts = context.split(/\n\n---\n\n(?=\[(?:USER|TOOL RESULT: [^\]\n]*)\]\n)/, MAX_CONVERSATION_MESSAGES + 1)
  if (parts.length > MAX_CONVERSATION_MESSAGES) return [{ role: 'user', content: context }]
  return parts.map(part => {
    const [label = '', id] = /^\[(?:USER|USER PROMPT|TOOL RESULT: ([^\]\n]*))\]\n/.exec(part) ?? []
    const text = part.slice(label.length)
    if (id === undefined) return { role: 'user', content: text }
    return { role: 'tool', content: valueFrom(text) ?? text, tool_call_id: id }
  })
}

/** Reads text. If the user didn't allow text, the redaction mark stays among the attributes. */
const shown = (span: SpanReader, key: string): string | undefined =>
  taken(span, key, value => (isRedacted(value) ? undefined : textOf(value)))

/**
 * Adds cached tokens to the input tokens, because the API's count excludes tokens read from or written to the cache.
 */
function usageOf(span: SpanReader): Usage | undefined {
  const read = taken(span, 'cache_read_tokens', numberOf)
  const written = taken(span, 'cache_creation_tokens', numberOf)
  return present<Usage>({
    input_tokens: sumOf(taken(span, 'input_tokens', numberOf), read, written),
    output_tokens: taken(span, 'output_tokens', numberOf),
    cache_read_tokens: read,
    cache_write_tokens: written,
  })
}
