import { it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { laminar } from '../../../src/otlp/conventions/laminar.ts'
import { aSpan, readAs } from '../../support/decoded-telemetry.ts'

it('reads an observed function', ({ expect }) => {
  const attributes = {
    'lmnr.span.type': 'DEFAULT',
    'lmnr.span.path': ['answer_question'],
    'lmnr.span.input': '["What is the refund policy?"]',
    'lmnr.span.output': '"30 days"',
    'lmnr.association.properties.session_id': 'conv-42',
    'lmnr.association.properties.tags': ['prod'],
    'lmnr.association.properties.metadata.tenant': 'acme',
    'lmnr.association.properties.metadata.plan': '{"tier":"gold"}',
  }
  expect(readAs(laminar, aSpan({ name: 'answer_question', attributes }))).toEqual({
    reading: {
      input: ['What is the refund policy?'],
      output: '30 days',
      trace: { metadata: { tenant: 'acme', plan: { tier: 'gold' } } },
      fallback: { kind: 'task' },
    },
    unread: ['lmnr.span.path', 'lmnr.association.properties.session_id', 'lmnr.association.properties.tags'],
  })
})

it('reads a span without a type as a task only if it is the SDK’s own', ({ expect }) => {
  const attributes = { 'lmnr.span.path': ['answer_question'] }
  const kindIn = (scope: string) => readAs(laminar, aSpan({ scope, attributes })).reading?.fallback?.kind
  expect(kindIn('lmnr.tracer')).toBe('task')
  expect(kindIn('http')).toBeUndefined()
})

it('reads a manually recorded model call', ({ expect }) => {
  const attributes = {
    'lmnr.span.type': 'LLM',
    'lmnr.span.input': '[{"role":"user","content":"hi"}]',
    'lmnr.span.output':
      '{"id":"c1","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"30 days"}}]}',
    'gen_ai.usage.cost': 0.003,
    'gen_ai.usage.input_cost': 0.001,
    'gen_ai.usage.output_cost': '0.002',
  }
  expect(readAs(laminar, aSpan({ attributes }))).toEqual({
    reading: {
      kind: 'llm',
      input: { messages: [{ role: 'user', content: 'hi' }] },
      output: { role: 'assistant', content: '30 days' },
      finishReasons: ['stop'],
      cost: { input: 0.001, output: 0.002, total: 0.003 },
      metadata: { response: { id: 'c1' } },
    },
    unread: [],
  })
})

it.for<[string, Record<string, Json>, string]>([
  ['TOOL', {}, 'tool'],
  ['EVALUATOR', {}, 'evaluator'],
  ['HUMAN_EVALUATOR', {}, 'evaluator'],
  ['EVALUATION', {}, 'workflow'],
  ['EXECUTOR', {}, 'task'],
  ['CACHED', {}, 'llm'],
  ['CACHED', { 'lmnr.span.original_type': 'TOOL' }, 'tool'],
])('maps the span type %s to its kind', ([type, more, kind], { expect }) => {
  expect(readAs(laminar, aSpan({ attributes: { 'lmnr.span.type': type, ...more } })).reading).toEqual({ kind })
})

it('keeps an unknown type', ({ expect }) => {
  const attributes = { 'lmnr.span.type': 'NEW' }
  expect(readAs(laminar, aSpan({ attributes }))).toEqual({ reading: undefined, unread: ['lmnr.span.type'] })
})
