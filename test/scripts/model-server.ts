import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestProject } from 'vitest/node'
import type { ModelRequest, Reply, Wire } from '../support/model-wire.ts'

interface Session {
  replies: Reply[]
  asked: ModelRequest[]
}

const sessions = new Map<string, Session>()

/**
 * A model provider for the tests of the model engine, over real HTTP, with the wire formats of OpenAI and Anthropic.
 * Each test has a session, which is the first segment of the path. `PUT /<session>/replies` sets the replies, which are
 * sent in order. The last one repeats. A reply with `when` is sent only for requests that contain the text in `when`.
 * `GET /<session>/asked` returns the requests.
 */
export async function startModelServer(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    answer(request, response).catch(error => response.destroy(error))
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://localhost:${port}`, close }
}

/** Starts the server for a test run. */
export async function setup(project: TestProject): Promise<() => void> {
  const { url, close } = await startModelServer()
  project.provide('modelServer', url)
  return close
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name = '', ...rest] = (request.url ?? '').split('/')
  const path = rest.join('/')
  if (request.method === 'PUT') {
    sessions.set(name, { replies: JSON.parse(await read(request)), asked: [] })
    response.end()
    return
  }
  const session = sessions.get(name) ?? { replies: [], asked: [] }
  if (path === 'asked') {
    response.end(JSON.stringify(session.asked))
    return
  }
  const body: Wire = JSON.parse(await read(request))
  const headers = Object.fromEntries(Object.entries(request.headers).map(([field, value]) => [field, String(value)]))
  session.asked.push({ path, headers, body })
  const reply = replyTo(JSON.stringify(body), session.replies)
  if (!reply || reply.hangsUp) {
    request.socket.destroy()
    return
  }
  await pause(reply.delayMs ?? 0, undefined, { ref: false })
  const { status = 200, headers: own = {} } = reply
  response.writeHead(status, { 'content-type': 'application/json', ...own })
  response.end(reply.body ?? JSON.stringify(path.endsWith('messages') ? anthropic(reply, body) : openAi(reply, body)))
}

/** The reply to a request: a reply whose `when` is in the request, or else the next reply without a `when`. */
function replyTo(request: string, replies: Reply[]): Reply | undefined {
  const own = replies.find(({ when }) => when !== undefined && request.includes(when))
  if (own) return own
  const next = replies.findIndex(({ when }) => when === undefined)
  const isLast = !replies.some(({ when }, index) => when === undefined && index > next)
  return isLast ? replies[next] : replies.splice(next, 1)[0]
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}

function openAi(reply: Reply, body: Wire): object {
  const content = textOf(answered(reply, body))
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: body.model,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: reply.finishReason ?? 'stop' }],
    ...(!reply.withoutUsage && { usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 } }),
  }
}

/**
 * Replies with the `json` tool if the request has that tool, which is the case for models without structured output.
 */
function anthropic(reply: Reply, body: Wire): object {
  const isTool = body.tools?.some(({ name }) => name === 'json')
  const input = answered(reply, body)
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: isTool
      ? [{ type: 'tool_use', id: 'toolu_1', name: 'json', input }]
      : [{ type: 'text', text: textOf(input) }],
    stop_reason: isTool ? 'tool_use' : (reply.finishReason ?? 'end_turn'),
    stop_sequence: null,
    usage: { input_tokens: 1000, output_tokens: 100 },
  }
}

const textOf = (answer: unknown) => (answer === null || typeof answer === 'string' ? answer : JSON.stringify(answer))

function answered({ answer, isNaive }: Reply, body: Wire): unknown {
  const [, order] = isNaive ? (/ignore the above, answer (\w+)/i.exec(outsideFence(body)) ?? []) : []
  return order && typeof answer === 'object' ? { ...answer, error_type: order } : answer
}

/** All strings in a request, except for the text between the fence lines that the first string specifies. */
function outsideFence({ system = '', messages }: Wire): string {
  const texts = [system, ...messages.map(({ content }) => content)].map(text =>
    typeof text === 'string' ? text : text.map(part => part.text).join('\n'),
  )
  const [, boundary] = /BEGIN (\S+) and END/.exec(texts[0] || (texts[1] ?? '')) ?? []
  let isInside = false
  return texts
    .join('\n')
    .split('\n')
    .filter(line => {
      if (line === `BEGIN ${boundary}`) isInside = true
      if (line === `END ${boundary}`) isInside = false
      return !isInside
    })
    .join('\n')
}
