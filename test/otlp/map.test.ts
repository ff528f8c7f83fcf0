import { describe, it } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { utf8Length } from '../../src/domain/text.ts'
import { MAX_METADATA_BYTES, MAX_OBSERVATION_BYTES } from '../../src/limits.ts'
import { stepOf, traceIdOf } from '../../src/otlp/map.ts'
import { aSpan, recordedSpans } from '../support/decoded-telemetry.ts'

const stepWith = (attributes: Record<string, Json>, more: Parameters<typeof aSpan>[0] = {}) =>
  stepOf(aSpan({ attributes, ...more }))

/** Keys in order of precedence, each with the value that a step gets from it. */
const ORDERS: Record<string, [given: Record<string, Json>, expected: Json][]> = {
  kind: [
    [{ 'langfuse.observation.type': 'guardrail' }, 'guardrail'],
    [{ 'openinference.span.kind': 'EVALUATOR' }, 'evaluator'],
    [{ 'langsmith.span.kind': 'retriever' }, 'retriever'],
    [{ 'lmnr.span.type': 'TOOL' }, 'tool'],
    [{ 'gen_ai.operation.name': 'embeddings' }, 'embedding'],
    [{ 'traceloop.span.kind': 'workflow' }, 'workflow'],
    [{ 'ai.operationId': 'ai.generateText' }, 'agent'],
    [{ 'gen_ai.tool.name': 'search' }, 'tool'],
    [{ 'llm.model_name': 'm' }, 'llm'],
    [{}, 'generic'],
  ],
  stepId: [
    [{ 'countersign.step_id': 'own' }, 'own'],
    [{ 'graph.node.id': 'node' }, 'node'],
    [{ 'gen_ai.tool.name': 'tool' }, 'tool'],
    [{ 'ai.telemetry.functionId': 'function' }, 'function'],
    [{ 'traceloop.entity.name': 'entity' }, 'entity'],
    [{ 'gen_ai.agent.name': 'agent', 'gen_ai.operation.name': 'invoke_agent' }, 'agent'],
    [{ 'gen_ai.workflow.name': 'workflow' }, 'workflow'],
    [{}, 'name of the span'],
  ],
  input: [
    [{ 'langfuse.observation.input': 'langfuse' }, 'langfuse'],
    [{ 'lmnr.span.input': 'laminar' }, 'laminar'],
    [{ 'gen_ai.tool.call.arguments': 'tool' }, 'tool'],
    [{ 'gen_ai.input.messages': 'messages' }, 'messages'],
    [{ 'ai.prompt.messages': 'ai messages' }, 'ai messages'],
    [
      { 'llm.input_messages.0.message.role': 'user', 'llm.input_messages.0.message.content': 'q' },
      { messages: [{ role: 'user', content: 'q' }] },
    ],
    [{ 'input.value': 'value' }, 'value'],
    [{ 'traceloop.entity.input': '{"args":["entity"],"kwargs":{}}' }, 'entity'],
    [{ 'gen_ai.prompt.0.content': 'old' }, { messages: [{ role: 'user', content: 'old' }] }],
    [{ 'gen_ai.prompt': 'oldest' }, 'oldest'],
    [{ 'gen_ai.retrieval.query.text': 'query' }, 'query'],
    [{ 'mlflow.spanInputs': 'mlflow' }, 'mlflow'],
    [{ input: 'plain' }, 'plain'],
  ],
  output: [
    [{ 'langfuse.observation.output': 'langfuse' }, 'langfuse'],
    [{ 'lmnr.span.output': 'laminar' }, 'laminar'],
    [{ 'gen_ai.tool.call.result': 'tool' }, 'tool'],
    [{ 'gen_ai.output.messages': 'messages' }, 'messages'],
    [{ 'ai.response.object': '{"ai":1}' }, { ai: 1 }],
    [{ 'llm.output_messages.0.message.content': 'a' }, { role: 'assistant', content: 'a' }],
    [{ 'output.value': 'value' }, 'value'],
    [{ 'traceloop.entity.output': 'entity' }, 'entity'],
    [{ 'gen_ai.completion.0.content': 'old' }, { role: 'assistant', content: 'old' }],
    [{ 'gen_ai.completion': 'oldest' }, 'oldest'],
    [{ 'mlflow.spanOutputs': 'mlflow' }, 'mlflow'],
    [{ output: 'plain' }, 'plain'],
  ],
  groupId: [
    [{ 'langfuse.session.id': 'a' }, 'a'],
    [{ 'session.id': 'b' }, 'b'],
    [{ 'gen_ai.conversation.id': 'c' }, 'c'],
    [{ 'traceloop.association.properties.session_id': 'd' }, 'd'],
    [{ 'ai.telemetry.metadata.sessionId': 'e' }, 'e'],
    [{ 'ai.settings.context.sessionId': 'f' }, 'f'],
    [{ 'lmnr.association.properties.session_id': 'g' }, 'g'],
    [{ 'langsmith.metadata.thread_id': 'h' }, 'h'],
    [{ 'conversation.id': 'i' }, 'i'],
    [{ metadata: '{"thread_id":"j"}' }, 'j'],
  ],
  userId: [
    [{ 'langfuse.user.id': 'a' }, 'a'],
    [{ 'user.id': 'b' }, 'b'],
    [{ 'enduser.id': 7 }, '7'],
    [{ 'ai.telemetry.metadata.userId': 'c' }, 'c'],
    [{ metadata: '{"user_id":"d"}' }, 'd'],
  ],
  tags: [
    [{ 'langfuse.trace.tags': ['a'] }, ['a']],
    [{ 'tag.tags': '["b"]' }, ['b']],
    [{ 'ai.telemetry.metadata.tags': 'c, d' }, ['c', 'd']],
  ],
  rootName: [
    [{ 'gen_ai.workflow.name': 'workflow' }, 'workflow'],
    [{ 'ai.telemetry.functionId': 'function' }, 'function'],
    [{ 'traceloop.entity.name': 'entity' }, 'entity'],
    [{ 'gen_ai.agent.name': 'agent', 'gen_ai.operation.name': 'invoke_agent' }, 'agent'],
    [{ 'logfire.msg_template': 'template' }, 'template'],
  ],
  model: [
    [{ 'gen_ai.response.model': 'answered' }, 'answered'],
    [{ 'gen_ai.request.model': 'asked' }, 'asked'],
    [{ 'langfuse.observation.model.name': 'langfuse' }, 'langfuse'],
    [{ 'ai.model.id': 'ai' }, 'ai'],
    [{ 'llm.model_name': 'llm' }, 'llm'],
    [{ model: 'plain' }, 'plain'],
  ],
  environment: [
    [{ 'langfuse.environment': 'a' }, 'a'],
    [{}, 'resource'],
  ],
}

