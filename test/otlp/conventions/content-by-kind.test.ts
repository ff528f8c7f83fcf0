import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import type { StepKind } from '../../../src/domain/step-kind.ts'
import { dividedRequest, inputFor, outputFor, withSystemPrompt } from '../../../src/otlp/reading/content-by-kind.ts'
import { errorFrom } from '../../../src/otlp/reading/errors.ts'
import { withoutLangChain } from '../../../src/otlp/reading/langchain.ts'

const VECTOR = [0.1, 0.2, 0.3, 0.4]
const toolMessage = {
  lc: 1,
  type: 'constructor',
  id: ['langchain', 'schema', 'messages', 'ToolMessage'],
  kwargs: { content: '{"order": 7}', type: 'tool', name: 'find_order', tool_call_id: 'call_1', status: 'success' },
}

describe('an input', () => {
  it.for<[StepKind, Json, Json | undefined]>([
    ['tool', '{"order": 7}', { order: 7 }],
    ['tool', "{'order': 7}", { order: 7 }],
    ['tool', 'warranty', 'warranty'],
    ['tool', {}, {}],
    ['tool', { args: [], sanitize_inputs_outputs: true, kwargs: { order: 7 } }, { order: 7 }],
    ['tool', { args: [7], kwargs: {} }, 7],
    ['tool', { args: [7], kwargs: { late: true } }, { args: [7], kwargs: { late: true } }],
    ['tool', { input_str: "{'order': 7}", tags: [], metadata: {}, kwargs: {} }, { order: 7 }],
    ['tool', { input_str: '…', inputs: { order: 7 } }, { order: 7 }],
    ['tool', { messages: [{ role: 'tool', content: { order: 7 }, tool_call_id: 'call_1' }] }, { order: 7 }],
    [
      'tool',
      { messages: [{ role: 'tool', content: null, tool_calls: [{ id: '1', arguments: { order: 7 } }] }] },
      { order: 7 },
    ],
    ['embedding', "['How long?']", ['How long?']],
    ['embedding', { model: 'e', input: ['How long?'], encoding_format: 'base64' }, ['How long?']],
    ['embedding', { messages: [{ role: 'user', content: 'How long?' }] }, 'How long?'],
    ['chain', { question: 'How long?', lm: '<dspy.LM object at 0x7f01>' }, { question: 'How long?' }],
    ['chain', { memory: 'ActionStep(step_number=1, error=None)' }, undefined],
    ['llm', { messages: [{ role: 'user', content: null }] }, undefined],
    ['agent', [], undefined],
    [
      'llm',
      {
        messages: [
          { role: 'system', content: null },
          { role: 'user', content: 'hi' },
        ],
      },
      {
        messages: [
          { role: 'system', content: null },
          { role: 'user', content: 'hi' },
        ],
      },
    ],
  ])('of a %s: %j becomes %j', ([kind, given, input], { expect }) => {
    expect(inputFor(kind, [given])).toEqual(input)
  })
})

describe('an output', () => {
  it.for<[StepKind, Json, Json | undefined]>([
    ['llm', 'Hello', 'Hello'],
    ['llm', { role: 'assistant', content: null }, undefined],
    ['llm', { role: 'assistant', content: '' }, { role: 'assistant', content: '' }],
    ['tool', '{"order": 7}', { order: 7 }],
    ['tool', "{'order': 7, 'paid': None}", { order: 7, paid: null }],
    ['tool', toolMessage, { order: 7 }],
    ['tool', { output: toolMessage, kwargs: { color: 'green' } }, { order: 7 }],
    ['tool', { role: 'tool', content: { order: 7 }, tool_call_id: 'call_1' }, { order: 7 }],
    ['tool', [{ json: { order: 7 } }], { order: 7 }],
    ['tool', [{ text: 'one' }, { text: 'two' }], ['one', 'two']],
    ['tool', { status: 'success', content: [{ json: { order: 7 } }] }, { order: 7 }],
    ['tool', { status: 'error', content: [{ text: 'no' }] }, { status: 'error', content: [{ text: 'no' }] }],
    ['tool', { content: [{ type: 'text', text: '{"order":7}' }], isError: false }, { order: 7 }],
    ['tool', [{ json: 1, text: 'x' }], [{ json: 1, text: 'x' }]],
    ['tool', [], []],
    ['retriever', [], []],
    ['agent', { raw: 'Hello', json_dict: null, output_format: 'raw', messages: [] }, 'Hello'],
    ['chain', { raw: '{}', json_dict: { a: 1 }, tasks_output: [] }, { a: 1 }],
    ['embedding', { data: [{ embedding: VECTOR, index: 0 }] }, { count: 1, dimensions: 4 }],
    ['embedding', { data: [{ embedding: 'zczMPQ==' }] }, { count: 1 }],
    ['embedding', [VECTOR, VECTOR], { count: 2, dimensions: 4 }],
    ['chain', [{ text: 'a', embedding: VECTOR }], [{ text: 'a' }]],
    ['chain', "{'order': 7}", { order: 7 }],
    ['chain', '<Node object at 0x7f01>', undefined],
    ['agent', '{"a":1}', { a: 1 }],
  ])('of a %s: %j becomes %j', ([kind, given, output], { expect }) => {
    expect(outputFor(kind, [given])).toEqual(output)
  })

  it('is the first candidate that has content', ({ expect }) => {
    const called = { role: 'assistant', content: null, tool_calls: [{ name: 'get_order' }] }
    expect(outputFor('llm', [{ role: 'assistant', content: null }, called])).toEqual(called)
    expect(outputFor('llm', [{ role: 'assistant', content: '' }, called])).toEqual(called)
    expect(outputFor('llm', [])).toBe(undefined)
  })
})

