import * as v from 'valibot'
import type { Context } from '../api/context.ts'
import type { Contract } from '../api/contract.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { json } from '../api/json.ts'
import type { Protocol } from '../api/protocol.ts'
import { serve } from '../api/serve.ts'
import { authenticateKey, keyOf } from '../auth/authenticate.ts'
import { SCOPES } from '../domain/api-key.ts'
import { JsonObjectValue } from '../http/atoms.ts'
import { withHeaders } from '../http/response.ts'
import { MAX_MESSAGE_BYTES } from '../limits.ts'
import { respond } from './server.ts'

/** A JSON-RPC request or notification. The service never asks clients anything, so they never send it a response. */
const Message = v.strictObject({
  jsonrpc: v.literal('2.0'),
  id: v.optional(v.union([v.string(), v.pipe(v.number(), v.integer('must be a string or a whole number'))])),
  method: v.string(),
  params: v.optional(JsonObjectValue),
})

const Response200 = v.looseObject({ jsonrpc: v.literal('2.0') })

const contract = {
  family: 'mcp',
  method: 'POST',
  path: '/mcp',
  summary: 'Send a Model Context Protocol message',
  description:
    "The streamable HTTP transport, without sessions or event streams: each request is one JSON-RPC message. Requires a key in a header, and shows only the tools that the key's scopes allow. Any key acts as an agent here. Web pages on other origins can't call this endpoint. Errors in a message are reported as JSON-RPC errors.",
  scope: SCOPES,
  isForPrograms: true,
  body: Message,
  maxBytes: MAX_MESSAGE_BYTES,
  errors: { 404: 'The protocol revision has no such method' },
  responses: { 200: Response200, 202: v.undefined() },
  example: {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_error_types', arguments: {} } },
    answers: {
      200: { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'This is data …' }] } },
      202: undefined,
    },
  },
} as const satisfies Contract

/**
 * Accepts only a key in a header, never a session or an Access sign-in, which browsers send automatically. This also
 * protects a local server from DNS rebinding: a page that points its own domain at the server has no key to send.
 */
const protocol: Protocol<Response> = {
  ...json,
  authenticate: lookup => authenticateKey(keyOf(lookup.request), lookup),
  success: answer => withHeaders(answer, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }),
}

const handle = ({ body, caller, store, request, runtime }: Context<typeof contract>): Promise<Response> =>
  respond(body, { caller: { ...caller, actsAs: 'agent' }, store, request, runtime })

/** The endpoint for agents. */
export const mcp: readonly Endpoint[] = [{ contract, serve: (...sent) => serve(contract, protocol, handle, ...sent) }]
