import { afterAll, beforeAll, describe, it } from 'vitest'
import { type Client, type Environment, runClient } from './clients/client.ts'
import { installClients, packagesOf } from './clients/install.ts'
import { interpose } from './clients/interposed.ts'
import { ANSWER, type LocalServer, startOpenAi } from './clients/openai-server.ts'
import { readPage } from './clients/page.ts'
import { byPlace, readTrace, type Step } from './clients/read-back.ts'
import { newTenant, type Tenant } from './clients/tenant.ts'
import { newServer, type Server } from './server.ts'

/*
 * Tests the real SDKs with the programs on their pages in docs/sdks. Each program runs in its own process and exports
 * to the service over HTTP. The test then reads the trace back.
 */

let server: Server
let openAi: LocalServer

beforeAll(async () => {
  await installClients()
  server = await newServer()
  openAi = await startOpenAi()
  await server.start({ SEED: 'none' })
}, 600_000)

afterAll(async () => {
  openAi?.close()
  await server?.remove()
})

const environmentOf = ({ key }: Tenant, url = server.url): Environment => ({
  COUNTERSIGN_URL: url,
  COUNTERSIGN_KEY: key,
  OPENAI_BASE_URL: openAi.url,
  OPENAI_API_KEY: 'none',
})

/** Runs a client for a new tenant, and reads the tenant's only trace back. */
async function traced(client: Client) {
  const tenant = await newTenant(server.url)
  const { traceIds, warnings } = await runClient(client, environmentOf(tenant))
  return { tenant, warnings, trace: await readTrace(tenant, traceIds[0]) }
}

const step = (stepId: string, kind: string, fields: Partial<Step> = {}): Step => ({
  stepId,
  kind,
  status: 'ok',
  input: null,
  output: null,
  state: {},
  promptVersionId: null,
  steps: [],
  ...fields,
})

const question = 'How long is the warranty on order 7?'
const documents = [{ id: 'doc_warranty', score: 0.92, content: 'The warranty is 24 months.' }]
const order = { order: 7, bought: '2026-01-15' }
const system = (content: string) => ({ role: 'system', content })
const user = { role: 'user', content: question }
const assistant = (content: string) => ({ role: 'assistant', content })
const calling = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
const toolResult = (id: string, content: unknown) => ({ role: 'tool', content, tool_call_id: id })

/** The trace that the OpenTelemetry JS page's program sends. */
const openTelemetryRun = ({ versionIds }: Tenant) => ({
  name: 'support-answer',
  status: 'completed',
  metadata: {
    group_id: 'session-42',
    user_id: 'user-7',
    tags: ['warranty', 'beta'],
    environment: 'staging',
    service_name: 'support',
  },
  feedback: [{ rating: 'negative', content: 'It should give the date.' }],
  steps: [
    step('support-answer', 'workflow', {
      input: { question },
      output: { answer: 'The warranty is 24 months.' },
      steps: [
        step('answer', 'llm', {
          input: {
            messages: [
              system('The warranty is 24 months.'),
              user,
              calling({ id: 'call_1', name: 'get_order', arguments: { order: 7 } }),
              toolResult('call_1', 'The shop is not responding'),
            ],
          },
          output: assistant('The warranty is 24 months.'),
          state: {
            guidelines: 'Answer in one sentence.',
            config: { model: 'gpt-4.1-mini', provider: 'openai', temperature: 0.2 },
          },
          model: 'gpt-4.1-mini-2025-04-14',
          provider: 'openai',
          usage: { input_tokens: 42, output_tokens: 9, cache_read_tokens: 7 },
          finishReasons: ['stop'],
          promptVersionId: versionIds[0],
        }),
        step('get_order', 'tool', {
          status: 'error',
          input: { order: 7 },
          error: { type: 'Error', message: 'The shop is not responding' },
        }),
        step('retrieval', 'retriever', {
          input: question,
          output: documents,
          state: { retrieved_chunks: documents },
        }),
      ],
    }),
  ],
})

const OPENTELEMETRY: Client = { page: 'opentelemetry-js' }

