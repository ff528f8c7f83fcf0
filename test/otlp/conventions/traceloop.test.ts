import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { MAX_CHUNK_BYTES } from '../../../src/limits.ts'
import { traceloop } from '../../../src/otlp/conventions/traceloop.ts'
import { aSpan, type GivenEvent, readAs, recordedSpans } from '../../support/decoded-telemetry.ts'

const ASSOCIATION = { metadata: { user_id: 'u-7', session_id: 'conv-42', tenant: 'acme' } }

describe('recorded Traceloop spans', () => {
  it('are read according to the kind of decorated function', async ({ expect }) => {
    const spans = await recordedSpans('traceloop')
    const readings = new Map(spans.map(span => [span.name, readAs(traceloop, span).reading]))
    expect(readings.get('retrieve.task')).toEqual({
      kind: 'task',
      stepId: 'retrieve',
      fallback: {
        input: 'What is the refund policy?',
        output: [{ id: 'doc_1', score: 0.9, text: 'Refunds within 30 days' }],
      },
      trace: ASSOCIATION,
      metadata: { traceloop: { workflow: 'answer_question' } },
    })
    expect(readings.get('get_order.tool')).toEqual({
      kind: 'tool',
      stepId: 'get_order',
      fallback: { input: 7, output: { id: 7, status: 'shipped' } },
      trace: ASSOCIATION,
      metadata: { traceloop: { workflow: 'answer_question' } },
    })
    expect(readings.get('answer_question.workflow')).toEqual({
      kind: 'workflow',
      stepId: 'answer_question',
      fallback: {
        input: 'What is the refund policy?',
        output: { answer: 'Refunds are accepted within 30 days.', docs: 1 },
      },
      trace: ASSOCIATION,
      metadata: { traceloop: { workflow: 'answer_question', version: 1 } },
    })
  })

  it('are left to OpenTelemetry’s conventions if they are model calls', async ({ expect }) => {
    const [call] = (await recordedSpans('traceloop')).filter(({ name }) => name.startsWith('chat '))
    const { reading, unread } = readAs(traceloop, call ?? aSpan())
    expect(reading).toEqual({ trace: ASSOCIATION, metadata: { traceloop: { workflow: 'answerer' } } })
    expect(unread).toContain('gen_ai.input.messages')
  })
})

describe('an entity’s input', () => {
  it.for([
    ['one argument', { args: ['q'], kwargs: {} }, 'q'],
    ['several arguments', { args: ['q', 2], kwargs: {} }, ['q', 2]],
    ['named arguments', { args: [], kwargs: { q: 1 } }, { q: 1 }],
    ['no arguments', { args: [], kwargs: {} }, {}],
    ['both positional and named arguments', { args: ['q'], kwargs: { k: 1 } }, { args: ['q'], kwargs: { k: 1 } }],
    ['the caller’s own object', { args: ['q'], other: 1 }, { args: ['q'], other: 1 }],
    [
      'messages',
      { args: [[{ role: 'user', content: 'q' }]], kwargs: {} },
      { messages: [{ role: 'user', content: 'q' }] },
    ],
  ] as const)('is read from %s', ([, input, expected], { expect }) => {
    const attributes = { 'traceloop.span.kind': 'task', 'traceloop.entity.input': JSON.stringify(input) }
    expect(readAs(traceloop, aSpan({ attributes })).reading).toEqual({ kind: 'task', fallback: { input: expected } })
  })

  it('from LangChain contains only the value, and the rest is kept as metadata', ({ expect }) => {
    const attributes = {
      'traceloop.entity.name': 'ChatPromptTemplate',
      'traceloop.entity.input': '{"inputs":{"q":"hi"},"tags":["seq:step:1"],"metadata":{},"kwargs":{"name":"p"}}',
      'traceloop.entity.output': '{"outputs":"prompt","kwargs":{"tags":[]}}',
    }
    expect(readAs(traceloop, aSpan({ attributes })).reading).toEqual({
      stepId: 'ChatPromptTemplate',
      fallback: { input: { q: 'hi' }, output: 'prompt' },
      metadata: {
        traceloop: {
          inputs_call: { tags: ['seq:step:1'], kwargs: { name: 'p' } },
          outputs_call: { kwargs: { tags: [] } },
        },
      },
    })
  })
})