describe.for(Object.entries(ORDERS))('with several sources of the %s', ([field, order]) => {
  it.for(order.map(([, expected], index) => [expected, order.slice(index)] as const))(
    '%s takes precedence over the rest',
    ([expected, rest], { expect }) => {
      const attributes = Object.assign({}, ...rest.map(([given]) => given).toReversed())
      const step = stepWith(attributes, {
        name: 'name of the span',
        resource: { 'deployment.environment.name': 'resource' },
      })
      const found = { ...step.metadata, ...step, ...step.trace }[field as keyof typeof step]
      expect(found).toEqual(expected)
    },
  )
})

describe('a trace’s id', () => {
  it.for<[string, Json | undefined, Json | undefined, string]>([
    ['the id that the sender gives', 'trace_mine', undefined, 'trace_mine'],
    ['the resource’s if the span has none', undefined, 'trace_all', 'trace_all'],
    ['the span’s rather than the resource’s', 'trace_mine', 'trace_all', 'trace_mine'],
    ['OpenTelemetry’s, if the sender’s is invalid', 'mine', 7, 'trace_0af7651916cd43dd8448eb211c80319c'],
    [
      'OpenTelemetry’s, if the sender’s is too long',
      `trace_${'x'.repeat(123)}`,
      null,
      'trace_0af7651916cd43dd8448eb211c80319c',
    ],
    ['the longest id allowed', `trace_${'x'.repeat(122)}`, undefined, `trace_${'x'.repeat(122)}`],
    ['OpenTelemetry’s', undefined, undefined, 'trace_0af7651916cd43dd8448eb211c80319c'],
  ])('is %s', ([, own, shared, expected], { expect }) => {
    const attributesFor = (value: Json | undefined) => (value === undefined ? {} : { 'countersign.trace_id': value })
    expect(traceIdOf(aSpan({ attributes: attributesFor(own), resource: attributesFor(shared) }))).toBe(expected)
  })
})

