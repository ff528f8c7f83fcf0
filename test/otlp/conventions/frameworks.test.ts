import { describe, it } from 'vitest'
import type { Json } from '../../../src/domain/json.ts'
import { stepOf } from '../../../src/otlp/map.ts'
import { twinsIn } from '../../../src/otlp/twins.ts'
import { aSpan } from '../../support/decoded-telemetry.ts'

/** Frameworks with their own attributes. Recorded exports from most of them are in `../clients/`. */

const CALL = { id: 'call_1', name: 'get_order', arguments: { order: 7 } }

it('reads MLflow’s values, which are JSON, including strings', ({ expect }) => {
  const attributes = {
    'mlflow.spanType': '"CHAT_MODEL"',
    'mlflow.spanInputs': '{"model":"gpt","messages":[{"role":"user","content":"q"}],"temperature":0.2}',
    'mlflow.spanOutputs':
      '{"id":"c","choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}',
    'mlflow.llm.model': '"gpt-2026"',
    'mlflow.llm.provider': '"openai"',
    'mlflow.chat.tokenUsage': '{"input_tokens":42,"output_tokens":9,"total_tokens":51,"cache_read_input_tokens":8}',
    'mlflow.llm.cost': '{"total_cost":0.01}',
    'mlflow.trace.session': '"s1"',
    'mlflow.trace.user': '"u1"',
    'mlflow.spanLogLevel': '20',
    model: '"gpt"',
    temperature: '0.2',
  }
  const { kind, input, output, state, metadata, trace } = stepOf(aSpan({ name: 'Completions', attributes }))
  expect({ kind, input, output, config: state.get('config'), trace }).toEqual({
    kind: 'llm',
    input: { messages: [{ role: 'user', content: 'q' }] },
    output: { role: 'assistant', content: 'a' },
    config: { model: 'gpt', provider: 'openai', temperature: 0.2 },
    trace: { groupId: 's1', userId: 'u1' },
  })
  expect(metadata).toMatchObject({
    model: 'gpt-2026',
    provider: 'openai',
    usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51, cache_read_tokens: 8 },
    cost: { total: 0.01 },
    finish_reasons: ['stop'],
  })
  expect(metadata.attributes).toBe(undefined)
  expect(metadata.response).toBe(undefined)
})

it('reads Genkit’s model, usage, and tool calls, and leaves the model out of the step’s name', ({ expect }) => {
  const attributes = {
    'genkit:metadata:subtype': 'model',
    'genkit:name': 'openai/gpt-4.1-mini',
    'genkit:path': '/{support-answer,t:flow}',
    'genkit:input': JSON.stringify({
      messages: [
        { role: 'system', content: [{ text: 'Be brief' }] },
        { role: 'user', content: [{ text: 'q' }] },
      ],
      tools: [{ name: 'get_order' }],
      config: { temperature: 0.2 },
    }),
    'genkit:output': JSON.stringify({
      message: { role: 'model', content: [{ toolRequest: { ref: 'call_1', name: 'get_order', input: { order: 7 } } }] },
      finishReason: 'stop',
      usage: { inputTokens: 42, outputTokens: 9, totalTokens: 51 },
      raw: { id: 'chatcmpl-1' },
    }),
  }
  const { kind, stepId, input, output, state, metadata } = stepOf(aSpan({ name: 'openai/gpt-4.1-mini', attributes }))
  expect({ kind, stepId, input, output, config: state.get('config') }).toEqual({
    kind: 'llm',
    stepId: 'model',
    input: {
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'q' },
      ],
    },
    output: { role: 'assistant', content: null, tool_calls: [CALL] },
    config: { model: 'gpt-4.1-mini', provider: 'openai', temperature: 0.2, tools: ['get_order'] },
  })
  expect(metadata).toMatchObject({
    model: 'gpt-4.1-mini',
    provider: 'openai',
    usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
    finish_reasons: ['stop'],
  })
})

