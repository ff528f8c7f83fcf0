import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import * as v from 'valibot'
import type { Contract } from '../../src/api/contract.ts'
import { errorStatuses } from '../../src/api/openapi.ts'
import { answer, endpoints } from '../../src/app.ts'
import type { Env } from '../../src/env.ts'
import { ErrorBody, RpcErrorBody, StatusBody } from '../../src/http/errors.ts'
import { keepBookmark, keepingLater, withBookmark } from './replicas.ts'

/** A response with its body read. Bodies are checked against the endpoint's contract first. */
export interface ApiResponse {
  status: number
  headers: Headers
  // The contract check runs before tests read the body.
  // biome-ignore lint/suspicious/noExplicitAny: a typed body here would repeat every schema
  body: any
}

/** Sends a request through the Worker with the tests' bindings or wrapped ones, and waits for its background work. */
export async function send(request: Request, bindings: Env = env): Promise<ApiResponse> {
  const context = createExecutionContext()
  const response = await sendIn(context, request, bindings)
  await keepingLater(() => waitOnExecutionContext(context))
  return response
}

/** Sends a request through the Worker and waits only for the response. */
export async function sendIn(context: ExecutionContext, request: Request, bindings: Env): Promise<ApiResponse> {
  const response = await answer(withBookmark(request), bindings, context)
  keepBookmark(response)
  // `text()` warns about media types that it doesn't recognize.
  const text = new TextDecoder().decode(await response.arrayBuffer())
  const isFile = response.headers.has('content-disposition')
  const body = isFile ? text : text === '' ? undefined : JSON.parse(text)
  checkAgainstContract(request, response.status, body)
  return { status: response.status, headers: response.headers, body }
}

export type Client = ReturnType<typeof client>

/** A client that sends these headers, one of which may contain a key. */
export function client(headers: Record<string, string>, bindings: Env = env, transport = send) {
  const call =
    (method: string) =>
    (path: string, body?: unknown, more: Record<string, string> = {}): Promise<ApiResponse> =>
      transport(
        new Request(`https://countersign.test${path}`, {
          method,
          headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }), ...more },
          ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
        bindings,
      )
  return { get: call('GET'), post: call('POST'), put: call('PUT'), patch: call('PATCH'), delete: call('DELETE') }
}

export const admin = (bindings: Env = env) => client({ authorization: `Bearer ${env.ADMIN_TOKEN}` }, bindings)

/** The email address of each world's reviewer. */
export const REVIEWER_EMAIL = 'reviewer@example.com'

/** A new tenant: an organization with a project, a key with all rights, and a key for the project. */
export async function newOrg() {
  const slug = `org-${crypto.randomUUID()}`
  const created = await admin().post('/api/orgs', { slug, name: 'Test' })
  const ownerKey: string = created.body.apiKey.key
  const owner = client({ 'x-api-key': ownerKey })
  const project = (await owner.post('/api/projects', { slug: 'support', name: 'Support' })).body
  const keyFor = async (fields: object): Promise<string> => {
    const draft = { name: 'Test', projectSlug: 'support', scopes: ['ingest', 'read', 'review', 'manage'], ...fields }
    return (await owner.post('/api/api-keys', draft)).body.key
  }
  const projectKey = await keyFor({})
  const clientOf = (key: string, bindings: Env = env) => client({ authorization: `Bearer ${key}` }, bindings)
  const bearer = (bindings: Env = env) => clientOf(projectKey, bindings)
  return {
    id: created.body.id,
    slug,
    project,
    /**
     * The user that `newWorld` creates, or '' before it does. A key acts for this user only if a test asks for that.
     */
    userId: '',
    ownerKey,
    owner,
    projectKey,
    keyFor,
    clientOf,
    bearer,
    ingest: bearer(),
    read: owner,
  }
}

export type Org = Awaited<ReturnType<typeof newOrg>>

/**
 * Checks that a response's status and body match the endpoint's contract. This runs for every response in every test.
 */
function checkAgainstContract(request: Request, status: number, body: unknown): void {
  if (request.method === 'HEAD' || request.method === 'OPTIONS') return
  const contract = findContract(request)
  if (status >= 400) v.assert(ERROR_BODIES[contract?.family ?? ''] ?? ErrorBody, body)
  if (!contract) return
  const schema = contract.responses[status]
  if (schema) v.assert(schema, body)
  else if (status === 304 && contract.etag === 'body') v.assert(v.undefined(), body)
  else if (![...errorStatuses(contract).keys()].some(each => each === status)) {
    throw new Error(`${contract.method} ${contract.path} returned ${status}, which isn't in its contract`)
  }
}

/** The error bodies of endpoint families that have their own formats. */
const ERROR_BODIES: Readonly<Record<string, v.GenericSchema<unknown, unknown>>> = {
  otlp: StatusBody,
  mcp: v.union([ErrorBody, RpcErrorBody]),
}

/** Compiled once, because every response of every test is checked. */
const routes = endpoints.map(({ contract }) => ({
  contract,
  pattern: new RegExp(`^${contract.path.replace(/{\w+}/g, '[^/]+')}$`),
}))

function findContract(request: Request): Contract | undefined {
  const { pathname } = new URL(request.url)
  return routes.find(({ contract, pattern }) => contract.method === request.method && pattern.test(pathname))?.contract
}

/** An error's message, whether the body has the API's format or OTLP's. */
export const messageOf = ({ body }: ApiResponse): string => body.error ?? body.message