describe('a step’s name', () => {
  it.for<[string, string, string, string]>([
    ['is cut', 'x'.repeat(300), 's', 'x'.repeat(256)],
    ['is cut between characters', `${'x'.repeat(255)}😀`, 's', 'x'.repeat(255)],
    ['is the span’s name if the given name is empty', ' ', 's', 's'],
    ['is the span’s name if the given name is redacted', "[Scrubbed due to 'session']", 's', 's'],
    ['is never empty', '', '', 'span'],
  ])('%s', ([, given, name, expected], { expect }) => {
    expect(stepWith({ 'countersign.step_id': given }, { name }).stepId).toBe(expected)
  })
})

describe('a failure', () => {
  const EXCEPTION = { name: 'exception', attributes: { 'exception.type': 'TypeError', 'exception.message': 'no' } }

  it('comes from the status, and includes the recorded exception', ({ expect }) => {
    const { status, metadata } = stepWith({}, { status: 'error', events: [EXCEPTION] })
    expect([status, metadata.error, metadata.events]).toEqual([
      'error',
      { type: 'TypeError', message: 'no' },
      [{ name: 'exception', time_unix_nano: '1795260983000000000', attributes: EXCEPTION.attributes }],
    ])
  })

  it.for<[string, Record<string, Json>, Parameters<typeof aSpan>[0], Json | undefined]>([
    ['found in a reported type', { 'error.type': 'timeout' }, {}, { type: 'timeout' }],
    ['found in a status alone', {}, { status: 'error' }, { type: 'error' }],
    ['found in an apparently unhandled exception', {}, { events: [EXCEPTION] }, { type: 'TypeError', message: 'no' }],
    ['ignored if the status is ok', { 'error.type': 'x' }, { status: 'ok', events: [EXCEPTION] }, undefined],
    ['absent if nothing reports one', {}, {}, undefined],
  ])('is %s', ([, attributes, more, error], { expect }) => {
    const step = stepWith(attributes, more)
    expect([step.status, step.metadata.error]).toEqual([error === undefined ? 'ok' : 'error', error])
  })
})

it('keeps every recorded value in the metadata', ({ expect }) => {
  const span = {
    ...aSpan({
      name: 'work',
      parentSpanId: '00f067aa0ba902b7',
      attributes: { custom: [1, { a: null }], 'code.line': 7 },
    }),
    traceState: 'a=b',
    links: [{ traceId: 'f'.repeat(32), spanId: 'e'.repeat(16), traceState: '', attributes: new Map([['k', 'v']]) }],
    dropped: { attributes: 2, events: 0, links: 0 },
    endNs: 1_795_260_983_001_234_567n,
  }
  expect(stepOf(span).metadata).toEqual({
    kind: 'generic',
    span_name: 'work',
    span_kind: 'internal',
    duration_ms: 1.234,
    end_time: '2026-11-21T11:36:23.001Z',
    scope: { name: 'app', version: '1.0.0' },
    otel: {
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      span_id: 'b7ad6b7169203331',
      parent_span_id: '00f067aa0ba902b7',
      start_time_unix_nano: '1795260983000000000',
      end_time_unix_nano: '1795260983001234567',
      trace_state: 'a=b',
    },
    links: [{ trace_id: 'f'.repeat(32), span_id: 'e'.repeat(16), attributes: { k: 'v' } }],
    dropped: { attributes: 2 },
    attributes: { custom: [1, { a: null }] },
  })
})

it('counts a call’s usage only on the call', ({ expect }) => {
  const attributes = { 'gen_ai.usage.input_tokens': 42, 'gen_ai.usage.cost': 0.1 }
  const usageOf = (operation: string) => stepWith({ ...attributes, 'gen_ai.operation.name': operation }).metadata.usage
  expect(['chat', 'embeddings', 'invoke_agent', 'agent_step'].map(usageOf)).toEqual([
    { input_tokens: 42 },
    { input_tokens: 42 },
    undefined,
    undefined,
  ])
})