it('reads a LangSmith run’s request, model, and failure', ({ expect }) => {
  const run = (
    kind: string,
    attributes: Record<string, Json>,
    events: { name: string; attributes: Record<string, Json> }[] = [],
  ) => stepOf(aSpan({ scope: 'langsmith', attributes: { 'langsmith.span.kind': kind, ...attributes }, events }))
  const tools = [{ type: 'function', function: { name: 'get_order' } }]
  const call = run('llm', {
    'gen_ai.prompt': JSON.stringify({
      messages: [{ role: 'user', content: 'q' }],
      model: 'gpt',
      temperature: 0.2,
      tools,
    }),
    'gen_ai.completion': JSON.stringify({ id: 'c', choices: [{ message: { role: 'assistant', content: 'a' } }] }),
    'langsmith.metadata.ls_model_name': 'gpt',
  })
  expect([call.input, call.output, call.metadata.model, call.state.get('config')]).toEqual([
    { messages: [{ role: 'user', content: 'q' }] },
    { role: 'assistant', content: 'a' },
    'gpt',
    { model: 'gpt', temperature: 0.2, tools: ['get_order'] },
  ])
  const message = "TimeoutError('slow')Traceback (most recent call last):\n  File\nTimeoutError: slow"
  const exception = { name: 'exception', attributes: { 'exception.type': 'Exception', 'exception.message': message } }
  const tool = run('tool', { 'gen_ai.completion': '{"output":null}' }, [exception])
  expect([tool.status, tool.output, tool.metadata.error]).toEqual([
    'error',
    undefined,
    { type: 'TimeoutError', message: 'slow', traceback: message.slice(message.indexOf('Traceback')) },
  ])
})

it('reads a Genkit flow and tool', ({ expect }) => {
  const flow = { 'genkit:metadata:subtype': 'flow', 'genkit:name': 'answer', 'genkit:input': '{"q":1}' }
  expect(stepOf(aSpan({ attributes: flow }))).toMatchObject({ kind: 'workflow', stepId: 'answer', input: { q: 1 } })
  const tool = { 'genkit:metadata:subtype': 'tool', 'genkit:name': 'get_order', 'genkit:output': '{"order":7}' }
  expect(stepOf(aSpan({ attributes: tool }))).toMatchObject({ kind: 'tool', stepId: 'get_order', output: { order: 7 } })
})

it('reads Strands’ blocks as tool calls, arguments, and results', ({ expect }) => {
  const content = (name: string, attributes: Record<string, Json>) => ({ name, attributes })
  const chat = stepOf(
    aSpan({
      name: 'chat',
      attributes: { 'gen_ai.operation.name': 'chat', 'langfuse.tags': ['warranty'] },
      events: [
        content('gen_ai.user.message', { content: '[{"text":"q"}]' }),
        content('gen_ai.choice', {
          finish_reason: 'tool_use',
          message: '[{"toolUse":{"toolUseId":"call_1","name":"get_order","input":{"order":7}}}]',
        }),
      ],
    }),
  )
  expect([chat.input, chat.output, chat.trace.tags]).toEqual([
    { messages: [{ role: 'user', content: 'q' }] },
    { role: 'assistant', content: null, tool_calls: [CALL] },
    ['warranty'],
  ])
  const tool = stepOf(
    aSpan({
      name: 'execute_tool get_order',
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get_order' },
      events: [
        content('gen_ai.tool.message', { role: 'tool', content: '{"order": 7}', id: 'call_1' }),
        content('gen_ai.choice', { message: '[{"json": {"bought": "2026-01-15"}}]', id: 'call_1' }),
      ],
    }),
  )
  expect([tool.stepId, tool.input, tool.output]).toEqual(['get_order', { order: 7 }, { bought: '2026-01-15' }])
  const next = stepOf(
    aSpan({
      name: 'chat',
      events: [
        content('gen_ai.user.message', { content: '[{"text":"q"}]' }),
        content('gen_ai.tool.message', {
          content: '[{"toolResult":{"toolUseId":"call_1","status":"success","content":[{"json":{"order":7}}]}}]',
        }),
      ],
    }),
  )
  expect(JSON.stringify(next.input)).toContain('{"role":"tool","content":{"order":7},"tool_call_id":"call_1"')
})

