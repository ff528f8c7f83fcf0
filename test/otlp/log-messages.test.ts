import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { foldMessages, messagesOf, reasonForNothing, recordKey, recordKeys } from '../../src/otlp/log-messages.ts'
import type { TelemetryLog } from '../../src/otlp/reading/telemetry.ts'
import type { SpanMessage } from '../../src/otlp/span-step.ts'
import { aLog, recordedLogs } from '../support/decoded-telemetry.ts'

const input = (data: Json): SpanMessage => ({ type: 'input', isMessage: true, data })
const output = (data: Json, choice?: number): SpanMessage => ({
  type: 'output',
  isMessage: true,
  data,
  ...(choice !== undefined && { choice }),
})
const whole = (type: SpanMessage['type'], data: Json): SpanMessage => ({ type, isMessage: false, data })

describe('recorded logs', () => {
  it('from OpenTelemetry’s OpenAI instrumentation form a conversation', async ({ expect }) => {
    const logs = await recordedLogs('otel-contrib-openai')
    const messages = logs.map(messagesOf)
    expect(messages).toEqual([
      [input({ role: 'system', content: 'You are a support agent' })],
      [input({ role: 'user', content: 'What is the refund policy?' })],
      [output({ role: 'assistant', content: 'Refunds are accepted within 30 days.' }, 0)],
    ])
    expect(foldMessages(messages.flat())).toEqual({
      input: {
        messages: [
          { role: 'system', content: 'You are a support agent' },
          { role: 'user', content: 'What is the refund policy?' },
        ],
      },
      output: { role: 'assistant', content: 'Refunds are accepted within 30 days.' },
    })
    // The first two records are from the same millisecond.
    const keys = await recordKeys()(logs)
    expect(new Set(keys).size).toBe(3)
    expect(await recordKeys()(await recordedLogs('otel-contrib-openai'))).toEqual(keys)
  })

  it('from Codex contain the prompt', async ({ expect }) => {
    const logs = await recordedLogs('codex-cli')
    const withContent = logs.filter(log => messagesOf(log).length > 0)
    expect(withContent.map(log => [log.spanId, messagesOf(log)])).toEqual([
      ['6225035e0b51c5e9', [input({ role: 'user', content: 'What is the refund policy?' })]],
    ])
    const reasons = logs.filter(log => !withContent.includes(log)).map(reasonForNothing)
    expect(reasons).toEqual(Array(15).fill('the record has no span content'))
  })

  it('from Deno belong to no span', async ({ expect }) => {
    const [log, ...others] = await recordedLogs('deno-protobuf')
    expect(others).toEqual([])
    expect(log?.body).toBe('hello log from deno\n')
    expect(messagesOf(log ?? aLog())).toEqual([])
    expect(reasonForNothing(log ?? aLog())).toBe('the record has no span content')
  })
})

const TOOL_CALL = { id: 'c1', type: 'function', function: { name: 'search', arguments: '{"q":"refund"}' } }
const TOLD_CALL = { id: 'c1', name: 'search', arguments: { q: 'refund' } }

