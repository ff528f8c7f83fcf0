import { it } from 'vitest'
import { stepOf } from '../../../src/otlp/map.ts'
import { aSpan, recordedSpans } from '../../support/decoded-telemetry.ts'

/** The tests in this file show which convention takes precedence if several describe a span. */

it('reads a recorded model call by OpenTelemetry’s conventions, and its trace by Traceloop’s', async ({ expect }) => {
  const span = (await recordedSpans('traceloop')).find(({ name }) => name === 'chat gpt-4.1-mini')
  const { kind, stepId, input, output, trace, metadata } = stepOf(span ?? aSpan())
  expect({ kind, stepId, input, output, trace, traceloop: metadata.traceloop }).toEqual({
    kind: 'llm',
    stepId: 'chat',
    input: {
      messages: [
        { role: 'system', content: 'You are a support agent' },
        { role: 'user', content: 'What is the refund policy?' },
      ],
    },
    output: {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_mock_1', name: 'get_weather', arguments: { location: 'Paris' } }],
    },
    trace: { groupId: 'conv-42', userId: 'u-7', metadata: { tenant: 'acme', service_name: 'tl-demo' } },
    traceloop: { workflow: 'answerer' },
  })
})

it('uses the error that Langfuse reports if the span’s status is unset', async ({ expect }) => {
  const span = (await recordedSpans('langfuse-js')).find(({ name }) => name === 'get_order')
  expect(span?.status).toBe('unset')
  const { status, metadata, trace } = stepOf(span ?? aSpan())
  expect([status, metadata.error]).toEqual(['error', { type: 'error', message: 'order not found' }])
  expect(trace).toEqual({
    name: 'answer_question',
    groupId: 'conv-42',
    userId: 'u-7',
    tags: ['prod'],
    environment: 'test',
    release: '1.0.0',
    metadata: { tenant: 'acme', service_name: 'unknown_service:node' },
  })
})

it('counts only three of Codex’s hundreds of recorded spans as pipeline steps', async ({ expect }) => {
  const steps = (await recordedSpans('codex-cli')).map(span => stepOf(span))
  const pipelineSteps = steps.filter(({ kind }) => kind !== 'generic')
  expect(pipelineSteps.map(({ kind, stepId }) => [kind, stepId])).toEqual([
    ['prompt', 'user_prompt'],
    ['llm', 'handle_responses'],
    ['agent', 'session_task.turn'],
  ])
  const groups = new Set(steps.flatMap(({ trace }) => trace.groupId ?? []))
  expect([...groups]).toEqual(['01a1fde4-a8fd-7622-965a-30366f49a461'])
})

it('prefers LangSmith’s span kind to its operation', ({ expect }) => {
  const attributes = {
    'langsmith.span.kind': 'retriever',
    'gen_ai.operation.name': 'embeddings',
    'gen_ai.usage.input_tokens': 42,
    'gen_ai.system': 'langchain',
    'gen_ai.completion': '{"outputs":[{"page_content":"Refunds","metadata":{"id":"doc_1"}}]}',
    'langsmith.metadata.thread_id': 'conv-42',
    'langsmith.metadata.ls_provider': 'openai',
    'langsmith.span.tags': 'prod, beta',
  }
  const { kind, state, metadata, trace } = stepOf(aSpan({ scope: 'langsmith', attributes }))
  expect(kind).toBe('retriever')
  expect([...state]).toEqual([['retrieved_chunks', [{ id: 'doc_1', content: 'Refunds', metadata: { id: 'doc_1' } }]]])
  expect([metadata.usage, metadata.provider]).toEqual([undefined, 'openai'])
  expect(trace).toEqual({ groupId: 'conv-42', tags: ['prod', 'beta'] })
})

it('reads a pydantic-ai run with its instructions and its messages', ({ expect }) => {
  const attributes = {
    agent_name: 'support',
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'support',
    'gen_ai.conversation.id': 'conv-42',
    'gen_ai.system_instructions': '[{"type":"text","content":"Be brief"}]',
    'pydantic_ai.all_messages':
      '[{"role":"user","parts":[{"type":"text","content":"hi"}]},{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]',
    final_result: 'Hello',
    'logfire.msg': 'support run',
  }
  const { kind, stepId, input, output, trace } = stepOf(aSpan({ scope: 'pydantic-ai', attributes }))
  expect({ kind, stepId, input, output, trace }).toEqual({
    kind: 'agent',
    stepId: 'support',
    input: {
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'hi' },
      ],
    },
    output: { role: 'assistant', content: 'Hello' },
    trace: { rootName: 'support', groupId: 'conv-42' },
  })
})

it('names a Logfire step after its template, and skips spans that have only started', ({ expect }) => {
  const attributes = {
    'logfire.msg_template': 'answer {q}',
    'logfire.json_schema': '{"type":"object","properties":{"q":{}}}',
    'session.id': "[Scrubbed due to 'session']",
    q: 'refund?',
  }
  const { stepId, input, isPending, trace, metadata } = stepOf(
    aSpan({ scope: 'logfire', name: 'answer refund?', attributes }),
  )
  expect({ stepId, input, isPending, trace }).toEqual({
    stepId: 'answer {q}',
    input: { q: 'refund?' },
    isPending: false,
    trace: { rootName: 'answer {q}' },
  })
  expect(metadata.attributes).toMatchObject({ q: 'refund?' })
  const pending = { ...attributes, 'logfire.span_type': 'pending_span' }
  expect(stepOf(aSpan({ scope: 'logfire', attributes: pending })).isPending).toBe(true)
})

it('classifies a call that Laminar wraps by OpenTelemetry’s conventions', ({ expect }) => {
  const attributes = {
    'lmnr.span.type': 'DEFAULT',
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'support',
  }
  expect(stepOf(aSpan({ attributes })).kind).toBe('agent')
  expect(stepOf(aSpan({ attributes: { 'lmnr.span.type': 'DEFAULT' } })).kind).toBe('task')
})

it('counts Claude Code’s cached tokens once, and leaves its session to the trace', ({ expect }) => {
  const attributes = {
    'span.type': 'llm_request',
    'gen_ai.system': 'anthropic',
    'gen_ai.request.model': 'claude',
    model: 'claude',
    input_tokens: 10,
    cache_read_tokens: 100,
    output_tokens: 5,
    'session.id': 's1',
    'user.id': 'u1',
  }
  const span = aSpan({ scope: 'com.anthropic.claude_code.tracing', name: 'claude_code.llm_request', attributes })
  const { kind, metadata, state, trace } = stepOf(span)
  expect([kind, metadata.model, metadata.usage, trace.groupId, trace.userId]).toEqual([
    'llm',
    'claude',
    { input_tokens: 110, output_tokens: 5, cache_read_tokens: 100 },
    's1',
    'u1',
  ])
  expect([...state]).toEqual([['config', { model: 'claude', provider: 'anthropic' }]])
})
