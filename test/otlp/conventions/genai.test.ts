import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { genAi } from '../../../src/otlp/conventions/genai.ts'
import { genAiEvents } from '../../../src/otlp/conventions/genai-events.ts'
import { genAiLegacy } from '../../../src/otlp/conventions/genai-legacy.ts'
import { genAiRetrieval } from '../../../src/otlp/conventions/genai-retrieval.ts'
import { stepOf } from '../../../src/otlp/map.ts'
import { aSpan, type GivenEvent, readAs, recordedSpans } from '../../support/decoded-telemetry.ts'

const QUESTION = { role: 'user', content: 'What is the refund policy?' }
const SYSTEM = { role: 'system', content: 'You are a support agent' }
const CALL = { id: 'call_1', name: 'searchKb', arguments: { query: 'refund policy' } }
const FOUND = [{ id: 'doc_1', text: 'Refunds within 30 days', score: 0.9, query: 'refund policy' }]
const ANSWER = { role: 'assistant', content: 'Refunds are accepted within 30 days.' }

/** The parts of a recorded client's steps that only this convention sets. */
async function stepsOf(directory: string) {
  const steps = (await recordedSpans(directory)).map(span => stepOf(span))
  return steps.map(({ kind, stepId, input, output, state, metadata: { model, provider, usage, finish_reasons } }) => ({
    kind,
    stepId,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(state.size > 0 && { state: Object.fromEntries(state) }),
    ...(model !== undefined && { model, provider }),
    ...(usage !== undefined && { usage }),
    ...(finish_reasons !== undefined && { finish_reasons }),
  }))
}

describe('recorded OpenTelemetry spans', () => {
  it('include a retrieval, a model, a failing tool, and an agent', async ({ expect }) => {
    expect(await stepsOf('otel-js2-json')).toEqual([
      {
        kind: 'retriever',
        stepId: 'retrieval kb',
        input: 'refund policy',
        output: [
          { id: 'doc_1', score: 0.95 },
          { id: 'doc_2', score: 0.87 },
        ],
        state: {
          retrieved_chunks: [
            { id: 'doc_1', score: 0.95 },
            { id: 'doc_2', score: 0.87 },
          ],
        },
      },
      {
        kind: 'llm',
        stepId: 'chat',
        input: { messages: [{ role: 'system', content: 'You are helpful' }, QUESTION] },
        output: { role: 'assistant', content: '30 days' },
        state: { config: { model: 'gpt-4.1-mini', provider: 'openai' } },
        model: 'gpt-4.1-mini',
        provider: 'openai',
        usage: { input_tokens: 42, output_tokens: 9 },
        finish_reasons: ['stop'],
      },
      { kind: 'tool', stepId: 'get_order', input: { order: 1 } },
      { kind: 'agent', stepId: 'support', input: 'What is the refund policy?', output: '30 days' },
    ])
  })

  it('include structured values, and attributes that no convention reads', async ({ expect }) => {
    const [chat] = await recordedSpans('otel-js3-proto')
    const { input, output, metadata } = stepOf(chat ?? aSpan())
    expect({ input, output, attributes: metadata.attributes }).toEqual({
      input: { messages: [{ role: 'user', content: 'hi' }] },
      output: { role: 'assistant', content: 'hello' },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'x.null': null,
        'x.mixed': [1, 'a', true, null, { k: 1.5 }],
        'x.bytes': 'AQL/',
        'x.big': '9007199254740994',
        'x.int': 7,
        'x.float': 7,
      },
    })
  })

  it('from AI SDK 7 count a model’s usage only once', async ({ expect }) => {
    const usage = { input_tokens: 42, output_tokens: 9, cache_read_tokens: 7, cache_write_tokens: 0 }
    const config = { model: 'gpt-4.1-mini', provider: 'openai' }
    const steps = await stepsOf('ai-sdk-v7')
    expect(steps.slice(0, 6)).toEqual([
      {
        kind: 'llm',
        stepId: 'chat',
        input: { messages: [SYSTEM, QUESTION] },
        output: { role: 'assistant', content: null, tool_calls: [CALL] },
        state: { config: { ...config, tools: ['searchKb'] } },
        model: 'gpt-4.1-mini-2025',
        provider: 'openai',
        usage,
        finish_reasons: ['tool-calls'],
      },
      { kind: 'tool', stepId: 'searchKb', input: { query: 'refund policy' }, output: FOUND },
      { kind: 'chain', stepId: 'step' },
      {
        kind: 'llm',
        stepId: 'chat',
        input: {
          messages: [
            SYSTEM,
            QUESTION,
            { role: 'assistant', content: null, tool_calls: [CALL] },
            { role: 'tool', content: FOUND, tool_call_id: 'call_1' },
          ],
        },
        output: ANSWER,
        state: { config: { ...config, tools: ['searchKb'] } },
        model: 'gpt-4.1-mini-2025',
        provider: 'openai',
        usage,
        finish_reasons: ['stop'],
      },
      { kind: 'chain', stepId: 'step' },
      {
        kind: 'agent',
        stepId: 'answer-question',
        input: { messages: [SYSTEM, QUESTION] },
        output: { ...ANSWER, tool_calls: [CALL], tool_results: [{ id: 'call_1', result: FOUND }] },
        state: { config: { model: 'gpt-4.1-mini' } },
        model: 'gpt-4.1-mini',
        provider: 'openai',
        finish_reasons: ['stop'],
      },
    ])
    expect(steps.slice(6).map(({ kind, stepId, usage }) => [kind, stepId, usage])).toEqual([
      ['llm', 'chat', usage],
      ['chain', 'step', undefined],
      ['agent', 'stream-answer', undefined],
      ['embedding', 'embeddings', { input_tokens: 5 }],
      ['embedding', 'embeddings', undefined],
      ['llm', 'chat', undefined],
      ['chain', 'step', undefined],
      ['agent', 'failing', undefined],
    ])
  })

  it('may have content only in log records', async ({ expect }) => {
    expect(await stepsOf('otel-contrib-openai')).toEqual([
      {
        kind: 'llm',
        stepId: 'chat',
        state: { config: { model: 'gpt-4.1-mini', provider: 'openai' } },
        model: 'gpt-4.1-mini-2025-04-14',
        provider: 'openai',
        usage: { input_tokens: 42, output_tokens: 9 },
        finish_reasons: ['stop'],
      },
      {
        kind: 'embedding',
        stepId: 'embeddings',
        state: { config: { model: 'text-embedding-3-small', provider: 'openai', encoding_formats: ['float'] } },
        model: 'text-embedding-3-small',
        provider: 'openai',
        usage: { input_tokens: 5 },
      },
    ])
  })
})