describe('records', () => {
  it.for<[string, Partial<Omit<TelemetryLog, 'attributes'>>, Record<string, Json>, SpanMessage[]]>([
    [
      'a message with its name in the record',
      { eventName: 'gen_ai.user.message', body: { role: 'user', content: 'hi' } },
      {},
      [input({ role: 'user', content: 'hi' })],
    ],
    [
      'a message whose record name is a source location',
      { eventName: 'event src/main.rs:1', body: { content: 'hi' } },
      { 'event.name': 'gen_ai.user.message' },
      [input({ role: 'user', content: 'hi' })],
    ],
    [
      'a message that is a string',
      { eventName: 'gen_ai.system.message', body: 'Be brief' },
      {},
      [input({ role: 'system', content: 'Be brief' })],
    ],
    [
      'a message with other attributes',
      { eventName: 'gen_ai.user.message', body: null },
      { content: 'hi', 'server.address': 'localhost', 'gen_ai.system': 'openai' },
      [input({ role: 'user', content: 'hi' })],
    ],
    [
      'a message as JSON in an attribute',
      { eventName: 'gen_ai.assistant.message' },
      { 'gen_ai.event.content': JSON.stringify({ content: '', tool_calls: [TOOL_CALL] }) },
      [input({ role: 'assistant', content: '', tool_calls: [TOLD_CALL] })],
    ],
    [
      'a tool’s result',
      { eventName: 'gen_ai.tool.message', body: { id: 'c1', content: '30 days' } },
      {},
      [input({ role: 'tool', content: '30 days', tool_call_id: 'c1' })],
    ],
    [
      'a choice',
      {
        eventName: 'gen_ai.choice',
        body: { index: 1, finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls: [TOOL_CALL] } },
      },
      {},
      [output({ role: 'assistant', content: null, tool_calls: [TOLD_CALL] }, 1)],
    ],
    [
      'a whole call',
      { eventName: 'gen_ai.client.inference.operation.details' },
      {
        'gen_ai.system_instructions': '[{"type":"text","content":"Be brief"}]',
        'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }],
        'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"30 days"}]}]',
      },
      [
        whole('input', {
          messages: [
            { role: 'system', content: 'Be brief' },
            { role: 'user', content: 'hi' },
          ],
        }),
        whole('output', { role: 'assistant', content: '30 days' }),
      ],
    ],
    [
      'a whole call in the body',
      {
        eventName: 'gen_ai.client.inference.operation.details',
        body: { 'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'hi' }] }] },
      },
      {},
      [whole('input', { messages: [{ role: 'user', content: 'hi' }] })],
    ],
    [
      'a prompt and an answer in the oldest format',
      { eventName: 'gen_ai.content.prompt' },
      { 'gen_ai.prompt': '[{"role":"user","content":"hi"}]' },
      [whole('input', { messages: [{ role: 'user', content: 'hi' }] })],
    ],
    [
      'a Claude Code prompt whose name has no prefix',
      { body: 'claude_code.user_prompt' },
      { 'event.name': 'user_prompt', prompt: 'hi', prompt_length: 2 },
      [input({ role: 'user', content: 'hi' })],
    ],
    [
      'a Claude Code prompt without a body',
      {},
      { 'event.name': 'user_prompt', prompt: 'hi' },
      [input({ role: 'user', content: 'hi' })],
    ],
    [
      'a Claude Code answer',
      { body: 'claude_code.assistant_response' },
      { response: '30 days', response_length: 7 },
      [output({ role: 'assistant', content: '30 days' })],
    ],
    [
      'a tool call by Claude Code',
      { eventName: 'claude_code.tool_result' },
      {
        tool_name: 'Bash',
        tool_use_id: 'toolu_1',
        tool_input: '{"command":"ls"}',
        success: 'false',
        error: 'no such file',
      },
      [
        input({
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'toolu_1', name: 'Bash', arguments: { command: 'ls' } }],
        }),
        input({ role: 'tool', content: 'no such file', tool_call_id: 'toolu_1', name: 'Bash' }),
      ],
    ],
    [
      'a raw Claude Code request',
      { eventName: 'claude_code.api_request_body' },
      { body: '{"model":"claude","system":"Be brief","messages":[{"role":"user","content":"hi"}]}' },
      [
        whole('input', {
          messages: [
            { role: 'system', content: 'Be brief' },
            { role: 'user', content: 'hi' },
          ],
          model: 'claude',
        }),
      ],
    ],
    [
      'a truncated request',
      { eventName: 'claude_code.api_request_body' },
      { body: '{"model":"claude","messages":[{"ro', body_truncated: 'true' },
      [whole('input', '{"model":"claude","messages":[{"ro')],
    ],
    [
      'a tool call by Codex',
      { eventName: 'event otel/src/events/session_telemetry.rs:1' },
      { 'event.name': 'codex.tool_result', tool_name: 'shell', arguments: '{"command":["ls"]}', output: 'a.txt' },
      [whole('input', { command: ['ls'] }), whole('output', 'a.txt')],
    ],
  ])('contain %s', ([, fields, attributes, messages], { expect }) => {
    expect(messagesOf(aLog({ ...fields, attributes }))).toEqual(messages)
  })

  it.for<[string, Partial<Omit<TelemetryLog, 'attributes'>>, Record<string, Json>, string]>([
    [
      'they have no span',
      { spanId: null, eventName: 'gen_ai.choice', body: { message: { content: 'hi' } } },
      {},
      'the record belongs to no span',
    ],
    ['they are plain log lines', { body: 'started' }, {}, 'the record has no span content'],
    [
      'content is not recorded',
      { eventName: 'gen_ai.choice', body: { index: 0, finish_reason: 'stop', message: { role: 'assistant' } } },
      {},
      'the sender omitted its content',
    ],
    [
      'the prompt is redacted',
      {},
      { 'event.name': 'codex.user_prompt', prompt: '[REDACTED]' },
      'the sender omitted its content',
    ],
    [
      'a request went to a file',
      { eventName: 'claude_code.api_request_body' },
      { body_ref: '/tmp/1.request.json' },
      'the sender omitted its content',
    ],
  ])('contain nothing if %s', ([, fields, attributes, reason], { expect }) => {
    const log = aLog({ ...fields, attributes })
    expect([messagesOf(log), reasonForNothing(log)]).toEqual([[], reason])
  })
})

