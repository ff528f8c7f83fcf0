import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { logfire } from '../../../src/otlp/conventions/logfire.ts'
import { aSpan, readAs } from '../../support/decoded-telemetry.ts'

const readAsLogfire = (scope: string, attributes: Record<string, Json>, name = 'span') =>
  readAs(logfire, aSpan({ scope, name, attributes }))

/** Messages in the format that pydantic-ai has used since version 2. */
const messageOf = (role: string, ...parts: Json[]): Json => ({ role, parts })
const text = (content: string): Json => ({ type: 'text', content })

describe('Logfire', () => {
  it('reads the template and arguments of the caller’s own span', ({ expect }) => {
    const attributes = {
      'logfire.msg_template': 'answer {q}',
      'logfire.msg': 'answer refund?',
      'logfire.span_type': 'span',
      'logfire.json_schema': JSON.stringify({
        type: 'object',
        properties: { q: {}, nested: { type: 'object' }, 'session.id': {}, return: { type: 'object' } },
      }),
      q: 'refund?',
      nested: '{"a":[1,2,{"b":true}]}',
      'session.id': "[Scrubbed due to 'session']",
      return: '{"answer":"30 days"}',
    }
    expect(readAsLogfire('logfire', attributes)).toEqual({
      reading: {
        fallback: {
          stepId: 'answer {q}',
          input: { q: 'refund?', nested: { a: [1, 2, { b: true }] } },
          output: { answer: '30 days' },
        },
      },
      // The arguments stay in the metadata, because they aren't the input if another convention finds the real input.
      unread: ['logfire.msg_template', 'logfire.msg', 'logfire.span_type', 'q', 'nested', 'session.id', 'return'],
    })
  })

  it('reads no input from a log line', ({ expect }) => {
    const attributes = {
      'logfire.msg_template': 'retrieved {n} docs',
      'logfire.span_type': 'log',
      'logfire.json_schema': '{"type":"object","properties":{"n":{}}}',
      n: 2,
    }
    expect(readAsLogfire('logfire', attributes).reading).toEqual({ fallback: { stepId: 'retrieved {n} docs' } })
  })

  it('skips spans that have only started', ({ expect }) => {
    const attributes = {
      'logfire.span_type': 'pending_span',
      'logfire.pending_parent_id': '0000000000000000',
      'logfire.msg_template': 'answer {q}',
    }
    expect(readAsLogfire('logfire', attributes).reading).toEqual({ isPending: true })
  })

  it('reads an OpenAI call without OpenTelemetry’s attributes', ({ expect }) => {
    const attributes = {
      'logfire.msg_template': 'Chat Completion with {request_data[model]!r}',
      request_data: JSON.stringify({
        model: 'gpt-4.1-mini',
        temperature: 0.2,
        messages: [{ role: 'user', content: 'hi' }],
        tools: [{ type: 'function', function: { name: 'get_order' } }],
      }),
      response_data: JSON.stringify({
        message: { role: 'assistant', content: '30 days' },
        usage: {
          prompt_tokens: 42,
          completion_tokens: 9,
          total_tokens: 51,
          prompt_tokens_details: { cached_tokens: 7 },
          completion_tokens_details: { reasoning_tokens: 3 },
        },
      }),
      async: false,
    }
    expect(readAsLogfire('logfire.openai', attributes)).toEqual({
      reading: {
        state: { config: { model: 'gpt-4.1-mini', temperature: 0.2, tools: ['get_order'] } },
        usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51, cache_read_tokens: 7, reasoning_tokens: 3 },
        fallback: {
          kind: 'llm',
          stepId: 'chat',
          input: { messages: [{ role: 'user', content: 'hi' }] },
          output: { role: 'assistant', content: '30 days' },
        },
      },
      unread: ['logfire.msg_template', 'async'],
    })
  })

  it('reads an Anthropic call, which has separate instructions and counts input tokens without the cache', ({
    expect,
  }) => {
    const attributes = {
      'gen_ai.request.model': 'claude',
      request_data: JSON.stringify({
        model: 'claude',
        system: 'Be brief',
        messages: [{ role: 'user', content: 'hi' }],
      }),
      response_data: JSON.stringify({
        combined_chunk_content: '30 days',
        chunk_count: 2,
        usage: { input_tokens: 3, cache_read_input_tokens: 40, cache_creation_input_tokens: 5, output_tokens: 9 },
      }),
    }
    expect(readAsLogfire('logfire.anthropic', attributes).reading).toEqual({
      usage: { input_tokens: 48, output_tokens: 9, cache_read_tokens: 40, cache_write_tokens: 5 },
      fallback: {
        kind: 'llm',
        input: {
          messages: [
            { role: 'system', content: 'Be brief' },
            { role: 'user', content: 'hi' },
          ],
        },
        output: { role: 'assistant', content: '30 days' },
      },
    })
  })

  it('reads an embedding, and an OpenAI response in events', ({ expect }) => {
    const embedding = {
      request_data: '{"model":"embed","input":"text"}',
      response_data: '{"usage":{"prompt_tokens":5}}',
    }
    expect(readAsLogfire('logfire.openai', embedding).reading).toEqual({
      state: { config: { model: 'embed' } },
      usage: { input_tokens: 5 },
      fallback: { kind: 'embedding', input: { input: 'text' } },
    })
    const events = [
      { 'event.name': 'gen_ai.system.message', content: 'Be brief', role: 'system' },
      { 'event.name': 'gen_ai.user.message', content: 'hi', role: 'user' },
      { 'event.name': 'gen_ai.assistant.message', content: 'One moment', role: 'assistant' },
      {
        'event.name': 'gen_ai.assistant.message',
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_order', arguments: '{"id":7}' } }],
      },
    ]
    expect(readAsLogfire('logfire.openai', { events: JSON.stringify(events) }).reading).toEqual({
      input: {
        messages: [
          { role: 'system', content: 'Be brief' },
          { role: 'user', content: 'hi' },
        ],
      },
      output: {
        role: 'assistant',
        content: 'One moment',
        tool_calls: [{ id: 'c1', name: 'get_order', arguments: { id: 7 } }],
      },
    })
  })

  it('does not read names that only resemble Logfire’s', ({ expect }) => {
    const attributes = {
      events: '[{"name":"click"}]',
      request_data: '{"path":"/"}',
      final_result: 'won',
      agent_name: 'Smith',
    }
    expect(readAsLogfire('logfire', attributes)).toEqual({ reading: undefined, unread: Object.keys(attributes) })
    expect(readAsLogfire('app', { request_data: '{"model":"m"}' }).reading).toBeUndefined()
  })
})