it.for([
  ['chat', 'llm'],
  ['generate_content', 'llm'],
  ['text_completion', 'llm'],
  ['embeddings', 'embedding'],
  ['retrieval', 'retriever'],
  ['execute_tool', 'tool'],
  ['create_agent', 'agent'],
  ['invoke_workflow', 'workflow'],
  ['plan', 'chain'],
  ['search_memory', 'retriever'],
  ['update_memory', 'task'],
  ['a custom operation', undefined],
] as const)('maps the operation %s to the kind %s', ([operation, kind], { expect }) => {
  const { reading, unread } = readAs(genAi, aSpan({ attributes: { 'gen_ai.operation.name': operation } }))
  expect([reading?.kind, unread]).toEqual([kind, ['gen_ai.operation.name']])
})

describe('the name of a step', () => {
  it.for<[string, string, Record<string, Json>, string | undefined]>([
    ['an operation and its model', 'chat m', { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' }, 'chat'],
    ['the caller’s own name', 'draft', { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' }, undefined],
    [
      'an agent',
      'invoke_agent m',
      { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'm', 'gen_ai.agent.name': 'support' },
      'support',
    ],
    ['a workflow', 'run', { 'gen_ai.workflow.name': 'refunds' }, 'refunds'],
    [
      'a span from Logfire, which has a more detailed template',
      'chat m',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm', 'logfire.msg_template': 'chat {m}' },
      undefined,
    ],
  ])('comes from %s', ([, name, attributes, stepId], { expect }) => {
    expect(readAs(genAi, aSpan({ name, attributes })).reading?.fallback?.stepId).toBe(stepId)
  })

  it('comes from the tool’s name', ({ expect }) => {
    const attributes = { 'gen_ai.tool.name': 'get_order', 'gen_ai.tool.call.arguments': '"{\\"order\\":1}"' }
    expect(readAs(genAi, aSpan({ attributes }))).toEqual({
      reading: { stepId: 'get_order', input: { order: 1 }, fallback: { kind: 'tool' } },
      unread: ['gen_ai.tool.name'],
    })
  })
})

it('reads the parameters, usage, and prompt in a call', ({ expect }) => {
  const attributes = {
    'gen_ai.system': 'anthropic',
    'gen_ai.request.model': 'claude',
    'gen_ai.request.temperature': 0.2,
    'gen_ai.request.stop_sequences': ['END'],
    'gen_ai.tool.definitions': [{ type: 'function', name: 'a' }, { function: { name: 'b' } }, 'c', null],
    'gen_ai.usage.prompt_tokens': 42,
    'gen_ai.usage.output_tokens': '9',
    'gen_ai.usage.cache_read.input_tokens': 7,
    'gen_ai.usage.cache_creation.input_tokens': 1,
    'gen_ai.usage.reasoning.output_tokens': 3,
    'gen_ai.usage.total_tokens': 'many',
    'gen_ai.response.finish_reasons': '["stop"]',
    'gen_ai.prompt.name': 'support-answer',
    'gen_ai.prompt.version': 3,
  }
  expect(readAs(genAi, aSpan({ attributes }))).toEqual({
    reading: {
      state: { config: { model: 'claude', temperature: 0.2, stop_sequences: ['END'], tools: ['a', 'b'] } },
      model: 'claude',
      provider: 'anthropic',
      usage: {
        input_tokens: 42,
        output_tokens: 9,
        cache_read_tokens: 7,
        cache_write_tokens: 1,
        reasoning_tokens: 3,
      },
      finishReasons: ['stop'],
      prompt: { name: 'support-answer', version: 3 },
      fallback: { kind: 'llm' },
    },
    unread: ['gen_ai.tool.definitions', 'gen_ai.usage.total_tokens'],
  })
})

describe('content', () => {
  it('in an event becomes the span’s content', ({ expect }) => {
    const events = [
      {
        name: 'gen_ai.client.inference.operation.details',
        attributes: {
          'gen_ai.system_instructions': [{ type: 'text', content: 'Be brief.' }],
          'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'q' }] }],
          'gen_ai.output.messages': [
            { role: 'assistant', parts: [{ type: 'text', content: 'a' }], finish_reason: 'stop' },
          ],
        },
      },
    ]
    expect(readAs(genAi, aSpan({ events })).reading).toEqual({
      input: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'q' },
        ],
      },
      output: { role: 'assistant', content: 'a' },
      finishReasons: ['stop'],
    })
  })

  it('is parsed if it was requested as JSON', ({ expect }) => {
    const attributes = {
      'gen_ai.output.type': 'json',
      'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"{\\"answer\\":42}"}]}]',
    }
    expect(readAs(genAi, aSpan({ attributes })).reading?.output).toEqual({ answer: 42 })
    const { 'gen_ai.output.type': _, ...text } = attributes
    expect(readAs(genAi, aSpan({ attributes: text })).reading?.output).toEqual({
      role: 'assistant',
      content: '{"answer":42}',
    })
  })

  it('stays unchanged if it is not a list of messages, as do its instructions', ({ expect }) => {
    const attributes = {
      'gen_ai.input.messages': '{"q":1}',
      'gen_ai.output.messages': 'plain text',
      'gen_ai.system_instructions': 'Be brief.',
    }
    expect(readAs(genAi, aSpan({ attributes }))).toEqual({
      reading: { input: { q: 1 }, output: 'plain text' },
      unread: ['gen_ai.system_instructions'],
    })
  })
})

it('reads evaluation results as automatic feedback', ({ expect }) => {
  const events = [
    {
      name: 'gen_ai.evaluation.result',
      attributes: {
        'gen_ai.evaluation.name': 'Relevance',
        'gen_ai.evaluation.score.value': 0.9,
        'gen_ai.evaluation.score.label': 'relevant',
        'gen_ai.evaluation.explanation': 'on topic',
        'gen_ai.response.id': 'resp_1',
      },
    },
    { name: 'gen_ai.evaluation.result', attributes: { 'gen_ai.evaluation.score.value': 'high' } },
  ]
  expect(readAs(genAi, aSpan({ events })).reading).toEqual({
    evaluations: [
      {
        name: 'Relevance',
        score: 0.9,
        label: 'relevant',
        explanation: 'on topic',
        'gen_ai.response.id': 'resp_1',
      },
      { score: 'high' },
    ],
  })
})

it('reads a retrieval’s query and documents', ({ expect }) => {
  const attributes = {
    'gen_ai.retrieval.query.text': 'refund',
    'gen_ai.retrieval.documents': [{ id: 'doc_1', score: 0.9, content: 'Within 30 days' }],
  }
  expect(readAs(genAiRetrieval, aSpan({ attributes })).reading).toEqual({
    state: { retrieved_chunks: [{ id: 'doc_1', score: 0.9, content: 'Within 30 days' }] },
    fallback: { input: 'refund', output: [{ id: 'doc_1', score: 0.9, content: 'Within 30 days' }] },
  })
})

describe('messages in events', () => {
  it.for<[string, GivenEvent[], Json]>([
    [
      'each with its attributes',
      [
        { name: 'gen_ai.system.message', attributes: { content: 'Be brief.', 'gen_ai.system': 'openai' } },
        { name: 'gen_ai.user.message', attributes: { content: 'q' } },
        {
          name: 'gen_ai.assistant.message',
          attributes: {
            tool_calls: '[{"id":"call_1","type":"function","function":{"name":"search","arguments":"{\\"q\\":1}"}}]',
          },
        },
        { name: 'gen_ai.tool.message', attributes: { id: 'call_1', content: '{"found":2}' } },
        {
          name: 'gen_ai.choice',
          attributes: { index: 0, finish_reason: 'stop', message: '{"role":"assistant","content":"a"}' },
        },
      ],
      {
        input: {
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'q' },
            { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', name: 'search', arguments: { q: 1 } }] },
            { role: 'tool', content: { found: 2 }, tool_call_id: 'call_1' },
          ],
        },
        output: { role: 'assistant', content: 'a' },
        finishReasons: ['stop'],
      },
    ],
    [
      'each in one attribute, or in flat attributes',
      [
        { name: 'gen_ai.user.message', attributes: { 'gen_ai.event.content': '{"role":"user","content":"q"}' } },
        { name: 'gen_ai.choice', attributes: { 'message.content': 'a', 'message.role': 'assistant', index: 0 } },
        { name: 'gen_ai.choice', attributes: { message: 'b', finish_reason: 'length' } },
      ],
      {
        input: { messages: [{ role: 'user', content: 'q' }] },
        output: {
          choices: [
            { role: 'assistant', content: 'a' },
            { role: 'assistant', content: 'b' },
          ],
        },
        finishReasons: ['length'],
      },
    ],
    [
      'as a whole request in one event',
      [
        { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': '[{"role":"user","content":"q"}]' } },
        { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': 'a' } },
      ],
      { input: { messages: [{ role: 'user', content: 'q' }] }, output: 'a' },
    ],
  ])('are read: %s', ([, events, expected], { expect }) => {
    const span = aSpan({ events })
    expect(readAs(genAiEvents, span).reading).toEqual(expected)
    expect(stepOf(span).metadata.events).toBeUndefined()
  })
})

describe('the oldest format', () => {
  it('may have a key for each part of a message', ({ expect }) => {
    const attributes = {
      'llm.request.type': 'chat',
      'llm.usage.total_tokens': 51,
      'gen_ai.prompt.1.role': 'user',
      'gen_ai.prompt.1.content': '[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://a"}}]',
      'gen_ai.prompt.0.role': 'system',
      'gen_ai.prompt.0.content': 'Be brief.',
      'gen_ai.prompt.name': 'support-answer',
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.finish_reason': 'tool_calls',
      'gen_ai.completion.0.tool_calls.0.id': 'call_1',
      'gen_ai.completion.0.tool_calls.0.name': 'search',
      'gen_ai.completion.0.tool_calls.0.arguments': '{"q":1}',
    }
    expect(readAs(genAiLegacy, aSpan({ attributes }))).toEqual({
      reading: {
        kind: 'llm',
        usage: { total_tokens: 51 },
        finishReasons: ['tool_calls'],
        fallback: {
          input: {
            messages: [
              { role: 'system', content: 'Be brief.' },
              {
                role: 'user',
                content: [
                  { type: 'text', text: 'look' },
                  { type: 'image_url', image_url: { url: 'https://a' } },
                ],
              },
            ],
          },
          output: {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_1', name: 'search', arguments: { q: 1 } }],
          },
        },
      },
      unread: ['gen_ai.prompt.name'],
    })
  })

  it('may have one key for all messages', ({ expect }) => {
    const attributes = {
      'gen_ai.prompt': '{"messages":[{"role":"user","content":"q"}],"temperature":0}',
      'gen_ai.completion': '{"id":"c","choices":[{"message":{"role":"assistant","content":"a"}}]}',
    }
    expect(readAs(genAiLegacy, aSpan({ attributes })).reading).toEqual({
      fallback: {
        input: { messages: [{ role: 'user', content: 'q' }], temperature: 0 },
        output: { role: 'assistant', content: 'a' },
      },
      metadata: { response: { id: 'c' } },
    })
  })
})
