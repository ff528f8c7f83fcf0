import { Router } from 'itty-router/Router'
import * as v from 'valibot'
import { type Endpoint, endpoint } from './api/endpoint.ts'
import { openApiDocument } from './api/openapi.ts'
import { isAmbient } from './auth/authenticate.ts'
import { components } from './components.ts'
import type { Env, Runtime } from './env.ts'
import { ERRORS, errorResponse, methodNotAllowed, notFound } from './http/errors.ts'
import { ingest } from './ingest/index.ts'
import { manage } from './manage/index.ts'
import { otlp } from './otlp/index.ts'
import { addressOf } from './rate-limit/address.ts'
import { read } from './read/index.ts'
import { review } from './review/index.ts'
import { requireDatabase } from './store/core/store.ts'

const describeApi = endpoint({
  family: 'operation',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Read this document',
  scope: 'public',
  responses: { 200: v.looseObject({ openapi: v.string() }) },
  example: {
    answers: { 200: { openapi: '3.1.0' } },
  },
}).handle(async () => {
  document ??= openApiDocument(endpoints, components)
  return { status: 200, body: document }
})

/** Built once per isolate, on the first request: every response is the same. */
let document: ReturnType<typeof openApiDocument> | undefined

const Status = v.object({ status: v.literal('ok') })

const checkHealth = endpoint({
  family: 'operation',
  method: 'GET',
  path: '/healthz',
  summary: 'Check that the Worker is up, without dependencies',
  scope: 'public',
  responses: { 200: Status },
  example: {
    answers: { 200: { status: 'ok' } },
  },
}).handle(async () => ({ status: 200, body: { status: 'ok' } }))

const checkReadiness = endpoint({
  family: 'operation',
  method: 'GET',
  path: '/readyz',
  summary: 'Check that the database is reachable and migrated',
  scope: 'public',
  isLimitedByAddress: true,
  errors: { 503: ERRORS[503].message },
  responses: { 200: Status },
  example: {
    answers: { 200: { status: 'ok' } },
  },
}).handle(async ({ unscoped }) => {
  await requireDatabase(unscoped)
  return { status: 200, body: { status: 'ok' } }
})

/** Every endpoint. The router, the OpenAPI document, and the suites over all endpoints are built from this list. */
export const endpoints: readonly Endpoint[] = [
  ...otlp,
  ...ingest,
  ...read,
  ...review,
  ...manage,
  describeApi,
  checkHealth,
  checkReadiness,
]

const router = Router<RoutedRequest, [Runtime], Promise<Response>>()
for (const { contract, serve } of endpoints) {
  const register = router[lowerCase(contract.method)]
  register(routePath(contract.path), (request, runtime) => serve(request, request.params, runtime))
}

type RoutedRequest = Request & { params: Record<string, string> }

/**
 * Answers any request: an endpoint's response, or 405 with the methods that the path has, or 404. A browser's navigation
 * to a path that is no endpoint's gets the app, which has pages of its own.
 */
export async function answer(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
  const requestId = crypto.randomUUID()
  const runtime: Runtime = {
    env,
    requestId,
    waitUntil: promise => context.waitUntil(promise),
    address: addressOf(request),
  }
  const answered = await dispatch(request, runtime).catch(error => errorResponse(error, requestId))
  const response = request.method === 'HEAD' ? new Response(null, answered) : answered
  response.headers.set('x-request-id', requestId)
  if (isForAnyOrigin(request)) {
    response.headers.set('access-control-allow-origin', '*')
    response.headers.set('access-control-expose-headers', EXPOSED_HEADERS)
  }
  return response
}

/** Whether pages of other origins may see the answer: those that send a key of their own, not those that have a browser's session. */
const isForAnyOrigin = (request: Request): boolean =>
  !isAmbient(request) && !pathsOfSession.has(new URL(request.url).pathname.replace(/\/+$/, ''))

const pathsOfSession: ReadonlySet<string> = new Set(
  endpoints.filter(({ contract }) => contract.isOfSession).map(({ contract }) => contract.path),
)

const EXPOSED_HEADERS =
  'x-request-id, retry-after, ratelimit, ratelimit-policy, allow, etag, location, www-authenticate'
const ALLOWED_HEADERS =
  'authorization, content-encoding, content-type, if-match, if-none-match, prefer, x-api-key, x-org-slug, x-project-slug'

async function dispatch(request: Request, runtime: Runtime): Promise<Response> {
  // Answered as its GET; `answer` leaves the body out.
  const isHead = request.method === 'HEAD'
  const response = await router.fetch(isHead ? new Request(request, { method: 'GET' }) : request, runtime)
  if (response) return response
  const methods = methodsOf(new URL(request.url).pathname)
  if (methods.length === 0) return unknownPath(request, runtime.env)
  if (request.method === 'OPTIONS') return preflight(methods)
  throw methodNotAllowed(methods)
}

async function unknownPath(request: Request, { ASSETS }: Env): Promise<Response> {
  const isNavigation = request.method === 'GET' && request.headers.get('sec-fetch-mode') === 'navigate'
  if (!isNavigation || !ASSETS) throw notFound()
  const page = await ASSETS.fetch(new URL('/', request.url))
  return new Response(page.body, page)
}

/** The methods that some route has for a path; none where there is no such path. */
function methodsOf(path: string): string[] {
  const methods = router.routes.filter(([, pattern]) => pattern.test(path)).map(([method]) => method)
  if (methods.length === 0) return []
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
}

/** Any origin may call with a key, which travels in a header that a page must set itself. */
const preflight = (methods: readonly string[]): Response =>
  new Response(null, {
    status: 204,
    headers: {
      allow: methods.join(', '),
      'access-control-allow-methods': methods.join(', '),
      'access-control-allow-headers': ALLOWED_HEADERS,
      'access-control-max-age': '86400',
    },
  })

/** `/traces/{id}`, as OpenAPI writes it, is `/traces/:id` to the router. */
function routePath(path: string): string {
  return path.replace(/{(\w+)}/g, ':$1')
}

function lowerCase<Method extends string>(method: Method) {
  return method.toLowerCase() as Lowercase<Method>
}
