import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { MAX_CONVERSATION_MESSAGES } from '../../../src/limits.ts'
import {
  assistantMessage,
  inputMessages,
  messagesFrom,
  outputMessage,
  withMessages,
} from '../../../src/otlp/reading/messages.ts'

const CALL = { id: 'call_1', name: 'search', arguments: { q: 'refund' } }

describe('a message', () => {
  it.for<[string, Json, Json[]]>([
    ['a string that is not a message', 'hi', [{ role: 'user', content: 'hi' }]],
    ['OpenAI’s, with text', { role: 'user', content: 'hi' }, [{ role: 'user', content: 'hi' }]],
    ['a message without content', { role: 'assistant', content: null }, [{ role: 'assistant', content: null }]],
    ['empty text', { role: 'user', content: '' }, [{ role: 'user', content: '' }]],
    [
      'OpenAI’s, with an image',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'https://a/b.png' } },
        ],
      },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image_url', image_url: { url: 'https://a/b.png' } },
          ],
        },
      ],
    ],
    [
      'OpenAI’s, with tool calls',
      {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{"q":"refund"}' } },
          { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } },
        ],
      },
      [{ role: 'assistant', content: null, tool_calls: [CALL, { id: 'call_2', name: 'now', arguments: '' }] }],
    ],
    [
      'OpenAI’s original format of a call',
      { role: 'assistant', content: null, function_call: { name: 'search', arguments: '{"q":"refund"}' } },
      [{ role: 'assistant', content: null, tool_calls: [{ name: 'search', arguments: { q: 'refund' } }] }],
    ],
    [
      'OpenAI’s tool message',
      { role: 'tool', tool_call_id: 'call_1', name: 'search', content: '[{"id":1}]' },
      [{ role: 'tool', content: [{ id: 1 }], tool_call_id: 'call_1', name: 'search' }],
    ],
    [
      'OpenTelemetry parts',
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'They want' },
          { type: 'reasoning', content: 'a refund' },
          { type: 'text', content: 'Let me' },
          { type: 'text', content: 'see' },
          { type: 'tool_call', id: 'call_1', name: 'search', arguments: '{"q":"refund"}' },
        ],
        finish_reason: 'tool_call',
      },
      [
        {
          role: 'assistant',
          content: 'Let me\nsee',
          reasoning: 'They want\na refund',
          tool_calls: [CALL],
          finish_reason: 'tool_call',
        },
      ],
    ],
    [
      'OpenTelemetry parts that are not text',
      {
        role: 'user',
        name: 'Ann',
        parts: [
          { type: 'text', content: 'see' },
          { type: 'uri', modality: 'image', uri: 'https://a' },
          { type: 'blob', mime_type: 'image/png', content: 'AQID' },
          'and this',
          7,
        ],
      },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'uri', modality: 'image', uri: 'https://a' },
            { type: 'blob', mime_type: 'image/png', content: 'AQID' },
            { type: 'text', text: 'and this' },
            { type: 'text', text: 7 },
          ],
          name: 'Ann',
        },
      ],
    ],
    [
      'OpenTelemetry tool results, old and new',
      {
        role: 'tool',
        parts: [
          { type: 'tool_call_response', id: 'call_1', response: '{"ok":true}' },
          { type: 'tool_call_response', id: 'call_2', result: 'done' },
        ],
      },
      [
        { role: 'tool', content: { ok: true }, tool_call_id: 'call_1' },
        { role: 'tool', content: 'done', tool_call_id: 'call_2' },
      ],
    ],
    [
      'an agent’s text, calls, and results in one message',
      {
        role: 'assistant',
        parts: [
          { type: 'text', content: 'Within 30 days.' },
          { type: 'tool_call', id: 'call_1', name: 'search', arguments: { q: 'refund' } },
          { type: 'tool_call_response', id: 'call_1', response: [{ id: 'doc_1' }] },
        ],
      },
      [
        {
          role: 'assistant',
          content: 'Within 30 days.',
          tool_calls: [CALL],
          tool_results: [{ id: 'call_1', result: [{ id: 'doc_1' }] }],
        },
      ],
    ],
    [
      'AI SDK messages with reasoning and a call',
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'ok' },
          { type: 'tool-call', toolCallId: 'call_1', toolName: 'search', input: { q: 'refund' } },
        ],
      },
      [{ role: 'assistant', content: 'ok', reasoning: 'hm', tool_calls: [CALL] }],
    ],
    [
      'wrapped AI SDK results',
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'call_1',
            toolName: 'search',
            output: { type: 'json', value: [{ id: 'doc_1' }] },
          },
          { type: 'tool-result', toolCallId: 'call_2', toolName: 'now', output: { type: 'error-text', value: 'no' } },
          { type: 'tool-result', toolCallId: 'call_3', toolName: 'v4', args: { a: 1 }, result: 'ok' },
        ],
      },
      [
        { role: 'tool', content: [{ id: 'doc_1' }], tool_call_id: 'call_1', name: 'search' },
        { role: 'tool', content: { type: 'error-text', value: 'no' }, tool_call_id: 'call_2', name: 'now' },
        { role: 'tool', content: 'ok', tool_call_id: 'call_3', name: 'v4', args: { a: 1 } },
      ],
    ],
    [
      'Anthropic’s tool result before the user’s text',
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'found' }], is_error: true },
          { type: 'text', text: 'go on', cache_control: { type: 'ephemeral' } },
        ],
      },
      [
        { role: 'tool', content: 'found', tool_call_id: 'call_1', is_error: true },
        { role: 'user', content: [{ type: 'text', text: 'go on', cache_control: { type: 'ephemeral' } }] },
      ],
    ],
    [
      'Anthropic’s thinking with its signature, and a server tool',
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'sig' },
          { type: 'redacted_thinking', data: 'enc' },
          { type: 'tool_use', id: 'call_1', name: 'search', input: { q: 'refund' } },
          { type: 'server_tool_use', id: 'call_2', name: 'web', input: {} },
        ],
      },
      [
        {
          role: 'assistant',
          content: [{ type: 'redacted_thinking', data: 'enc' }],
          reasoning: 'hm',
          reasoning_details: [{ signature: 'sig' }],
          tool_calls: [CALL, { id: 'call_2', name: 'web', arguments: {}, type: 'server_tool_use' }],
        },
      ],
    ],
    [
      'LangChain’s, serialized as a constructor call',
      {
        lc: 1,
        type: 'constructor',
        id: ['langchain_core', 'messages', 'AIMessage'],
        kwargs: {
          content: '',
          tool_calls: [{ name: 'search', args: { q: 'refund' }, id: 'call_1', type: 'tool_call' }],
          invalid_tool_calls: [],
          additional_kwargs: {
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } }],
          },
          response_metadata: { model: 'm' },
        },
      },
      [{ role: 'assistant', content: '', tool_calls: [CALL] }],
    ],
    ['LangChain’s, with a type', { type: 'human', content: 'hi' }, [{ role: 'user', content: 'hi' }]],
    [
      'LangChain’s, as a dictionary',
      { type: 'tool', data: { content: '{"a":1}', tool_call_id: 'call_1' } },
      [{ role: 'tool', content: { a: 1 }, tool_call_id: 'call_1' }],
    ],
    [
      'Gemini’s',
      {
        role: 'model',
        parts: [
          { text: 'hm', thought: true },
          { text: 'ok' },
          { functionCall: { name: 'search', args: { q: 'refund' } } },
        ],
      },
      [
        {
          role: 'assistant',
          content: 'ok',
          reasoning: 'hm',
          tool_calls: [{ name: 'search', arguments: { q: 'refund' } }],
        },
      ],
    ],
    [
      'Genkit’s tool result',
      { role: 'tool', content: [{ toolResponse: { name: 'search', ref: '1', output: { a: 1 } } }] },
      [{ role: 'tool', content: { a: 1 }, tool_call_id: '1', name: 'search' }],
    ],
    [
      'OpenInference’s, wrapped',
      {
        message: {
          role: 'user',
          contents: [
            { message_content: { type: 'text', text: 'look' } },
            { message_content: { type: 'image', image: { image: { url: 'https://a' } } } },
            { message_content: { type: 'tool-call' } },
          ],
          tool_calls: [
            { tool_call: { id: 'call_1', function: { name: 'search', arguments: '"{\\"q\\":\\"refund\\"}"' } } },
          ],
        },
      },
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', image: { url: 'https://a' } },
          ],
          tool_calls: [CALL],
        },
      ],
    ],
    [
      'unknown fields, one with a name that we use',
      { role: 'assistant', content: 'a', reasoning: 'r', thinking: { deep: true }, tool_calls: 'none', x: 1, y: {} },
      [{ role: 'assistant', content: 'a', reasoning: 'r', thinking: { deep: true }, tool_calls: 'none', x: 1 }],
    ],
    [
      'two fields with the same meaning, one of them invalid',
      { role: 'assistant', content: 'a', toolCalls: [CALL], tool_calls: 'none' },
      [{ role: 'assistant', content: 'a', tool_calls: [CALL], other: { tool_calls: 'none' } }],
    ],
  ])('is read: %s', ([, message, expected], { expect }) => {
    expect(messagesFrom(message, 'user')).toEqual(expected)
  })

  it('keeps fields with any name', ({ expect }) => {
    const [message = {}] = messagesFrom(
      JSON.parse('{"role":"user","content":"a","__proto__":{"role":"system"}}'),
      'user',
    )
    expect(JSON.stringify(message)).toBe('{"role":"user","content":"a","__proto__":{"role":"system"}}')
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype)
  })
})

