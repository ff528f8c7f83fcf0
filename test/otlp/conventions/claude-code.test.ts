import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { MAX_CONVERSATION_MESSAGES } from '../../../src/limits.ts'
import { claudeCode } from '../../../src/otlp/conventions/claude-code.ts'
import { aSpan, type GivenEvent, readAs } from '../../support/decoded-telemetry.ts'

const readType = (type: string, attributes: Record<string, Json>, events: GivenEvent[] = []) =>
  readAs(
    claudeCode,
    aSpan({
      scope: 'com.anthropic.claude_code.tracing',
      name: `claude_code.${type}`,
      attributes: { 'span.type': type, ...attributes },
      events,
    }),
  )

describe('an interaction', () => {
  it('is a turn of an agent, and its input is the prompt', ({ expect }) => {
    const attributes = {
      user_prompt: 'What is the refund policy?',
      user_prompt_length: 26,
      new_context: '[USER PROMPT]\nWhat is the refund policy?',
      'session.id': 's1',
    }
    expect(readType('interaction', attributes)).toEqual({
      reading: { kind: 'agent', input: { messages: [{ role: 'user', content: 'What is the refund policy?' }] } },
      unread: ['user_prompt_length', 'session.id'],
    })
  })

  it('leaves out the marker of a redacted prompt', ({ expect }) => {
    expect(readType('interaction', { user_prompt: '<REDACTED>' })).toEqual({
      reading: { kind: 'agent' },
      unread: ['user_prompt'],
    })
  })
})

describe('a model request', () => {
  it('counts cached tokens as input tokens', ({ expect }) => {
    const attributes = {
      model: 'claude-sonnet',
      'gen_ai.system': 'anthropic',
      'gen_ai.request.model': 'claude-sonnet',
      speed: 'normal',
      input_tokens: 247,
      output_tokens: '57',
      cache_read_tokens: 23_936,
      cache_creation_tokens: 10,
      stop_reason: 'end_turn',
    }
    expect(readType('llm_request', attributes)).toEqual({
      reading: {
        kind: 'llm',
        provider: 'anthropic',
        state: { config: { model: 'claude-sonnet', speed: 'normal' } },
        model: 'claude-sonnet',
        usage: { input_tokens: 24_193, output_tokens: 57, cache_read_tokens: 23_936, cache_write_tokens: 10 },
        finishReasons: ['end_turn'],
      },
      unread: ['gen_ai.system', 'gen_ai.request.model'],
    })
  })

  it('is split into messages at their labels', ({ expect }) => {
    const attributes = {
      model: 'claude-sonnet',
      user_system_prompt: 'Be brief',
      new_context: '[USER]\nsee [this]\n\n---\n\nand that\n\n---\n\n[TOOL RESULT: toolu_1]\n{"stdout":"hi"}',
      'response.model_output': 'Done',
    }
    expect(readType('llm_request', attributes).reading).toEqual({
      kind: 'llm',
      provider: 'anthropic',
      input: {
        messages: [
          { role: 'system', content: 'Be brief' },
          { role: 'user', content: 'see [this]\n\n---\n\nand that' },
          { role: 'tool', content: { stdout: 'hi' }, tool_call_id: 'toolu_1' },
        ],
      },
      output: { role: 'assistant', content: 'Done' },
      state: { config: { model: 'claude-sonnet' } },
      model: 'claude-sonnet',
    })
  })

  it('keeps a context in one piece if it has too many messages to split', ({ expect }) => {
    const contextOf = (messages: number) => Array.from({ length: messages }, () => '[USER]\nhi').join('\n\n---\n\n')
    const messagesIn = (new_context: string) =>
      Reflect.get(Object(readType('llm_request', { new_context }).reading?.input), 'messages')
    const longest = contextOf(MAX_CONVERSATION_MESSAGES)
    expect(messagesIn(longest)).toHaveLength(MAX_CONVERSATION_MESSAGES)
    const longer = contextOf(MAX_CONVERSATION_MESSAGES + 1)
    expect(messagesIn(longer)).toEqual([{ role: 'user', content: longer }])
  })
})

describe('a tool', () => {
  it.for<[string, Record<string, Json>, GivenEvent[], Record<string, Json>]>([
    [
      'its labeled input and result',
      { tool_input: '[TOOL INPUT: Bash]\n{"command":"ls"}', new_context: '[TOOL RESULT: Bash]\n{"stdout":"a"}' },
      [],
      { input: { command: 'ls' }, output: { stdout: 'a' } },
    ],
    [
      'its details, and its output in an event',
      { full_command: 'ls -l' },
      [{ name: 'tool.output', attributes: { bash_command: 'ls -l', output: 'a.txt' } }],
      { input: { bash_command: 'ls -l', full_command: 'ls -l' }, output: 'a.txt' },
    ],
    [
      'the result of a file edit',
      { file_path: '/a.txt' },
      [{ name: 'tool.output', attributes: { content: 'new', diff: '+new' } }],
      { input: { file_path: '/a.txt' }, output: { content: 'new', diff: '+new' } },
    ],
    ['only its name', {}, [], {}],
  ])('reads %s', ([, attributes, events, content], { expect }) => {
    expect(readType('tool', { tool_name: 'Bash', ...attributes }, events).reading).toEqual({
      kind: 'tool',
      stepId: 'Bash',
      ...content,
    })
  })
})

it.for(['tool.execution', 'tool.blocked_on_user', 'hook'])('reads %s as a task', (type, { expect }) => {
  expect(readType(type, {}).reading).toEqual({ kind: 'task' })
})

it('ignores other spans and unknown types', ({ expect }) => {
  expect(readAs(claudeCode, aSpan({ attributes: { 'span.type': 'tool', model: 'T' } })).reading).toBeUndefined()
  expect(readType('walk', {}).reading).toBeUndefined()
})
