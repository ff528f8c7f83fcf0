import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { vercelAiSdk } from '../../../src/otlp/conventions/vercel-ai-sdk.ts'
import { stepOf } from '../../../src/otlp/map.ts'
import { aSpan, readAs, recordedSpans } from '../../support/decoded-telemetry.ts'

const SYSTEM = { role: 'system', content: 'You are a support agent' }
const QUESTION = { role: 'user', content: 'What is the refund policy?' }
const ANSWER = { role: 'assistant', content: 'Refunds are accepted within 30 days.' }
const CALL = { id: 'call_1', name: 'searchKb', arguments: { query: 'refund policy' } }
const FOUND = [{ id: 'doc_1', text: 'Refunds within 30 days', score: 0.9, query: 'refund policy' }]
const ASKED_AGAIN = {
  messages: [
    SYSTEM,
    QUESTION,
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', content: FOUND, tool_call_id: 'call_1', name: 'searchKb' },
  ],
}

/** The steps that a recorded client's spans become. */
async function stepsOf(directory: string) {
  const steps = (await recordedSpans(directory)).map(span => stepOf(span))
  return steps.map(({ kind, stepId, input, output, state, metadata: { model, usage, finish_reasons }, trace }) => ({
    kind,
    stepId,
    input,
    output,
    config: state.get('config'),
    model,
    usage,
    finish_reasons,
    trace,
  }))
}