describe('the input of a model', () => {
  const conversation = { messages: [{ role: 'user', content: 'q' }] }

  it.for<[string, Json, Json | undefined, Json | undefined]>([
    ['a list of messages', [{ role: 'user', content: 'q' }], undefined, conversation],
    [
      'a list of messages, serialized twice',
      JSON.stringify('[{"role":"user","content":"q"}]'),
      undefined,
      conversation,
    ],
    ['one of several conversations', [[{ role: 'user', content: 'q' }]], undefined, conversation],
    ['one message', { role: 'user', content: 'q' }, undefined, conversation],
    [
      'instructions sent separately',
      [{ role: 'user', parts: [{ type: 'text', content: 'q' }] }],
      '[{"type":"text","content":"Be brief."},{"type":"text","content":"Be kind."}]',
      {
        messages: [
          { role: 'system', content: 'Be brief.\nBe kind.' },
          { role: 'user', content: 'q' },
        ],
      },
    ],
    [
      'a request, with its other fields kept',
      { model: 'm', system: 'Be brief.', messages: [{ role: 'user', content: 'q' }], tools: [{ name: 't' }] },
      undefined,
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'q' },
        ],
        model: 'm',
        tools: [{ name: 't' }],
      },
    ],
    [
      'Gemini’s request',
      { contents: [{ role: 'user', parts: [{ text: 'q' }] }], system_instruction: { parts: [{ text: 'Be brief.' }] } },
      undefined,
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'q' },
        ],
      },
    ],
    [
      'LangChain’s prompt value',
      {
        lc: 1,
        type: 'constructor',
        id: ['langchain_core', 'prompt_values', 'ChatPromptValue'],
        kwargs: {
          messages: [{ lc: 1, type: 'constructor', id: ['HumanMessage'], kwargs: { content: 'q' } }],
        },
      },
      undefined,
      conversation,
    ],
  ])('is read: %s', ([, value, instructions, expected], { expect }) => {
    expect(inputMessages(value, instructions)).toEqual(expected)
  })

  it.for<[string, Json, string?]>([
    ['a list of documents', [{ id: 1, content: 'd' }]],
    ['an unknown role', { role: 'admin', name: 'Ann' }],
    ['a string', 'hello'],
    ['no messages', [], 'Be brief.'],
  ])('isn’t recognized in: %s', ([, value, instructions], { expect }) => {
    expect(inputMessages(value, instructions)).toBeUndefined()
  })

  it('contains only the instructions if nothing else was sent', ({ expect }) => {
    expect(inputMessages(undefined, 'Be brief.')).toEqual({ messages: [{ role: 'system', content: 'Be brief.' }] })
    expect(inputMessages(undefined)).toBeUndefined()
  })
})

