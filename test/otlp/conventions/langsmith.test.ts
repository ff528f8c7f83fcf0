import { it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { langsmith } from '../../../src/otlp/conventions/langsmith.ts'
import { stepOf } from '../../../src/otlp/map.ts'
import { aSpan, readAs } from '../../support/decoded-telemetry.ts'

const run = (attributes: Record<string, Json>) => readAs(langsmith, aSpan({ scope: 'langsmith', attributes }))

it('reads a retriever, even if its operation has a different name', ({ expect }) => {
  const attributes = {
    'langsmith.span.kind': 'retriever',
    'gen_ai.operation.name': 'embeddings',
    'langsmith.trace.name': 'retrieve',
    'langsmith.trace.session_name': 'demo',
    'gen_ai.system': 'langchain',
    'langsmith.metadata.session_id': 'conv-42',
    'langsmith.metadata.tenant': 'acme',
    'langsmith.metadata.LANGSMITH_TRACING': 'true',
    'gen_ai.prompt': '{"input":"refunds"}',
    'gen_ai.completion':
      '{"outputs":[{"page_content":"Refunds within 30 days","type":"Document","metadata":{"id":"doc_1","score":0.9}}]}',
  }
  expect(run(attributes)).toEqual({
    reading: {
      kind: 'retriever',
      stepId: 'retrieve',
      input: { input: 'refunds' },
      output: {
        outputs: [{ page_content: 'Refunds within 30 days', type: 'Document', metadata: { id: 'doc_1', score: 0.9 } }],
      },
      state: {
        retrieved_chunks: [
          { id: 'doc_1', score: 0.9, content: 'Refunds within 30 days', metadata: { id: 'doc_1', score: 0.9 } },
        ],
      },
      trace: { metadata: { session_id: 'conv-42', tenant: 'acme', LANGSMITH_TRACING: 'true' } },
    },
    unread: ['gen_ai.operation.name', 'langsmith.trace.session_name', 'gen_ai.system'],
  })
})

it('reads a model call by LangChain', ({ expect }) => {
  const message = (name: string, kwargs: Json): Json => ({
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', name],
    kwargs,
  })
  const attributes = {
    'langsmith.span.kind': 'llm',
    'langsmith.trace.name': 'ChatOpenAI',
    'langsmith.metadata.ls_provider': 'openai',
    'langsmith.metadata.ls_temperature': '0.2',
    'langsmith.metadata.langgraph_node': 'answer',
    'langsmith.usage_metadata': JSON.stringify({
      input_tokens: 42,
      output_tokens: 9,
      total_tokens: 51,
      input_token_details: { cache_read: 7, cache_creation: 1 },
      output_token_details: { reasoning: 3 },
      total_cost: 0.001,
    }),
    'gen_ai.prompt': JSON.stringify({ messages: [[message('HumanMessage', { content: 'hi' })]] }),
    'gen_ai.completion': JSON.stringify({
      generations: [[{ text: '30 days', message: message('AIMessage', { content: '30 days' }) }]],
      llmOutput: { model: 'gpt' },
    }),
  }
  expect(run(attributes).reading).toEqual({
    kind: 'llm',
    stepId: 'answer.ChatOpenAI',
    input: { messages: [{ role: 'user', content: 'hi' }] },
    output: { role: 'assistant', content: '30 days' },
    state: { config: { temperature: 0.2 } },
    provider: 'openai',
    usage: {
      input_tokens: 42,
      output_tokens: 9,
      total_tokens: 51,
      cache_read_tokens: 7,
      cache_write_tokens: 1,
      reasoning_tokens: 3,
    },
    cost: { total: 0.001 },
    trace: { metadata: { ls_provider: 'openai', ls_temperature: '0.2', langgraph_node: 'answer' } },
    metadata: { response: { llmOutput: { model: 'gpt' } } },
  })
})

it.for([
  ['llm', 'llm'],
  ['chain', 'chain'],
  ['tool', 'tool'],
  ['embedding', 'embedding'],
  ['prompt', 'prompt'],
  ['parser', 'task'],
  ['graph', 'workflow'],
  ['something new', 'chain'],
] as const)('maps the run type %s to the kind %s', ([type, kind], { expect }) => {
  expect(run({ 'langsmith.span.kind': type }).reading).toEqual({ kind })
})

it('leaves another library’s prompt to that library’s convention', ({ expect }) => {
  const attributes = { 'langsmith.span.kind': 'llm', 'gen_ai.prompt': '[]', 'langsmith.usage_metadata': 'no object' }
  expect(readAs(langsmith, aSpan({ scope: 'my.app', attributes }))).toEqual({
    reading: { kind: 'llm' },
    unread: ['gen_ai.prompt', 'langsmith.usage_metadata'],
  })
})

it('ignores other spans', ({ expect }) => {
  expect(readAs(langsmith, aSpan({ attributes: { 'gen_ai.prompt': 'hi' } })).reading).toBeUndefined()
})

it('reads a traced model function: its only argument, and its answer without the usage', ({ expect }) => {
  const usage = '{"input_tokens":42,"output_tokens":9,"total_tokens":51}'
  const attributes = {
    'langsmith.span.kind': 'llm',
    'langsmith.trace.name': 'answer',
    'langsmith.usage_metadata': usage,
    'langsmith.metadata.usage_metadata': usage,
    'langsmith.metadata.tenant': 'acme',
    'gen_ai.prompt': '{"input":[{"role":"user","content":"How long is the warranty?"}]}',
    'gen_ai.completion': `{"role":"assistant","content":"24 months","usage_metadata":${usage}}`,
  }
  expect(run(attributes).reading).toEqual({
    kind: 'llm',
    stepId: 'answer',
    input: { messages: [{ role: 'user', content: 'How long is the warranty?' }] },
    output: { role: 'assistant', content: '24 months' },
    usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
    trace: { metadata: { tenant: 'acme', usage_metadata: JSON.parse(usage) } },
  })
})

it('treats a run with an exception as failed, even if its status is ok', ({ expect }) => {
  const events = [{ name: 'exception', attributes: { 'exception.type': 'Error', 'exception.message': 'Not found' } }]
  const attributes = { 'langsmith.span.kind': 'tool', 'langsmith.trace.name': 'get_order' }
  const { status, metadata } = stepOf(aSpan({ scope: 'langsmith', status: 'ok', attributes, events }))
  expect(status).toBe('error')
  expect(metadata.error).toEqual({ type: 'Error', message: 'Not found' })
})