it('reads LiteLLM’s cost and user, and the tool call that its messages lack', ({ expect }) => {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt',
    'gen_ai.output.messages': '[{"role":"assistant","parts":[],"finish_reason":"tool_calls"}]',
    'gen_ai.completion.0.function_call.name': 'get_order',
    'gen_ai.completion.0.function_call.arguments': '{"order":7}',
    'gen_ai.cost.total_cost': 0.01,
    'gen_ai.cost.discount_amount': 0,
    'llm.user': 'user-7',
    'llm.request.functions.0.name': 'get_order',
    'metadata.user_api_key_hash': '',
    'metadata.applied_guardrails': '[]',
    'metadata.tenant': 'acme',
  }
  const { output, metadata, state, trace } = stepOf(aSpan({ scope: 'litellm', name: 'answer', attributes }))
  expect(output).toEqual({
    role: 'assistant',
    content: null,
    tool_calls: [{ name: 'get_order', arguments: { order: 7 } }],
  })
  expect([metadata.cost, state.get('config'), trace]).toEqual([
    { total: 0.01 },
    { model: 'gpt', tools: ['get_order'] },
    { userId: 'user-7', metadata: { tenant: 'acme' } },
  ])
  const raw = stepOf(aSpan({ scope: 'litellm', name: 'answer', attributes: { 'llm.openai.id': 'chatcmpl-1' } }))
  expect([raw.kind, raw.stepId, raw.metadata.attributes]).toEqual(['generic', 'raw_gen_ai_request', undefined])
})

describe('a call that two spans record', () => {
  const spanId = 'a1a1a1a1a1a1a1a1'
  const call = {
    ...aSpan({ name: 'messages.create', attributes: { 'openinference.span.kind': 'LLM', 'output.value': 'a' } }),
    spanId,
  }
  const own = (parentSpanId: string | null) =>
    aSpan({ scope: 'com.anthropic.sdk.python', parentSpanId, attributes: { 'gen_ai.operation.name': 'chat' } })

  it('counts once', ({ expect }) => {
    const kinds = (...spans: ReturnType<typeof aSpan>[]) =>
      spans.map(span => stepOf(span, twinsIn(spans))).map(({ kind }) => kind)
    expect(kinds(own(spanId), call)).toEqual(['generic', 'llm'])
    expect(kinds(own(null), call)).toEqual(['generic', 'llm'])
    expect(kinds(own(null))).toEqual(['llm'])
    expect(kinds({ ...own(null), startNs: call.endNs + 1n, endNs: call.endNs + 2n }, call)).toEqual(['llm', 'llm'])
    const usage = { 'ag2.span.type': 'usage', 'gen_ai.response.model': 'gpt', 'gen_ai.usage.input_tokens': 42 }
    expect(stepOf(aSpan({ attributes: usage })).metadata.usage).toBe(undefined)
  })

  it('is counted once if another call’s span has its content', ({ expect }) => {
    const chat = aSpan({ attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.completion': 'a' } })
    const spans = [own(null), chat]
    expect(spans.map(span => stepOf(span, twinsIn(spans)).kind)).toEqual(['generic', 'llm'])
  })

  it('includes the answer that Logfire sends after the call', ({ expect }) => {
    const request = { request_data: '{"model":"gpt"}', 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt' }
    const report = {
      ...request,
      'logfire.span_type': 'log',
      'logfire.msg_template': 'streaming response from {request_data[model]!r} took {duration:.2f}s',
      'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"a"}]}]',
    }
    const spans = [request, report].map(attributes => aSpan({ scope: 'logfire.openai', attributes }))
    const [streamed, record] = spans.map(span => stepOf(span, twinsIn(spans)))
    expect([streamed?.kind, streamed?.output, record?.kind]).toEqual([
      'llm',
      { role: 'assistant', content: 'a' },
      'generic',
    ])
    const [, alone] = spans
    expect(alone && stepOf(alone, twinsIn([alone])).kind).toBe('llm')
  })

  it('is found in time proportional to the number of spans', ({ expect }) => {
    const many = Array.from({ length: 20_000 }, (_, index) =>
      index % 2 === 0 ? own(null) : { ...call, spanId: `${index}` },
    )
    const start = performance.now()
    expect(twinsIn(many).repeated.size).toBe(10_000)
    expect(performance.now() - start).toBeLessThan(3000)
  })
})
