import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { openInference } from '../../../src/otlp/conventions/openinference.ts'
import { stepOf } from '../../../src/otlp/map.ts'
import { aSpan, readAs, recordedSpans } from '../../support/decoded-telemetry.ts'

const QUESTION = 'What is the refund policy?'
const CONTEXT = 'Refunds within 30 days\nShipping is 5 days'

describe('recorded OpenInference spans', () => {
  it('from OpenAI become model calls', async ({ expect }) => {
    const steps = (await recordedSpans('openinference-openai')).map(span => stepOf(span))
    const usage = {
      input_tokens: 42,
      output_tokens: 9,
      total_tokens: 51,
      cache_read_tokens: 7,
      reasoning_tokens: 3,
    }
    const answer = { role: 'assistant', content: 'Refunds are accepted within 30 days.' }
    expect(
      steps.map(({ kind, stepId, input, output, state, metadata: { model, provider, usage, finish_reasons } }) => ({
        kind,
        stepId,
        input,
        output,
        config: state.get('config'),
        model,
        provider,
        usage,
        finish_reasons,
      })),
    ).toEqual([
      {
        kind: 'llm',
        stepId: 'OpenAI Chat Completions',
        input: {
          messages: [
            { role: 'system', content: 'You are a support agent' },
            { role: 'user', content: QUESTION },
          ],
        },
        output: answer,
        config: { model: 'gpt-4.1-mini', provider: 'openai', temperature: 0.2 },
        model: 'gpt-4.1-mini-2025-04-14',
        provider: 'openai',
        usage,
        finish_reasons: ['stop'],
      },
      {
        kind: 'llm',
        stepId: 'OpenAI Chat Completions',
        input: {
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: 'weather?' },
                { type: 'image', image: { url: 'https://example.com/a.png' } },
              ],
            },
          ],
        },
        output: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_mock_1', name: 'get_weather', arguments: { location: 'Paris' } }],
        },
        config: { model: 'gpt-4.1-mini', provider: 'openai', tools: ['get_weather'] },
        model: 'gpt-4.1-mini-2025-04-14',
        provider: 'openai',
        usage,
        finish_reasons: ['tool_calls'],
      },
      {
        kind: 'llm',
        stepId: 'OpenAI Chat Completions',
        input: { messages: [{ role: 'user', content: 'stream' }] },
        output: answer,
        config: { model: 'gpt-4.1-mini', provider: 'openai', stream: true },
        model: 'gpt-4.1-mini',
        provider: 'openai',
        finish_reasons: ['stop'],
      },
      {
        kind: 'embedding',
        stepId: 'OpenAI Embeddings',
        input: ['refund policy'],
        config: { model: 'text-embedding-3-small', provider: 'openai' },
        model: 'text-embedding-3-small',
        provider: 'openai',
      },
      {
        kind: 'llm',
        stepId: 'OpenAI Responses',
        input: { messages: [{ role: 'user', content: 'hello' }] },
        output: answer,
        config: { model: 'gpt-4.1-mini', provider: 'openai' },
        model: 'gpt-4.1-mini',
        provider: 'openai',
        usage,
      },
    ])
    expect(steps.map(({ prompt }) => prompt)).toEqual(
      [3, 3, 3, 0, 3].map(known => (known ? { version: 'v3' } : undefined)),
    )
    for (const { state, trace } of steps) {
      expect(state.get('context')).toEqual({ q: 'refund?' })
      expect(trace).toEqual({
        groupId: 'conv-42',
        userId: 'u-7',
        tags: ['prod'],
        metadata: { tenant: 'acme', service_name: 'oi-demo' },
      })
    }
  })

  it('from LangChain become chains and their parts', async ({ expect }) => {
    const steps = (await recordedSpans('openinference-langchain')).map(span => stepOf(span))
    const documents = [
      { pageContent: 'Refunds within 30 days', metadata: { id: 'doc_1', score: 0.9 } },
      { pageContent: 'Shipping is 5 days', metadata: { id: 'doc_2', score: 0.4 } },
    ]
    const answer = 'Refunds are accepted within 30 days.'
    const prompt = {
      messages: [
        { role: 'system', content: `Use: ${CONTEXT}` },
        { role: 'user', content: QUESTION },
      ],
    }
    expect(steps.map(({ kind, stepId, input, output }) => [kind, stepId, input, output])).toEqual([
      ['chain', 'RunnablePassthrough', QUESTION, QUESTION],
      ['retriever', 'R', QUESTION, { documents }],
      ['chain', 'RunnableLambda', documents, CONTEXT],
      ['chain', 'RunnableSequence', QUESTION, CONTEXT],
      ['chain', 'RunnableMap', QUESTION, { question: QUESTION, context: CONTEXT }],
      ['prompt', 'ChatPromptTemplate', { question: QUESTION, context: CONTEXT }, prompt],
      ['llm', 'FakeListChatModel', prompt, { role: 'assistant', content: answer }],
      ['chain', 'StrOutputParser', { role: 'assistant', content: answer }, answer],
      ['chain', 'rag-chain', QUESTION, answer],
      ['tool', 'get_order', { order: 7 }, 'shipped 7'],
    ])
    expect(Object.fromEntries(steps[1]?.state ?? [])).toEqual({
      retrieved_chunks: [
        { id: 'doc_1', score: 0.9, content: 'Refunds within 30 days', metadata: { id: 'doc_1', score: 0.9 } },
        { id: 'doc_2', score: 0.4, content: 'Shipping is 5 days', metadata: { id: 'doc_2', score: 0.4 } },
      ],
    })
    expect(Object.fromEntries(steps[5]?.state ?? [])).toEqual({ context: { question: QUESTION, context: CONTEXT } })
    // LangChain's extra metadata is left out.
    expect(steps[6]?.trace).toEqual({
      groupId: 'conv-42',
      userId: 'u-7',
      metadata: { service_name: 'oi-demo' },
    })
  })

  it('from the AI SDK get their kinds from OpenInference and everything else from the SDK’s own attributes', async ({
    expect,
  }) => {
    const steps = (await recordedSpans('ai-sdk-v6-openinference')).map(span => stepOf(span))
    expect(steps.map(({ kind, stepId }) => [kind, stepId])).toEqual([
      ['llm', 'answer-question.doGenerate'],
      ['tool', 'searchKb'],
      ['llm', 'answer-question.doGenerate'],
      ['agent', 'answer-question'],
      ['llm', 'stream-answer.doStream'],
      ['agent', 'stream-answer'],
      ['embedding', 'embed-query.doEmbed'],
      ['chain', 'embed-query'],
      ['llm', 'failing.doGenerate'],
      ['agent', 'failing'],
    ])
    const plainSteps = (await recordedSpans('ai-sdk-v6')).map(span => stepOf(span))
    expect(steps.map(({ input, output }) => [input, output])).toEqual(
      plainSteps.map(({ input, output }) => [input, output]),
    )
  })
})

