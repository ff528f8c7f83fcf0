import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server on this machine that the test closes. */
export interface LocalServer {
  url: string
  close(): void
}

interface Message {
  role: string
  content?: unknown
}

interface Tool {
  /** A field of the Responses API. */
  name?: string
  function?: { name: string }
}

interface Request {
  model: string
  input?: string | (string | { type?: string })[]
  messages?: Message[]
  tools?: Tool[]
  stream?: boolean
  encoding_format?: string
}

export const ANSWER = 'It ends on 15 January 2028.'
const TOKENS = { input: 42, cached: 7, output: 9, reasoning: 3, total: 51 }

/**
 * A fake OpenAI API for the clients: chat completions (also streamed), embeddings, and responses. It responds with a
 * call to the first tool with `{"order": 7}`, unless the request already has a tool's result. The model `overloaded`
 * gets a 503.
 */
export async function startOpenAi(): Promise<LocalServer> {
  const server = createServer((request, response) => {
    answer(request, response).catch(error => response.destroy(error))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://localhost:${port}/v1`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  const body: Request = JSON.parse(text)
  const send = (status: number, value: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  if (body.model === 'overloaded') send(503, { error: { message: 'Overloaded', type: 'server_error' } })
  else if (request.url === '/v1/chat/completions' && body.stream) stream(response, body)
  else if (request.url === '/v1/chat/completions') send(200, chat(body))
  else if (request.url === '/v1/embeddings') send(200, embeddings(body))
  else if (request.url === '/v1/responses') send(200, responses(body))
  else send(404, { error: { message: 'Not found' } })
}

const usage = {
  prompt_tokens: TOKENS.input,
  completion_tokens: TOKENS.output,
  total_tokens: TOKENS.total,
  prompt_tokens_details: { cached_tokens: TOKENS.cached },
  completion_tokens_details: { reasoning_tokens: TOKENS.reasoning },
}

const completion = (model: string) => ({ id: 'chatcmpl_1', created: 1_790_000_000, model: `${model}-2025-04-14` })

function toolCall({ messages = [], tools = [] }: Request): object | undefined {
  const tool = messages.some(({ role }) => role === 'tool') ? undefined : tools[0]
  return tool && { id: 'call_1', type: 'function', function: { name: tool.function?.name, arguments: '{"order":7}' } }
}

function chat(request: Request): object {
  const { model } = request
  const call = toolCall(request)
  const message = call
    ? { role: 'assistant', content: null, tool_calls: [call] }
    : { role: 'assistant', content: ANSWER }
  const choice = { index: 0, finish_reason: call ? 'tool_calls' : 'stop', message }
  return { ...completion(model), object: 'chat.completion', choices: [choice], usage }
}

function stream(response: ServerResponse, request: Request): void {
  const { model } = request
  const call = toolCall(request)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (choices: object[], more = {}) =>
    response.write(
      `data: ${JSON.stringify({ ...completion(model), object: 'chat.completion.chunk', choices, ...more })}\n\n`,
    )
  const [first = '', ...words] = ANSWER.split(' ')
  const delta = call ? { content: null, tool_calls: [{ index: 0, ...call }] } : { content: first }
  send([{ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null }])
  for (const word of call ? [] : words) send([{ index: 0, delta: { content: ` ${word}` }, finish_reason: null }])
  send([{ index: 0, delta: {}, finish_reason: call ? 'tool_calls' : 'stop' }])
  send([], { usage })
  response.end('data: [DONE]\n\n')
}

function embeddings({ model, input = [], encoding_format }: Request): object {
  const vector = [0.25, -0.5, 1]
  const embedding =
    encoding_format === 'base64' ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector
  const data = [input].flat().map((_, index) => ({ object: 'embedding', index, embedding }))
  return { object: 'list', model, data, usage: { prompt_tokens: 5, total_tokens: 5 } }
}

function responses({ model, input = [], tools = [] }: Request): object {
  const isDone = [input].flat().some(item => typeof item === 'object' && item.type === 'function_call_output')
  const tool = isDone ? undefined : tools[0]
  const content = [{ type: 'output_text', text: ANSWER, annotations: [] }]
  const output = tool
    ? { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: tool.name, arguments: '{"order":7}' }
    : { type: 'message', id: 'msg_1', role: 'assistant', content }
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    model: `${model}-2025-04-14`,
    output: [{ ...output, status: 'completed' }],
    usage: {
      input_tokens: TOKENS.input,
      input_tokens_details: { cached_tokens: TOKENS.cached },
      output_tokens: TOKENS.output,
      output_tokens_details: { reasoning_tokens: TOKENS.reasoning },
      total_tokens: TOKENS.total,
    },
  }
}