describe('the prompt', () => {
  const NAMED = { 'gen_ai.prompt.name': 'support-answer', 'gen_ai.prompt.version': 3 }

  it('belongs to a call, and other steps keep it only as metadata', ({ expect }) => {
    const call = stepWith({ 'gen_ai.operation.name': 'chat', ...NAMED })
    const agent = stepWith({ 'gen_ai.operation.name': 'invoke_agent', ...NAMED })
    const prompt = { name: 'support-answer', version: 3 }
    expect([call.prompt, call.metadata.prompt]).toEqual([prompt, prompt])
    expect([agent.prompt, agent.metadata.prompt]).toEqual([undefined, prompt])
  })

  it('comes from our own attribute on any step', ({ expect }) => {
    expect(stepWith({ ...NAMED, 'countersign.prompt_version_id': 'v' }).prompt).toEqual({ id: 'v' })
  })
})

describe('a span’s attributes for the trace', () => {
  it('include the resource’s service attributes', ({ expect }) => {
    const resource = {
      'service.name': 'api',
      'service.version': '1.2',
      'deployment.environment': 'prod',
      'host.name': 'h',
    }
    expect(stepWith({}, { resource }).trace).toEqual({
      environment: 'prod',
      metadata: { service_name: 'api', service_version: '1.2' },
    })
  })

  it('leave out metadata that libraries add or that has its own field', ({ expect }) => {
    const metadata = {
      ls_model_type: 'chat',
      LANGSMITH_PROJECT: 'p',
      'ai.x': 1,
      tenant: 'acme',
      user_id: 'u',
      tags: ['t'],
    }
    expect(stepWith({ metadata: JSON.stringify(metadata) }).trace).toEqual({
      userId: 'u',
      tags: ['t'],
      metadata: { tenant: 'acme' },
    })
  })

  it('keep other ids in the metadata', ({ expect }) => {
    const attributes = { 'session.id': 'a', 'gen_ai.conversation.id': 'b', metadata: '{"session_id":"c"}' }
    const { trace, metadata } = stepWith(attributes)
    expect([trace, metadata.attributes]).toEqual([
      { groupId: 'a', metadata: { session_id: 'c' } },
      { 'gen_ai.conversation.id': 'b' },
    ])
  })

  it.for(["[Scrubbed due to 'session']", '__REDACTED__', '<REDACTED>', ''])(
    'leave out an id that is "%s"',
    (id, { expect }) => {
      expect(stepWith({ 'session.id': id, 'user.id': id, 'conversation.id': 'c' }).trace).toEqual({ groupId: 'c' })
    },
  )
})

describe('a value that is too large', () => {
  it('is truncated and reported, and nothing else is lost', ({ expect }) => {
    const step = stepWith({
      'input.value': 'i'.repeat(MAX_OBSERVATION_BYTES),
      'countersign.state.plan': ['s'.repeat(MAX_OBSERVATION_BYTES)],
      large: 'l'.repeat(MAX_METADATA_BYTES),
      small: 'kept',
    })
    expect(utf8Length(JSON.stringify(step.input))).toBeLessThanOrEqual(MAX_OBSERVATION_BYTES)
    expect(step.input).toMatch(/^i+… \[cut, 5242882 bytes\]$/)
    expect(step.state.get('plan')).toEqual([expect.stringMatching(/^s+… \[cut, 5242882 bytes\]$/)])
    expect(utf8Length(JSON.stringify(step.metadata))).toBeLessThanOrEqual(MAX_METADATA_BYTES)
    expect(step.metadata.attributes).toEqual({
      large: expect.stringMatching(/^l+… \[cut, 65538 bytes\]$/),
      small: 'kept',
    })
    expect(step.warnings).toEqual([
      'truncated input, which had 5242882 bytes',
      'truncated state.plan.0, which had 5242882 bytes',
      'truncated metadata.attributes.large, which had 65538 bytes',
    ])
  })

  it('is also truncated on the trace', ({ expect }) => {
    const { trace, warnings } = stepWith({ 'session.id': 'g'.repeat(300), 'langfuse.trace.name': 'n'.repeat(300) })
    expect(trace).toEqual({ groupId: 'g'.repeat(256), name: 'n'.repeat(256) })
    expect(warnings).toEqual([
      'truncated trace name, which had 300 characters',
      'truncated group_id, which had 300 characters',
    ])
  })
})

it('truncates nothing in recorded spans', async ({ expect }) => {
  for (const directory of ['ai-sdk-v6', 'codex-cli', 'traceloop', 'langfuse-js', 'openinference-openai']) {
    for (const span of await recordedSpans(directory)) expect(stepOf(span).warnings).toEqual([])
  }
})