describe('the output of a model', () => {
  it.for<[string, Json, Json | undefined]>([
    [
      'OpenTelemetry’s',
      [{ role: 'assistant', parts: [{ type: 'text', content: 'a' }], finish_reason: 'stop' }],
      { output: { role: 'assistant', content: 'a' }, finishReasons: ['stop'], rest: {} },
    ],
    [
      'several choices',
      [
        { role: 'assistant', parts: [{ type: 'text', content: 'a' }], finish_reason: 'stop' },
        { role: 'assistant', parts: [{ type: 'text', content: 'b' }], finish_reason: 'length' },
      ],
      {
        output: {
          choices: [
            { role: 'assistant', content: 'a' },
            { role: 'assistant', content: 'b' },
          ],
        },
        finishReasons: ['stop', 'length'],
        rest: {},
      },
    ],
    [
      'a conversation',
      [
        { role: 'assistant', content: null, tool_calls: [CALL] },
        { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
      ],
      {
        output: {
          messages: [
            { role: 'assistant', content: null, tool_calls: [CALL] },
            { role: 'tool', content: 'ok', tool_call_id: 'call_1' },
          ],
        },
        finishReasons: [],
        rest: {},
      },
    ],
    [
      'OpenAI’s response, serialized',
      '{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}}],"usage":{"n":1}}',
      { output: { role: 'assistant', content: 'a' }, finishReasons: ['stop'], rest: { id: 'c', usage: { n: 1 } } },
    ],
    [
      'Anthropic’s response',
      { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'a' }], stop_reason: 'end_turn' },
      {
        output: { role: 'assistant', content: 'a', id: 'm' },
        finishReasons: ['end_turn'],
        rest: {},
      },
    ],
    [
      'Gemini’s response',
      { candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' }], modelVersion: 'g' },
      { output: { role: 'assistant', content: 'a' }, finishReasons: ['STOP'], rest: { modelVersion: 'g' } },
    ],
    [
      'LangChain’s response',
      {
        generations: [
          [{ text: 'a', message: { lc: 1, type: 'constructor', id: ['AIMessage'], kwargs: { content: 'a' } } }],
        ],
        llmOutput: {},
      },
      { output: { role: 'assistant', content: 'a' }, finishReasons: [], rest: {} },
    ],
    [
      'OpenAI Responses items',
      {
        id: 'resp_1',
        output: [
          { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
          { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
          { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'search', arguments: '{"q":"refund"}' },
        ],
      },
      {
        output: {
          role: 'assistant',
          content: 'a',
          reasoning: 'hm',
          reasoning_details: [{ id: 'rs_1' }],
          tool_calls: [{ ...CALL, other: { id: 'fc_1' } }],
        },
        finishReasons: [],
        rest: { id: 'resp_1' },
      },
    ],
  ])('is read: %s', ([, value, expected], { expect }) => {
    expect(outputMessage(value)).toEqual(expected)
  })

  it.for<[string, Json]>([
    ['a list of unrelated objects', [{ id: 1 }]],
    ['a string', 'a'],
    ['an object', { answer: 42 }],
  ])('isn’t recognized in: %s', ([, value], { expect }) => {
    expect(outputMessage(value)).toBeUndefined()
  })

  it('is reassembled from its parts', ({ expect }) => {
    const toolCalls = '[{"toolCallId":"call_1","toolName":"search","input":"{\\"q\\":\\"refund\\"}"}]'
    expect(assistantMessage({ text: 'ok', reasoning: 'hm', toolCalls })).toEqual({
      role: 'assistant',
      content: 'ok',
      reasoning: 'hm',
      tool_calls: [CALL],
    })
    expect(assistantMessage({})).toBeUndefined()
  })
})

it('finds messages inside other values, and leaves everything else unchanged', ({ expect }) => {
  expect(withMessages({ type: 'ai', content: 'a' })).toEqual({ role: 'assistant', content: 'a' })
  expect(withMessages({ messages: [{ type: 'ai', content: 'a' }], step: 2 })).toEqual({
    messages: [{ role: 'assistant', content: 'a' }],
    step: 2,
  })
  for (const value of ['text', 7, null, [1, 2], { a: 'b' }, { messages: 'none' }]) {
    expect(withMessages(value)).toBe(value)
  }
})

describe('a conversation with too many messages to normalize', () => {
  const message = { role: 'human', content: 'hi' }
  const messages = (count: number): Json[] => Array.from({ length: count }, () => message)
  const most = messages(MAX_CONVERSATION_MESSAGES)
  const more = messages(MAX_CONVERSATION_MESSAGES + 1)

  it.for<[string, (list: Json[]) => unknown]>([
    ['a list', inputMessages],
    ['a nested list', list => inputMessages([list])],
    ['a string', list => inputMessages(JSON.stringify(list))],
    ['a request', list => inputMessages({ messages: list })],
    ['an answer', outputMessage],
    ['an answer that contains a list', list => outputMessage([message, list.slice(1)])],
    ['choices', list => outputMessage({ choices: list })],
  ])('stays unchanged: %s', ([, read], { expect }) => {
    expect(read(most)).toBeDefined()
    expect(read(more)).toBeUndefined()
  })

  it('stays unchanged where any value is allowed', ({ expect }) => {
    expect(withMessages(more)).toBe(more)
  })
})

it('reads the items of a Responses conversation', ({ expect }) => {
  const call = { type: 'function_call', call_id: 'call_1', name: 'get_order', arguments: '{"order":7}' }
  const tool_calls = [{ id: 'call_1', name: 'get_order', arguments: { order: 7 } }]
  const asked = [
    { role: 'user', content: 'How long?' },
    call,
    { type: 'function_call_output', call_id: 'call_1', output: '{"a":1}' },
  ]
  expect(inputMessages(asked)).toEqual({
    messages: [
      { role: 'user', content: 'How long?' },
      { role: 'assistant', content: null, tool_calls },
      { role: 'tool', content: { a: 1 }, tool_call_id: 'call_1' },
    ],
  })
  expect(outputMessage([call])?.output).toEqual({ role: 'assistant', content: null, tool_calls })
})

it('reads Google’s system instruction among the parameters', ({ expect }) => {
  const contents = [{ role: 'user', parts: [{ text: 'How long?' }] }]
  expect(inputMessages({ contents, config: { system_instruction: 'Be brief', top_p: 1 } })).toEqual({
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'How long?' },
    ],
    config: { top_p: 1 },
  })
})
