import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { Client, StreamableHTTPClientTransport, type VersionNegotiationOptions } from '@modelcontextprotocol/client'
import { answer } from '../../src/app.ts'
import type { Env } from '../../src/env.ts'
import type { Tool } from '../../src/mcp/tool.ts'
import { type ApiResponse, client } from './org.ts'
import { sampleOf, type World } from './samples.ts'

export const MCP_URL = 'https://countersign.test/mcp'

/** A `fetch` that sends requests through the Worker, and waits for its background work. */
export const fetchFrom =
  (bindings: Env = env): typeof fetch =>
  async (input, init) => {
    const context = createExecutionContext()
    const response = await answer(new Request(input, { ...init, redirect: 'manual' }), bindings, context)
    await waitOnExecutionContext(context)
    return response
  }

/** The official client, connected with a key. */
export async function connect(key: string, versionNegotiation: VersionNegotiationOptions = {}): Promise<Client> {
  const connected = new Client({ name: 'test', version: '1' }, { versionNegotiation })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await connected.connect(new StreamableHTTPClientTransport(new URL(MCP_URL), { fetch: fetchFrom(), requestInit }))
  return connected
}

/** A tool's answer. */
interface ToolAnswer {
  response: ApiResponse
  isError: boolean
  /** The answer as text. */
  text: string
  /** The answer as structured data. */
  // Tests use it to read responses from every endpoint.
  // biome-ignore lint/suspicious/noExplicitAny: a typed one would repeat every schema
  structured: any
}

/** Sends messages and calls tools without a client library. */
export function agentOf(key: string, bindings: Env = env) {
  const { post } = client({ 'x-api-key': key }, bindings)
  const send = (method: string, params: object = {}, headers: Record<string, string> = {}) =>
    post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers)
  return {
    send,
    tools: async (): Promise<string[]> =>
      (await send('tools/list')).body.result.tools.map(({ name }: { name: string }) => name),
    call: async (name: string, sent: object = {}): Promise<ToolAnswer> => {
      const response = await send('tools/call', { name, arguments: sent })
      const { isError = false, content, structuredContent } = response.body?.result ?? {}
      return { response, isError, text: content?.[0]?.text ?? '', structured: structuredContent }
    },
  }
}

/** Valid arguments for a tool in a world. They come from the sample for the tool's endpoint. */
export function argumentsFor(tool: Tool, world: World): Record<string, unknown> {
  const { contract } = tool.endpoint
  const sample = sampleOf(contract)
  const url = new URL(sample.path(world), MCP_URL)
  const pattern = new RegExp(`^${contract.path.replace(/{(\w+)}/g, '(?<$1>[^/]+)')}$`)
  const params = Object.entries(pattern.exec(url.pathname)?.groups ?? {}).map(
    ([name, value]) => [name.replace('trace_id', 'traceId'), value] as const,
  )
  const offered = Object.entries({ ...Object.fromEntries(url.searchParams), ...sample.body?.(world) }).filter(
    ([name]) => tool.offers.includes(name) && name !== 'limit',
  )
  return Object.fromEntries([...params, ...offered])
}