describe('OpenTelemetry JS', () => {
  it.for<[string, Client]>([
    ['2', OPENTELEMETRY],
    ['3', { ...OPENTELEMETRY, folder: 'opentelemetry-js-3', instead: { 'telemetry.mjs': 'telemetry-3.mjs' } }],
  ])('%s sends a retrieval, a tool that fails, and a model’s answer', async ([, client], { expect }) => {
    const { tenant, trace, warnings } = await traced(client)
    expect(trace).toEqual(openTelemetryRun(tenant))
    expect(warnings).toEqual([])
  })

  it.for<[string, Record<string, string>, string, string | undefined, number]>([
    ['JSON', { ENCODING: 'json' }, 'application/json', undefined, 1],
    ['protobuf, compressed', { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' }, 'application/x-protobuf', 'gzip', 1],
    ['JSON, compressed', { ENCODING: 'json', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' }, 'application/json', 'gzip', 1],
    ['each span when it ends, children first', { PROCESSOR: 'simple' }, 'application/x-protobuf', undefined, 4],
  ])('sends %s', async ([, variant, contentType, contentEncoding, exports], { expect }) => {
    const tenant = await newTenant(server.url)
    const proxy = await interpose(server.url)
    const client = { ...OPENTELEMETRY, instead: { 'telemetry.mjs': 'telemetry-variant.mjs' } }
    const { traceIds, warnings } = await runClient(client, { ...environmentOf(tenant, proxy.url), ...variant })
    proxy.close()
    const expected = { path: '/api/v1/otel/v1/traces', contentType, contentEncoding, status: 200 }
    expect(proxy.exports).toEqual(Array(exports).fill(expected))
    expect(await readTrace(tenant, traceIds[0])).toEqual(openTelemetryRun(tenant))
    expect(warnings).toEqual([])
  })

  it('creates one trace from exports that arrive twice', async ({ expect }) => {
    const tenant = await newTenant(server.url)
    const proxy = await interpose(server.url, { copies: 2 })
    const { traceIds } = await runClient(OPENTELEMETRY, environmentOf(tenant, proxy.url))
    proxy.close()
    expect(proxy.exports.map(({ status }) => status)).toEqual([200, 200])
    expect(await readTrace(tenant, traceIds[0])).toEqual(openTelemetryRun(tenant))
  })

  it('retries after a 503', async ({ expect }) => {
    const tenant = await newTenant(server.url)
    const proxy = await interpose(server.url, { refused: 1 })
    const { traceIds } = await runClient(OPENTELEMETRY, environmentOf(tenant, proxy.url))
    proxy.close()
    expect(proxy.exports.map(({ status }) => status)).toEqual([503, 200])
    expect(await readTrace(tenant, traceIds[0])).toEqual(openTelemetryRun(tenant))
  })

  it('sends OpenAI’s messages only in log records', async ({ expect }) => {
    const { trace, warnings } = await traced({
      ...OPENTELEMETRY,
      folder: 'opentelemetry-openai',
      program: 'app-openai.mjs',
    })
    const call = { provider: 'openai' }
    expect(trace).toEqual({
      name: 'support-answer',
      status: 'completed',
      metadata: { service_name: 'unknown_service:node' },
      feedback: [],
      steps: [
        step('support-answer', 'generic', {
          steps: [
            step('chat', 'llm', {
              ...call,
              status: 'error',
              state: { config: { model: 'overloaded', provider: 'openai' } },
              model: 'overloaded',
              error: { type: 'InternalServerError', message: '503 Overloaded' },
            }),
            step('chat', 'llm', {
              ...call,
              input: { messages: [system('You answer questions about orders.'), user] },
              output: assistant(ANSWER),
              state: { config: { model: 'gpt-4.1-mini', provider: 'openai' } },
              model: 'gpt-4.1-mini-2025-04-14',
              usage: { input_tokens: 42, output_tokens: 9 },
              finishReasons: ['stop'],
            }),
          ].sort(byPlace),
        }),
      ],
    })
    expect(warnings).toEqual([])
  })
})

describe('Vercel AI SDK', () => {
  const instructions = system('You answer questions about orders.')
  const calls = [
    { id: 'call_1', name: 'getOrder', arguments: { order: 7 } },
    { id: 'call_2', name: 'findDocuments', arguments: { query: 'warranty' } },
  ]
  const failure = 'The knowledge base is not responding'
  const tools = [
    step('findDocuments', 'tool', {
      status: 'error',
      input: { query: 'warranty' },
      error: { type: 'Error', message: failure },
    }),
    step('getOrder', 'tool', { input: { order: 7 }, output: order }),
  ]

  it('7 sends an agent’s steps under their run', async ({ expect }) => {
    const { trace, warnings } = await traced({ page: 'vercel-ai-sdk' })
    const chat = {
      model: 'gpt-4.1-mini-2025-04-14',
      provider: 'openai',
      usage: { input_tokens: 42, output_tokens: 9, cache_read_tokens: 7, cache_write_tokens: 0 },
      state: { config: { model: 'gpt-4.1-mini', provider: 'openai', tools: ['getOrder', 'findDocuments'] } },
    }
    expect(trace).toEqual({
      name: 'support-answer',
      status: 'completed',
      metadata: {
        group_id: 'session-42',
        user_id: 'user-7',
        tenant: 'acme',
        service_name: 'unknown_service:node',
      },
      feedback: [{ rating: 'positive', content: '' }],
      steps: [
        step('support-answer', 'generic', {
          input: question,
          output: ANSWER,
          steps: [
            step('answer', 'agent', {
              input: { messages: [instructions, user] },
              output: {
                ...calling(...calls),
                content: ANSWER,
                tool_results: [{ id: 'call_1', result: order }],
              },
              state: { config: { model: 'gpt-4.1-mini' } },
              model: 'gpt-4.1-mini',
              provider: 'openai',
              finishReasons: ['stop'],
              steps: [
                step('step', 'chain', {
                  steps: [
                    step('chat', 'llm', {
                      ...chat,
                      input: { messages: [instructions, user] },
                      output: calling(...calls),
                      finishReasons: ['tool-calls'],
                    }),
                    ...tools,
                  ],
                }),
                step('step', 'chain', {
                  steps: [
                    step('chat', 'llm', {
                      ...chat,
                      input: {
                        messages: [
                          instructions,
                          user,
                          calling(...calls),
                          toolResult('call_1', order),
                          toolResult('call_2', `Error: ${failure}`),
                        ],
                      },
                      output: assistant(ANSWER),
                      finishReasons: ['stop'],
                    }),
                  ],
                }),
              ],
            }),
          ],
        }),
      ],
    })
    expect(warnings).toEqual([])
  })

  it('6 sends a call with its model calls and tools', async ({ expect }) => {
    const { tenant, trace, warnings } = await traced({
      page: 'vercel-ai-sdk',
      folder: 'vercel-ai-sdk-6',
      program: 'app-6.mjs',
    })
    const call = {
      model: 'gpt-4.1-mini-2025-04-14',
      provider: 'openai.chat',
      usage: {
        input_tokens: 42,
        output_tokens: 9,
        total_tokens: 51,
        cache_read_tokens: 7,
        cache_write_tokens: 0,
        reasoning_tokens: 3,
      },
      state: {
        config: {
          model: 'gpt-4.1-mini',
          provider: 'openai.chat',
          maxRetries: 2,
          toolChoice: { type: 'auto' },
          tools: ['getOrder', 'findDocuments'],
        },
      },
      promptVersionId: tenant.versionIds[0],
    }
    expect(trace).toEqual({
      name: 'answer',
      status: 'completed',
      metadata: {
        group_id: 'session-42',
        user_id: 'user-7',
        tags: ['warranty', 'beta'],
        tenant: 'acme',
        promptName: 'answer',
        promptVersion: 1,
        service_name: 'unknown_service:node',
      },
      feedback: [],
      steps: [
        step('answer', 'agent', {
          input: { messages: [instructions, user] },
          output: assistant(ANSWER),
          state: { config: { model: 'gpt-4.1-mini', maxRetries: 2 } },
          model: 'gpt-4.1-mini',
          provider: 'openai.chat',
          finishReasons: ['stop'],
          steps: [
            step('answer', 'llm', {
              ...call,
              input: { messages: [instructions, user] },
              output: calling(...calls),
              finishReasons: ['tool-calls'],
            }),
            step('answer', 'llm', {
              ...call,
              input: {
                messages: [
                  instructions,
                  user,
                  calling(...calls),
                  { ...toolResult('call_1', order), name: 'getOrder' },
                  { ...toolResult('call_2', { type: 'error-text', value: failure }), name: 'findDocuments' },
                ],
              },
              output: assistant(ANSWER),
              finishReasons: ['stop'],
            }),
            ...tools,
          ].sort(byPlace),
        }),
      ],
    })
    expect(warnings).toEqual([])
  })
})

describe('OpenInference', () => {
  it('sends a chain with a retrieval, model calls, and tool calls', async ({ expect }) => {
    const { tenant, trace, warnings } = await traced({ page: 'openinference' })
    const call = { id: 'call_1', name: 'get_order', arguments: { order: 7 } }
    expect(trace).toEqual({
      name: 'support-answer',
      status: 'completed',
      metadata: {
        group_id: 'session-42',
        user_id: 'user-7',
        tags: ['warranty', 'beta'],
        tenant: 'acme',
        service_name: 'unknown_service:node',
      },
      feedback: [{ rating: 'positive', content: '' }],
      steps: [
        step('support-answer', 'chain', {
          input: question,
          output: { text: ANSWER },
          steps: [
            step('OpenAI Chat Completions', 'llm', {
              input: { messages: [system('The warranty is 24 months.'), user] },
              output: calling(call),
              state: {
                config: { model: 'gpt-4.1-mini', provider: 'openai', temperature: 0.2, tools: ['get_order'] },
              },
              model: 'gpt-4.1-mini-2025-04-14',
              provider: 'openai',
              usage: {
                input_tokens: 42,
                output_tokens: 9,
                total_tokens: 51,
                cache_read_tokens: 7,
                reasoning_tokens: 3,
              },
              finishReasons: ['tool_calls'],
            }),
            step('answer', 'llm', {
              input: {
                messages: [system('The warranty is 24 months.'), user, calling(call), toolResult('call_1', order)],
              },
              output: assistant(ANSWER),
              state: {
                config: { model: 'gpt-4.1-mini', provider: 'openai', stream: true },
                context: { document: 'doc_warranty' },
              },
              model: 'gpt-4.1-mini',
              provider: 'openai',
              finishReasons: ['stop'],
              promptVersionId: tenant.versionIds[0],
            }),
            step('get_order', 'tool', { input: 7, output: order }),
            step('notify', 'tool', {
              status: 'error',
              input: ANSWER,
              error: { type: 'Error', message: 'The mail server is not responding' },
            }),
            step('retrieve', 'retriever', {
              input: question,
              output: documents,
              state: { retrieved_chunks: documents },
            }),
          ],
        }),
      ],
    })
    expect(warnings).toEqual([])
  })
})

describe('Langfuse', () => {
  it('sends its observations to its own path, as JSON', async ({ expect }) => {
    const { tenant, trace, warnings } = await traced({ page: 'langfuse' })
    expect(trace).toEqual({
      name: 'support-answer',
      status: 'completed',
      metadata: {
        group_id: 'session-42',
        user_id: 'user-7',
        tags: ['warranty', 'beta'],
        tenant: 'acme',
        environment: 'staging',
        release: '1.4.0',
        service_name: 'unknown_service:node',
      },
      feedback: [{ rating: 'positive', content: '' }],
      steps: [
        step('support', 'task', {
          input: { question },
          output: { answer: 'The warranty is 24 months.' },
          steps: [
            step('answer', 'llm', {
              input: { messages: [system('The warranty is 24 months.'), user] },
              output: assistant('The warranty is 24 months.'),
              state: { config: { model: 'gpt-4.1-mini', temperature: 0.2 } },
              model: 'gpt-4.1-mini',
              usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
              cost: { total: 0.001 },
              promptVersionId: tenant.versionIds[0],
            }),
            step('get_order', 'tool', {
              status: 'error',
              input: { order: 7 },
              error: { type: 'error', message: 'The shop is not responding' },
            }),
            step('retrieve', 'retriever', {
              input: question,
              output: documents,
              state: { retrieved_chunks: documents },
            }),
          ],
        }),
      ],
    })
    expect(warnings).toEqual([])
  })
})

describe('LangSmith', () => {
  it('sends its runs in its OpenTelemetry mode', async ({ expect }) => {
    const { tenant, trace, warnings } = await traced({ page: 'langsmith' })
    const found = { page_content: 'The warranty is 24 months.', type: 'Document', metadata: { id: 'doc_warranty' } }
    expect(trace).toEqual({
      name: 'support-answer',
      status: 'completed',
      metadata: {
        group_id: 'session-42',
        user_id: 'user-7',
        tags: ['warranty', 'beta'],
        tenant: 'acme',
        service_name: 'unknown_service:node',
      },
      feedback: [{ rating: 'positive', content: '' }],
      steps: [
        step('support-answer', 'chain', {
          input: { input: question },
          output: { answer: ANSWER },
          steps: [
            step('answer', 'llm', {
              input: { messages: [system('The warranty is 24 months.'), user] },
              output: assistant(ANSWER),
              state: { config: { model: 'gpt-4.1-mini', provider: 'openai' } },
              model: 'gpt-4.1-mini',
              provider: 'openai',
              usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
              promptVersionId: tenant.versionIds[1],
            }),
            step('get_order', 'tool', {
              status: 'error',
              input: { input: 7 },
              error: { type: 'Error', message: 'Error: The shop is not responding' },
            }),
            step('retrieve', 'retriever', {
              input: { input: question },
              output: { outputs: [found] },
              state: {
                retrieved_chunks: [{ id: 'doc_warranty', content: found.page_content, metadata: found.metadata }],
              },
            }),
          ],
        }),
      ],
    })
    // The client asks for the service's capabilities, because it also supports protocols other than OTLP.
    expect(warnings.filter(line => !line.includes('Failed to fetch info'))).toEqual([])
  })
})

describe('Traceloop', () => {
  it('sends its workflow with its OpenAI calls', async ({ expect }) => {
    const { trace, warnings } = await traced({ page: 'traceloop' })
    const failure = 'The shop is not responding'
    expect(trace).toEqual({
      name: 'support-answer',
      status: 'completed',
      metadata: { group_id: 'session-42', user_id: 'user-7', tenant: 'acme', service_name: 'support' },
      feedback: [{ rating: 'positive', content: '' }],
      steps: [
        step('support-answer', 'workflow', {
          input: question,
          output: ANSWER,
          steps: [
            step('answer', 'task', {
              input: [question, documents],
              output: ANSWER,
              steps: [
                step('chat', 'llm', {
                  input: { messages: [system('The warranty is 24 months.'), user] },
                  output: assistant(ANSWER),
                  state: { config: { model: 'gpt-4.1-mini', provider: 'openai', temperature: 0.2 } },
                  model: 'gpt-4.1-mini-2025-04-14',
                  provider: 'openai',
                  usage: { input_tokens: 42, output_tokens: 9, total_tokens: 51 },
                  finishReasons: ['stop'],
                }),
              ],
            }),
            step('get_order', 'tool', {
              status: 'error',
              input: 7,
              output: { order: 7, error: failure },
              error: { type: 'error', message: failure },
            }),
            step('retrieve', 'task', { input: question, output: documents }),
          ],
        }),
      ],
    })
    expect(warnings).toEqual([])
  })
})

describe('The SDK pages', () => {
  it.for<[string, string[]]>([
    ['opentelemetry-js', ['opentelemetry-js', 'opentelemetry-js-3', 'opentelemetry-openai']],
    ['vercel-ai-sdk', ['vercel-ai-sdk', 'vercel-ai-sdk-6']],
    ['openinference', ['openinference']],
    ['langfuse', ['langfuse']],
    ['langsmith', ['langsmith']],
    ['traceloop', ['traceloop']],
  ])('install the tested versions: %s', async ([page, folders], { expect }) => {
    const tested = await Promise.all(folders.map(packagesOf))
    const { packages } = await readPage(page)
    expect(packages).not.toEqual([])
    expect(packages.filter(name => !tested.flat().some(each => matchesVersion(each, name)))).toEqual([])
  })
})

/** `ai@7` matches if `ai@7.0.173` was tested. */
const matchesVersion = (tested: string, installed: string): boolean =>
  tested === installed || tested.startsWith(`${installed}.`)