it('divides a request into its conversation and its parameters', ({ expect }) => {
  const messages = [{ role: 'user', content: 'hi' }]
  const tools = [{ type: 'function', function: { name: 'get_order' } }]
  const request = { messages, model: 'gpt', temperature: 0, tools, extra_headers: { a: 'b' }, documents: ['a'] }
  expect(dividedRequest(request)).toEqual({
    input: { messages, documents: ['a'] },
    parameters: { model: 'gpt', temperature: 0, tools: ['get_order'] },
  })
  expect(dividedRequest({ model: 'car' })).toEqual({ input: { model: 'car' }, parameters: {} })
})

it('adds a system prompt that is only in a different attribute', ({ expect }) => {
  const user = { role: 'user', content: 'hi' }
  const system = { role: 'system', content: 'Be brief' }
  expect(withSystemPrompt({ messages: [user] }, [{ messages: [system, user] }])).toEqual({ messages: [system, user] })
  expect(withSystemPrompt({ messages: [system] }, [{ messages: [{ ...system, content: 'Other' }] }])).toEqual({
    messages: [system],
  })
  expect(withSystemPrompt('hi', [{ messages: [system] }])).toBe('hi')
})

describe('LangChain’s objects', () => {
  it('become plain objects wherever they occur', ({ expect }) => {
    const ai = {
      type: 'ai',
      data: { content: 'Hello', response_metadata: { model: 'gpt' }, id: 'lc_run--1', type: 'ai' },
    }
    const document = { lc: 1, type: 'constructor', id: ['Document'], kwargs: { page_content: 'Refunds', id: 'doc_1' } }
    const command = { graph: null, update: { messages: [ai], docs: [document] }, resume: null, goto: [] }
    expect(withoutLangChain([command])).toEqual({
      messages: [{ role: 'assistant', content: 'Hello' }],
      docs: [{ page_content: 'Refunds', id: 'doc_1' }],
    })
    const plain = { type: 'tool', name: 'get_order' }
    expect(withoutLangChain(plain)).toBe(plain)
  })

  it('are left as is if nested too deeply', ({ expect }) => {
    let value: Json = 'end'
    for (let depth = 0; depth < 1000; depth++) value = { lc: 1, kwargs: { value } }
    expect(withoutLangChain(value)).toBeTypeOf('object')
  })
})

it.for([
  [
    'Exception',
    "TimeoutError('slow')Traceback (most recent call last):\n  File\nTimeoutError: slow",
    'TimeoutError',
    'slow',
  ],
  ['KeyError', 'Traceback (most recent call last):\n  File\nKeyError: 7', 'KeyError', '7'],
  ['error', 'Traceback (most recent call last):\n  ...', 'error', '...'],
] as const)('separates an error’s message from its traceback: %s', ([type, text, name, message], { expect }) => {
  expect(errorFrom(type, text)).toEqual({ type: name, message, traceback: text.slice(text.indexOf('Traceback')) })
  expect(errorFrom('E', 'plain')).toEqual({ type: 'E', message: 'plain' })
  expect(errorFrom('E', undefined)).toEqual({ type: 'E' })
})