describe('pydantic-ai', () => {
  const messages = [
    messageOf('system', text('You are a support agent')),
    messageOf('user', text('Hello')),
    messageOf('assistant', text('Hi')),
    messageOf('user', text('What is the refund policy?')),
    messageOf('assistant', { type: 'tool_call', id: 'c1', name: 'search', arguments: '{"q":"refund"}' }),
    messageOf('user', { type: 'tool_call_response', id: 'c1', name: 'search', result: '30 days' }),
    messageOf('assistant', text('You have 30 days')),
  ]
  const question = [
    { role: 'system', content: 'You are a support agent' },
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi' },
    { role: 'user', content: 'What is the refund policy?' },
  ]
  const steps = [
    { role: 'assistant', content: null, tool_calls: [{ id: 'c1', name: 'search', arguments: { q: 'refund' } }] },
    { role: 'tool', content: '30 days', tool_call_id: 'c1', name: 'search' },
  ]

  it('version 5: a run’s input is the question, its output is the answer, and its steps are the messages between them', ({
    expect,
  }) => {
    const attributes = {
      model_name: 'gpt-4o',
      agent_name: 'support',
      'gen_ai.agent.name': 'support',
      'gen_ai.operation.name': 'invoke_agent',
      'pydantic_ai.all_messages': JSON.stringify(messages),
      final_result: 'You have 30 days',
      metadata: '{"tenant":"acme"}',
      'gen_ai.aggregated_usage.input_tokens': 84,
      'logfire.msg': 'support run',
      'logfire.json_schema': '{}',
    }
    expect(readAsLogfire('pydantic-ai', attributes, 'invoke_agent support')).toEqual({
      reading: {
        kind: 'agent',
        stepId: 'support',
        input: { messages: question },
        output: { role: 'assistant', content: 'You have 30 days' },
        state: { steps },
        model: 'gpt-4o',
        trace: { metadata: { tenant: 'acme' } },
      },
      unread: [
        'model_name',
        'agent_name',
        'gen_ai.agent.name',
        'gen_ai.operation.name',
        'gen_ai.aggregated_usage.input_tokens',
        'logfire.msg',
        'logfire.json_schema',
      ],
    })
  })

  it('version 5: a structured result is the output, and instructions come first', ({ expect }) => {
    const attributes = {
      agent_name: 'support',
      'gen_ai.system_instructions': '[{"type":"text","content":"Be brief"}]',
      'pydantic_ai.all_messages': JSON.stringify([
        messageOf('user', text('Where is order 7?')),
        messageOf('assistant', { type: 'tool_call', id: 'c1', name: 'final_result', arguments: '{"city":"Paris"}' }),
        messageOf('user', {
          type: 'tool_call_response',
          id: 'c1',
          name: 'final_result',
          result: 'Final result processed.',
        }),
      ]),
      final_result: '{"city":"Paris"}',
    }
    expect(readAsLogfire('pydantic-ai', attributes).reading).toEqual({
      kind: 'agent',
      stepId: 'support',
      input: {
        messages: [
          { role: 'system', content: 'Be brief' },
          { role: 'user', content: 'Where is order 7?' },
        ],
      },
      output: { city: 'Paris' },
      state: {
        steps: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', name: 'final_result', arguments: { city: 'Paris' } }],
          },
          { role: 'tool', content: 'Final result processed.', tool_call_id: 'c1', name: 'final_result' },
        ],
      },
    })
  })

  it('version 5: leaves a model call to OpenTelemetry’s conventions, except for its cost', ({ expect }) => {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.system_instructions': '[]',
      'gen_ai.input.messages': '[]',
      'operation.cost': 0.003,
    }
    expect(readAsLogfire('pydantic-ai', attributes, 'chat gpt-4o')).toEqual({
      reading: { cost: { total: 0.003 } },
      unread: ['gen_ai.operation.name', 'gen_ai.system_instructions', 'gen_ai.input.messages'],
    })
  })

  it('version 2: a tool’s arguments and response have different names', ({ expect }) => {
    const attributes = {
      'gen_ai.tool.name': 'get_order',
      'gen_ai.tool.call.id': 'c1',
      tool_arguments: '{"id":7}',
      tool_response: 'shipped',
      'logfire.msg': 'running tool: get_order',
    }
    expect(readAsLogfire('pydantic-ai', attributes, 'running tool')).toEqual({
      reading: { input: { id: 7 }, output: 'shipped', fallback: { kind: 'tool' } },
      unread: ['gen_ai.tool.name', 'gen_ai.tool.call.id', 'logfire.msg'],
    })
  })

  it('version 1: messages are a list of events', ({ expect }) => {
    const run = {
      model_name: 'test',
      agent_name: 'agent',
      all_messages_events: JSON.stringify([
        { content: 'Hello', role: 'user', 'gen_ai.message.index': 0, 'event.name': 'gen_ai.user.message' },
        { role: 'assistant', content: 'success', 'gen_ai.message.index': 1, 'event.name': 'gen_ai.assistant.message' },
      ]),
      final_result: 'success',
    }
    expect(readAsLogfire('pydantic-ai', run, 'agent run').reading).toEqual({
      kind: 'agent',
      stepId: 'agent',
      input: { messages: [{ role: 'user', content: 'Hello' }] },
      output: { role: 'assistant', content: 'success' },
      model: 'test',
    })
    const chat = {
      'gen_ai.operation.name': 'chat',
      events: JSON.stringify([
        {
          content: 'Hello',
          role: 'user',
          'gen_ai.system': 'test',
          'gen_ai.message.index': 0,
          'event.name': 'gen_ai.user.message',
        },
        {
          content: '30 days',
          role: 'tool',
          id: 'c1',
          name: 'search',
          'gen_ai.message.index': 2,
          'event.name': 'gen_ai.tool.message',
        },
        {
          index: 0,
          message: { role: 'assistant', content: 'success' },
          'gen_ai.system': 'test',
          'event.name': 'gen_ai.choice',
        },
      ]),
    }
    expect(readAsLogfire('pydantic-ai', chat, 'chat test')).toEqual({
      reading: {
        input: {
          messages: [
            { role: 'user', content: 'Hello' },
            { role: 'tool', content: '30 days', tool_call_id: 'c1', name: 'search' },
          ],
        },
        output: { role: 'assistant', content: 'success' },
      },
      unread: ['gen_ai.operation.name'],
    })
  })
})
