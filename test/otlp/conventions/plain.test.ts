import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { countersign } from '../../../src/otlp/conventions/countersign.ts'
import { plain } from '../../../src/otlp/conventions/plain.ts'
import { stepOf } from '../../../src/otlp/map.ts'
import { aSpan, readAs } from '../../support/decoded-telemetry.ts'

const ASKED = { messages: [{ role: 'user', content: 'q' }] }
const ANSWERED = { role: 'assistant', content: 'a' }

it.for<[string, Record<string, Json>, Json]>([
  [
    'an ADK model call',
    {
      'gcp.vertex.agent.llm_request':
        '{"model":"g","contents":[{"role":"user","parts":[{"text":"q"}]}],"config":{"temperature":0}}',
      'gcp.vertex.agent.llm_response': '{"content":{"role":"model","parts":[{"text":"a"}]},"partial":false}',
      'gcp.vertex.agent.tool_call_args': '{}',
    },
    {
      metadata: { response: { partial: false } },
      fallback: { kind: 'llm', input: { ...ASKED, model: 'g', config: { temperature: 0 } }, output: ANSWERED },
    },
  ],
  [
    'an ADK tool call',
    {
      'gcp.vertex.agent.llm_request': '{}',
      'gcp.vertex.agent.tool_call_args': '{"order":7}',
      'gcp.vertex.agent.tool_response': '{"status":"shipped"}',
    },
    { fallback: { kind: 'tool', input: { order: 7 }, output: { status: 'shipped' } } },
  ],
  [
    'LiveKit',
    { 'lk.function_tool.name': 'search', 'lk.function_tool.arguments': '{"q":1}', 'lk.function_tool.output': 'ok' },
    { fallback: { kind: 'tool', stepId: 'search', input: { q: 1 }, output: 'ok' } },
  ],
  ['the simplest attributes', { input: '{"q":1}', output: 'a' }, { fallback: { input: { q: 1 }, output: 'a' } }],
  [
    'a model and a question',
    { model: 'm', prompt: 'q', completion: 'a' },
    { model: 'm', fallback: { kind: 'llm', input: 'q', output: 'a' } },
  ],
  ['a model attribute that is not about AI', { model: 'XJ-9' }, { model: 'XJ-9' }],
])('reads %s', ([, attributes, expected], { expect }) => {
  expect(readAs(plain, aSpan({ attributes })).reading).toEqual(expected)
})

it('leaves the values of duplicate keys in the attributes', ({ expect }) => {
  const attributes = { input: 'a', inputs: 'b', query: 7, model: { a: 1 } }
  expect(readAs(plain, aSpan({ attributes }))).toEqual({
    reading: { fallback: { input: 'a' } },
    unread: ['inputs', 'query', 'model'],
  })
})

describe('a span that is not a step of an AI pipeline', () => {
  it('is generic and keeps its attributes', ({ expect }) => {
    const attributes = {
      'http.request.method': 'POST',
      'url.full': 'https://a',
      'http.request.header.cookie': 'secret',
    }
    const { kind, stepId, input, output, state, metadata } = stepOf(aSpan({ name: 'POST', attributes }))
    expect({ kind, stepId, input, output, state: [...state], attributes: metadata.attributes }).toEqual({
      kind: 'generic',
      stepId: 'POST',
      state: [],
      attributes: { 'http.request.method': 'POST', 'url.full': 'https://a' },
    })
  })
})

describe('our own attributes', () => {
  it('set the step, its prompt, and its state', ({ expect }) => {
    const attributes = {
      'countersign.step_id': 'draft',
      'countersign.prompt_version_id': '6ba7b810-9dad-41d1-80b4-00c04fd430c8',
      'countersign.state.plan': '{"steps":[1]}',
      'countersign.state.count': 3,
      'countersign.state.': 'no key',
      [`countersign.state.${'k'.repeat(257)}`]: 'no key of a state',
      'countersign.other': 1,
    }
    expect(readAs(countersign, aSpan({ attributes }))).toEqual({
      reading: {
        stepId: 'draft',
        fallback: { kind: 'task' },
        prompt: { id: '6ba7b810-9dad-41d1-80b4-00c04fd430c8' },
        state: { plan: { steps: [1] }, count: 3 },
      },
      unread: ['countersign.state.', `countersign.state.${'k'.repeat(257)}`, 'countersign.other'],
    })
  })

  it('take precedence over all others', ({ expect }) => {
    const attributes = {
      'countersign.step_id': 'draft',
      'countersign.state.config': '{"temperature":1}',
      'countersign.state.retrieved_chunks': [],
      'gen_ai.operation.name': 'retrieval',
      'gen_ai.tool.name': 'search',
      'gen_ai.request.temperature': 0,
      'gen_ai.request.top_k': 5,
      'gen_ai.retrieval.documents': [{ id: 'doc_1' }],
    }
    const { stepId, state } = stepOf(aSpan({ attributes }))
    expect([stepId, Object.fromEntries(state)]).toEqual([
      'draft',
      { config: { temperature: 1, top_k: 5 }, retrieved_chunks: [] },
    ])
  })

  it('may contain any state', ({ expect }) => {
    const attributes = {
      'countersign.state.config': 'fast',
      'gen_ai.request.model': 'm',
      'countersign.state.__proto__': 1,
    }
    expect([...stepOf(aSpan({ attributes })).state]).toEqual([
      ['config', 'fast'],
      ['__proto__', 1],
    ])
  })
})