describe('recorded AI SDK spans', () => {
  it.for([
    ['5', 'ai-sdk-v5', { input_tokens: 42, output_tokens: 9 }],
    [
      '6',
      'ai-sdk-v6',
      {
        input_tokens: 42,
        output_tokens: 9,
        total_tokens: 51,
        cache_read_tokens: 7,
        cache_write_tokens: 0,
        reasoning_tokens: 3,
      },
    ],
  ] as const)('from %s become a call and its parts', async ([, directory, usage], { expect }) => {
    const trace = {
      groupId: 'conv-42',
      userId: 'u-7',
      tags: ['prod', 'rag'],
      metadata: { tenant: 'acme', promptVersion: 3, service_name: 'ai-sdk-demo' },
    }
    const answering = { ...trace, rootName: 'answer-question' }
    const config = { model: 'gpt-4.1-mini', provider: 'openai.chat', maxRetries: 2 }
    const withTools = { ...config, toolChoice: { type: 'auto' }, tools: ['searchKb'] }
    const steps = await stepsOf(directory)
    expect(steps.slice(0, 4)).toEqual([
      {
        kind: 'llm',
        stepId: 'answer-question.doGenerate',
        input: { messages: [SYSTEM, QUESTION] },
        output: { role: 'assistant', content: null, tool_calls: [CALL] },
        config: withTools,
        model: 'gpt-4.1-mini-2025',
        usage,
        finish_reasons: ['tool-calls'],
        trace: answering,
      },
      { kind: 'tool', stepId: 'searchKb', input: { query: 'refund policy' }, output: FOUND, trace: answering },
      {
        kind: 'llm',
        stepId: 'answer-question.doGenerate',
        input: ASKED_AGAIN,
        output: ANSWER,
        config: withTools,
        model: 'gpt-4.1-mini-2025',
        usage,
        finish_reasons: ['stop'],
        trace: answering,
      },
      {
        kind: 'agent',
        stepId: 'answer-question',
        input: { messages: [SYSTEM, QUESTION] },
        output: ANSWER,
        config: { model: 'gpt-4.1-mini', maxRetries: 2 },
        model: 'gpt-4.1-mini',
        finish_reasons: ['stop'],
        trace: answering,
      },
    ])
    expect(steps.slice(4).map(({ kind, stepId, input, output }) => ({ kind, stepId, input, output }))).toEqual([
      {
        kind: 'llm',
        stepId: 'stream-answer.doStream',
        input: { messages: [{ role: 'user', content: 'stream please' }] },
        output: { role: 'assistant', content: 'Refunds in 30 days.' },
      },
      {
        kind: 'agent',
        stepId: 'stream-answer',
        input: { messages: [{ role: 'user', content: 'stream please' }] },
        output: { role: 'assistant', content: 'Refunds in 30 days.' },
      },
      { kind: 'embedding', stepId: 'embed-query.doEmbed', input: ['refund'] },
      { kind: 'chain', stepId: 'embed-query', input: 'refund' },
      {
        kind: 'llm',
        stepId: 'failing.doGenerate',
        input: { messages: [{ role: 'user', content: 'fail' }] },
      },
      { kind: 'agent', stepId: 'failing', input: { messages: [{ role: 'user', content: 'fail' }] } },
    ])
    expect(steps.at(-2)?.config).toEqual({ ...config, maxRetries: 0 })
  })

  it('from version 7 in the old format match the others, but lack metadata', async ({ expect }) => {
    const steps = await stepsOf('ai-sdk-v7-legacy')
    const trace = {
      rootName: 'answer-question',
      groupId: 'conv-42',
      userId: 'u-7',
      metadata: { tenant: 'acme', service_name: 'ai-sdk-demo' },
    }
    const shown = steps
      .slice(0, 4)
      .map(({ kind, stepId, input, output, trace }) => ({ kind, stepId, input, output, trace }))
    expect(shown).toEqual([
      { kind: 'tool', stepId: 'searchKb', input: { query: 'refund policy' }, output: FOUND, trace },
      {
        kind: 'llm',
        stepId: 'answer-question.doGenerate',
        input: { messages: [SYSTEM, QUESTION] },
        output: { role: 'assistant', content: null, tool_calls: [CALL] },
        trace,
      },
      { kind: 'llm', stepId: 'answer-question.doGenerate', input: ASKED_AGAIN, output: ANSWER, trace },
      {
        kind: 'agent',
        stepId: 'answer-question',
        input: { messages: [SYSTEM, QUESTION] },
        output: { ...ANSWER, tool_calls: [CALL] },
        trace,
      },
    ])
  })

  it('keep no request headers and no vectors', async ({ expect }) => {
    const spans = await recordedSpans('ai-sdk-v6')
    const sent = spans.flatMap(({ attributes }) => [...attributes.keys()])
    expect(sent).toContain('ai.request.headers.user-agent')
    expect(sent).toContain('ai.embeddings')
    const metadata = JSON.stringify(spans.map(span => stepOf(span).metadata))
    expect(metadata).not.toMatch(/ai\.request\.headers|"ai\.embedding|\[0\.1,/)
  })
})

it('names a step, and the calls within it, after its function', ({ expect }) => {
  const stepId = (operation: string, more: Record<string, Json> = {}) =>
    readAs(
      vercelAiSdk,
      aSpan({ attributes: { 'ai.operationId': operation, 'ai.telemetry.functionId': 'draft', ...more } }),
    ).reading?.stepId
  expect(stepId('ai.generateObject')).toBe('draft')
  expect(stepId('ai.generateObject.doGenerate')).toBe('draft.doGenerate')
  expect(stepId('ai.toolCall', { 'ai.toolCall.name': 'search' })).toBe('search')
  expect(stepId('custom')).toBe('draft')
})

it('parses a structured answer', ({ expect }) => {
  const attributes = {
    'ai.operationId': 'ai.generateObject',
    'ai.prompt': '{"system":"Be brief.","prompt":"q"}',
    'ai.response.object': '{"answer":42}',
    'ai.settings.temperature': 0.2,
    'ai.settings.context.userId': 'u-7',
    'ai.telemetry.metadata.promptName': 'support-answer',
  }
  expect(readAs(vercelAiSdk, aSpan({ attributes })).reading).toEqual({
    kind: 'chain',
    input: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'q' },
      ],
    },
    output: { answer: 42 },
    state: { config: { temperature: 0.2 } },
    prompt: { name: 'support-answer' },
    trace: { metadata: { promptName: 'support-answer', userId: 'u-7' } },
  })
})

it('reads the reasoning of an answer', ({ expect }) => {
  const attributes = { 'ai.response.text': 'a', 'ai.response.reasoning': 'hm', 'ai.response.toolCalls': 'none' }
  expect(readAs(vercelAiSdk, aSpan({ attributes })).reading?.output).toEqual({
    role: 'assistant',
    content: 'a',
    reasoning: 'hm',
    tool_calls: [{ arguments: 'none' }],
  })
})

it('ignores spans that are not the AI SDK’s', ({ expect }) => {
  expect(readAs(vercelAiSdk, aSpan({ attributes: { 'aircraft.id': 7 } }))).toEqual({
    reading: undefined,
    unread: ['aircraft.id'],
  })
})
