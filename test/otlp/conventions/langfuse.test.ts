import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { langfuse } from '../../../src/otlp/conventions/langfuse.ts'
import { aSpan, readAs, recordedSpans } from '../../support/decoded-telemetry.ts'

const TRACE = { name: 'answer_question', environment: 'test', release: '1.0.0', metadata: { tenant: 'acme' } }
const VERSION = { langfuse: { version: 'v1' } }

describe('recorded Langfuse spans', () => {
  it('are read according to their types', async ({ expect }) => {
    const spans = await recordedSpans('langfuse-js')
    const readings = Object.fromEntries(spans.map(span => [span.name, readAs(langfuse, span).reading]))
    expect(readings).toEqual({
      retrieve: {
        kind: 'retriever',
        input: { query: 'refund policy' },
        output: [{ id: 'doc_1', score: 0.9, content: 'Refunds within 30 days' }],
        state: { retrieved_chunks: [{ id: 'doc_1', score: 0.9, content: 'Refunds within 30 days' }] },
        trace: TRACE,
        metadata: VERSION,
      },
      llm: {
        kind: 'llm',
        input: { messages: [{ role: 'user', content: 'What is the refund policy?' }] },
        output: { role: 'assistant', content: '30 days' },
        state: { config: { temperature: 0.2 } },
        model: 'gpt-4.1-mini',
        usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
        cost: { total: 0.001 },
        prompt: { name: 'support-answer', version: 3 },
        trace: TRACE,
        metadata: VERSION,
      },
      get_order: {
        kind: 'tool',
        input: { order: 7 },
        output: 'not found',
        trace: TRACE,
        metadata: {
          error: { type: 'error', message: 'order not found' },
          langfuse: { level: 'ERROR', status_message: 'order not found', version: 'v1' },
        },
      },
      'oai-call': {
        kind: 'llm',
        input: { messages: [{ role: 'user', content: 'hi' }] },
        output: { role: 'assistant', content: 'Refunds are accepted within 30 days.' },
        model: 'gpt-4.1-mini-2025-04-14',
        // The client sent 35 input and 6 output tokens, plus 7 cached and 3 reasoning tokens.
        usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51, cache_read_tokens: 7, reasoning_tokens: 3 },
        trace: TRACE,
        metadata: VERSION,
      },
      answer_question: {
        kind: 'task',
        input: { q: 'What is the refund policy?' },
        output: { answer: '30 days' },
        trace: { ...TRACE, input: 'What is the refund policy?', output: '30 days' },
        metadata: { langfuse: { version: 'v1', metadata: { k: 'v' } } },
      },
    })
  })
})

it.for<[string, Json, Json]>([
  [
    'parts in addition to the rest',
    { input: 35, output: 6, input_cached_tokens: 7 },
    { input_tokens: 42, output_tokens: 6, cache_read_tokens: 7 },
  ],
  [
    'parts that are included in the rest, as the total shows',
    { input: 42, output: 9, total: 51, input_cached_tokens: 7 },
    { input_tokens: 42, output_tokens: 9, total_tokens: 51, cache_read_tokens: 7 },
  ],
  [
    'a provider’s names',
    { prompt_tokens: 42, completion_tokens: 9, total_tokens: 51 },
    { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
  ],
])('counts tokens given as %s', ([, details, usage], { expect }) => {
  const attributes = {
    'langfuse.observation.type': 'generation',
    'langfuse.observation.usage_details': JSON.stringify(details),
  }
  expect(readAs(langfuse, aSpan({ attributes })).reading).toEqual({ kind: 'llm', usage })
})

it.for<[string, Record<string, Json>, Json]>([
  ['a span with a model', { 'langfuse.observation.type': 'span', 'langfuse.observation.model.name': 'gpt' }, 'llm'],
  ['a type in upper case', { 'langfuse.observation.type': 'AGENT' }, 'agent'],
])('recognizes %s', ([, attributes, kind], { expect }) => {
  expect(readAs(langfuse, aSpan({ attributes })).reading).toMatchObject({ kind })
})

it('reads the attributes that the processor adds to other libraries’ spans', ({ expect }) => {
  const attributes = {
    'langfuse.trace.name': 'answer',
    'langfuse.trace.metadata.plan': '{"tier":"gold"}',
    'langfuse.trace.metadata': 'whole',
    'langfuse.internal.as_root': true,
    'http.request.method': 'POST',
  }
  expect(readAs(langfuse, aSpan({ attributes }))).toEqual({
    reading: { trace: { name: 'answer', metadata: { metadata: 'whole', plan: { tier: 'gold' } }, isRoot: true } },
    unread: ['http.request.method'],
  })
})

it('keeps values that it does not understand', ({ expect }) => {
  const attributes = {
    'langfuse.observation.type': 'walk',
    'langfuse.environment': 5,
    'langfuse.internal.as_root': 'no',
  }
  expect(readAs(langfuse, aSpan({ attributes }))).toEqual({ reading: undefined, unread: Object.keys(attributes) })
})