it('reads the prompt in a call', ({ expect }) => {
  const attributes = {
    'traceloop.prompt.key': 'support-answer',
    'traceloop.prompt.version': 3,
    'traceloop.prompt.version_hash': 'abc',
    'traceloop.prompt.template_variables.customer': 'Ann',
    'traceloop.association.properties.langgraph_node': 'answer',
  }
  expect(readAs(traceloop, aSpan({ attributes }))).toEqual({
    reading: {
      stepId: 'answer.step',
      state: { context: { customer: 'Ann' } },
      prompt: { name: 'support-answer', version: 3 },
      trace: { metadata: { langgraph_node: 'answer' } },
    },
    unread: ['traceloop.prompt.version_hash'],
  })
})

describe('a vector database’s response', () => {
  it.for<[string, GivenEvent[], Json]>([
    [
      'as events',
      [
        {
          name: 'db.query.result',
          attributes: {
            'db.query.result.id': 'doc_1',
            'db.query.result.distance': 0.2,
            'db.query.result.document': 'Refunds within 30 days',
            'db.query.result.metadata': '{"page": 2}',
            'db.query.result.vector': [0.1, 0.2],
          },
        },
        { name: 'db.query.result', attributes: { 'db.query.result.id': 7, 'db.query.result.score': '0.5' } },
      ],
      [
        { id: 'doc_1', content: 'Refunds within 30 days', metadata: { page: 2, distance: 0.2 } },
        { id: '7', score: 0.5 },
      ],
    ],
    [
      'from Milvus',
      [
        {
          name: 'db.search.result',
          attributes: {
            'db.search.result.id': 'm1',
            'db.search.result.score': 0.8,
            'db.search.result.entity': '{"text": "Refunds"}',
          },
        },
        { name: 'db.search.result', attributes: { 'db.search.result.entity': "{'text': 'Refunds'}" } },
      ],
      [{ id: 'm1', score: 0.8, metadata: { text: 'Refunds' } }, { content: "{'text': 'Refunds'}" }],
    ],
    [
      'from Pinecone',
      [
        { name: 'pinecone.query.result', attributes: { 'db.vector.query.result.namespace': 'n' } },
        {
          name: 'pinecone.query.result.0',
          attributes: { 'db.vector.query.result.0.id': 'p1', 'db.vector.query.result.0.score': 0.7 },
        },
      ],
      [{ id: 'p1', score: 0.7 }],
    ],
    [
      'with a document that’s too long',
      [{ name: 'db.query.result', attributes: { 'db.query.result.document': 'é'.repeat(MAX_CHUNK_BYTES) } }],
      [{ content: 'é'.repeat(MAX_CHUNK_BYTES / 2), truncated: true }],
    ],
  ])('is read: %s', ([, events, chunks], { expect }) => {
    const span = aSpan({ name: 'query', events })
    expect(readAs(traceloop, span).reading).toEqual({
      state: { retrieved_chunks: chunks },
      fallback: { kind: 'retriever' },
    })
  })

  it('under numbered keys follows the order of the numbers', ({ expect }) => {
    const attributes = {
      'db.search.result.document.999999999': 'third',
      'db.search.result.document.10': 'second',
      'db.search.result.document.9': 'first',
      'db.search.result.score.9': 0.9,
      'db.search.result.count': 3,
    }
    expect(readAs(traceloop, aSpan({ attributes }))).toEqual({
      reading: {
        state: { retrieved_chunks: [{ content: 'first', score: 0.9 }, { content: 'second' }, { content: 'third' }] },
        fallback: { kind: 'retriever' },
      },
      unread: ['db.search.result.count'],
    })
  })
})

it.for([
  ['none of Traceloop’s attributes', { 'gen_ai.request.model': 'gpt' }],
  ['a database’s attributes', { 'db.system': 'postgresql' }],
] as const)('ignores a span with %s', ([, attributes], { expect }) => {
  expect(readAs(traceloop, aSpan({ attributes })).reading).toBeUndefined()
})