describe('the key of a record', () => {
  const log = (content: string, more: Partial<Omit<TelemetryLog, 'attributes'>> = {}) =>
    aLog({ eventName: 'gen_ai.user.message', body: { content }, ...more })

  it('is the same each time the record is sent, and differs from the keys of other records', async ({ expect }) => {
    const key = await recordKey(log('hi'))
    expect(key).toMatch(/^1795260983000000000:gen_ai\.user\.message:[0-9a-f]{64}$/)
    expect(await recordKey(log('hi'))).toBe(key)
    const others = [
      log('ho'),
      log('hi', { timeNs: 1_795_260_983_000_000_001n }),
      log('hi', { spanId: '00f067aa0ba902b7' }),
      log('hi', { eventName: 'gen_ai.choice' }),
      aLog({ eventName: 'gen_ai.user.message', body: { content: 'hi' }, attributes: { index: 1 } }),
    ]
    const keys = await Promise.all([log('hi'), ...others].map(recordKey))
    expect(new Set(keys).size).toBe(keys.length)
  })

  it('distinguishes equal messages with the same time', async ({ expect }) => {
    const key = await recordKey(log('hi'))
    expect(await recordKeys()([log('hi'), log('hi'), log('hi')])).toEqual([key, `${key}:2`, `${key}:3`])
  })
})

describe('the messages in a span', () => {
  it.for<[string, SpanMessage[], { input?: Json; output?: Json }]>([
    ['nothing', [], {}],
    [
      'several choices in numeric order',
      [output({ content: 'b' }, 1), output({ content: 'a' }, 0)],
      { output: { choices: [{ content: 'a' }, { content: 'b' }] } },
    ],
    [
      'successive answers',
      [output({ content: 'a' }), output({ content: 'b' })],
      { output: { messages: [{ content: 'a' }, { content: 'b' }] } },
    ],
    [
      'the first choices of two calls',
      [output({ content: 'a' }, 0), output({ content: 'b' }, 0)],
      { output: { messages: [{ content: 'a' }, { content: 'b' }] } },
    ],
    [
      'the last of several whole values',
      [input({ content: 'part' }), whole('input', 'first'), whole('input', 'last'), whole('output', 'answer')],
      { input: 'last', output: 'answer' },
    ],
  ])('become %s', ([, messages, content], { expect }) => {
    expect(foldMessages(messages)).toEqual({ input: undefined, output: undefined, ...content })
  })
})