describe('documents', () => {
  it('become a retriever’s output if it has no other output', ({ expect }) => {
    const attributes = {
      'openinference.span.kind': 'RETRIEVER',
      'input.value': 'q',
      'retrieval.documents.1.document.id': 'doc_2',
      'retrieval.documents.0.document.id': 7,
      'retrieval.documents.0.document.score': '0.9',
      'retrieval.documents.0.document.content': 'Within 30 days',
      'retrieval.documents.0.document.shape': 'round',
      'retrieval.documents.x.document.id': 'lost',
    }
    const chunks = [{ id: '7', score: 0.9, content: 'Within 30 days' }, { id: 'doc_2' }]
    expect(readAs(openInference, aSpan({ attributes }))).toEqual({
      reading: { kind: 'retriever', state: { retrieved_chunks: chunks }, fallback: { input: 'q', output: chunks } },
      unread: ['retrieval.documents.0.document.shape', 'retrieval.documents.x.document.id'],
    })
  })

  it('become a reranker’s input and output', ({ expect }) => {
    const attributes = {
      'openinference.span.kind': 'reranker',
      'reranker.query': 'q',
      'reranker.model_name': 'rank-1',
      'reranker.top_k': 1,
      'reranker.input_documents.0.document.id': 'a',
      'reranker.input_documents.1.document.id': 'b',
      'reranker.output_documents.0.document.id': 'b',
      'reranker.output_documents.0.document.score': 0.9,
    }
    expect(readAs(openInference, aSpan({ attributes }))).toEqual({
      reading: {
        kind: 'reranker',
        state: { reranked_chunks: [{ id: 'b', score: 0.9 }] },
        model: 'rank-1',
        fallback: {
          kind: 'llm',
          input: { query: 'q', documents: [{ id: 'a' }, { id: 'b' }] },
          output: [{ id: 'b', score: 0.9 }],
        },
      },
      unread: ['reranker.top_k'],
    })
  })
})

it('keeps the text of an embedding but not the vector', ({ expect }) => {
  const attributes = {
    'openinference.span.kind': 'EMBEDDING',
    'embedding.model_name': 'e',
    'embedding.embeddings.0.embedding.text': 'refund',
    'embedding.embeddings.0.embedding.vector': [0.1, 0.2],
  }
  const { input, metadata } = stepOf(aSpan({ attributes }))
  expect([input, metadata.attributes]).toEqual(['refund', undefined])
})

it.for<[string, Record<string, Json>, Json | undefined, Json | undefined]>([
  [
    'JSON, according to its MIME type',
    { 'input.value': '{"a":1}', 'input.mime_type': 'application/json', 'output.value': '[1]' },
    { a: 1 },
    [1],
  ],
  [
    'text, according to its MIME type',
    { 'input.value': '{"a":1}', 'input.mime_type': 'text/plain' },
    '{"a":1}',
    undefined,
  ],
  [
    'a model’s request and response',
    {
      'openinference.span.kind': 'LLM',
      'input.value': '{"model":"m","messages":[{"role":"user","content":"q"}]}',
      'output.value': '{"id":"c","choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}',
    },
    { messages: [{ role: 'user', content: 'q' }], model: 'm' },
    { role: 'assistant', content: 'a' },
  ],
  ['a redacted value', { 'input.value': '__REDACTED__', 'output.value': 'a' }, undefined, 'a'],
])('reads a raw value: %s', ([, attributes, input, output], { expect }) => {
  const { fallback } = readAs(openInference, aSpan({ attributes })).reading ?? {}
  expect([fallback?.input, fallback?.output]).toEqual([input, output])
})

it('reads the cost, parameters, and prompt in a call', ({ expect }) => {
  const attributes = {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'm',
    'llm.provider': 'openai',
    'llm.system': 'other',
    'llm.invocation_parameters': '{"temperature":0,"tools":[{"function":{"name":"search"}}]}',
    'llm.cost.total': 0.5,
    'llm.cost.prompt_details.cache_read': 0.1,
    'prompt.id': 'support-answer',
    'llm.prompt_template.version': 4,
    'graph.node.id': 'answer',
    'agent.name': 'support',
  }
  expect(readAs(openInference, aSpan({ attributes }))).toEqual({
    reading: {
      kind: 'llm',
      stepId: 'answer',
      state: { config: { temperature: 0, tools: ['search'] } },
      model: 'm',
      provider: 'openai',
      cost: { total: 0.5, 'prompt_details.cache_read': 0.1 },
      prompt: { name: 'support-answer', version: 4 },
      fallback: { kind: 'llm' },
    },
    // The parameters are kept, because the tool definitions in them don't appear anywhere else.
    unread: ['llm.system', 'llm.invocation_parameters', 'graph.node.id', 'agent.name'],
  })
  const id = '6ba7b810-9dad-41d1-80b4-00c04fd430c8'
  expect(readAs(openInference, aSpan({ attributes: { 'prompt.id': id } })).reading?.prompt).toEqual({ id })
})

it.for([
  ['plan', {}, 'plan'],
  ['ChatOpenAI', {}, 'plan.ChatOpenAI'],
  ['get_order', { 'openinference.span.kind': 'TOOL', 'tool.name': 'get_order' }, 'get_order'],
] as const)('distinguishes the steps in a LangGraph node: %s', ([name, more, stepId], { expect }) => {
  const attributes = { metadata: '{"langgraph_node":"plan","tenant":"acme"}', ...more }
  const reading = readAs(openInference, aSpan({ name, attributes })).reading
  expect(reading?.stepId).toBe(stepId)
  expect(reading?.trace).toEqual({ metadata: { langgraph_node: 'plan', tenant: 'acme' } })
})

it.for([
  [{ 'graph.node.id': 'retrieve' }, 'retrieve'],
  [{ 'graph.node.id': '9f86d081884c7d65', 'graph.node.name': 'support' }, 'support'],
  [{ 'graph.node.id': '9f86d081884c7d65', 'agent.name': 'support', 'openinference.span.kind': 'AGENT' }, 'support'],
  [{ 'graph.node.id': '9f86d081884c7d65' }, undefined],
] as const)('ignores a node’s random id: %j', ([attributes, stepId], { expect }) => {
  expect(readAs(openInference, aSpan({ attributes })).reading?.stepId).toBe(stepId)
})

describe('judgments', () => {
  const judgmentOf = (fields: Record<string, Json>, prefix = 'annotations.0.annotation') =>
    readAs(
      openInference,
      aSpan({
        attributes: Object.fromEntries(Object.entries(fields).map(([key, value]) => [`${prefix}.${key}`, value])),
      }),
    ).reading

  it.for<[string, Record<string, Json>, Json]>([
    ['a score', { score: 0.75 }, { rating: 0.75 }],
    ['a score outside our range', { score: 4, label: 'Correct' }, { rating: 'positive', comment: 'Correct' }],
    ['a good label', { label: 'thumbs-up' }, { rating: 'positive', comment: 'thumbs-up' }],
    ['a bad label', { label: 'irrelevant', explanation: 'off topic' }, { rating: 'negative', comment: 'off topic' }],
    ['only text', { explanation: 'hm' }, { comment: 'hm' }],
  ])('become feedback if a person made them: %s', ([, fields, expected], { expect }) => {
    const annotation = { name: 'correctness', annotator_kind: 'HUMAN', identifier: 'ann@acme.test', ...fields }
    expect(judgmentOf(annotation)).toEqual({
      feedback: [{ name: 'correctness', identifier: 'ann@acme.test', ...Object(expected) }],
      metadata: { annotations: [annotation] },
    })
  })

  it('may apply to the whole trace', ({ expect }) => {
    expect(judgmentOf({ annotator_kind: 'human', score: 1 }, 'trace.evaluations.0.evaluation')).toEqual({
      feedback: [{ isOfTrace: true, name: 'annotation', identifier: 'human', rating: 1 }],
      metadata: { annotations: [{ annotator_kind: 'human', score: 1, scope: 'trace' }] },
    })
  })

  it('do not become feedback if a model or code made them', ({ expect }) => {
    const annotation = { name: 'relevance', annotator_kind: 'LLM', score: 1 }
    expect(judgmentOf(annotation, 'evaluations.3.evaluation')).toEqual({ evaluations: [annotation] })
  })
})
