import { Router } from 'itty-router/Router'
import * as v from 'valibot'
import { type Endpoint, endpoint } from './api/endpoint.ts'
import { openApiDocument } from './api/openapi.ts'
import { appPage } from './app-page.ts'
import { components } from './components.ts'
import { datasets } from './datasets/index.ts'
import type { Env, Runtime } from './env.ts'
import { experiments } from './experiments/index.ts'
import { checkHealth, checkReadiness } from './health.ts'
import { methodNotAllowed } from './http/errors.ts'
import { ingest } from './ingest/index.ts'
import { manage } from './manage/index.ts'
import { mcp } from './mcp/index.ts'
import { unknownPath } from './native-protocols.ts'
import { otlp } from './otlp/index.ts'
import { problems } from './problems/index.ts'
import { read } from './read/index.ts'
import { respond } from './respond.ts'
import { review } from './review/index.ts'
import { webhooks } from './webhooks/index.ts'

const describeApi = endpoint({
  family: 'operation',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Get this document',
  scope: 'public',
  responses: { 200: v.looseObject({ openapi: v.string() }) },
  example: {
    answers: { 200: { openapi: '3.1.0' } },
  },
}).handle(async () => {
  document ??= openApiDocument(endpoints, components)
  return { status: 200, body: document }
})

/** Built once per isolate, on the first request, because every response is the same. */
let document: ReturnType<typeof openApiDocument> | undefined

/** Every endpoint. The router, the OpenAPI document, and the tests for all endpoints are built from this list. */
export const endpoints: readonly Endpoint[] = [
  ...otlp,
  ...ingest,
  ...read,
  ...review,
  ...datasets,
  ...experiments,
  ...problems,
  ...webhooks,
  ...manage,
  ...mcp,
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
 * Responds to any request: 404 if the path has no endpoint, 405 if the path doesn't accept the method. A browser that
 * navigates to a path without an endpoint gets the app, which has its own pages.
 */
export const answer = (request: Request, env: Env, context: ExecutionContext): Promise<Response> =>
  respond(request, env, context, { serve: runtime => dispatch(request, runtime), isOwn: isOwn(request) })

const isOwn = (request: Request): boolean => ownPaths.has(new URL(request.url).pathname.replace(/\/+$/, ''))

/** The paths that pages on other origins may not call. */
const ownPaths: ReadonlySet<string> = new Set(
  endpoints
    .filter(({ contract }) => contract.managesSession || contract.isForPrograms)
    .map(({ contract }) => contract.path),
)

const ALLOWED_HEADERS =
  'authorization, content-encoding, content-type, if-match, if-none-match, prefer, x-api-key, x-d1-bookmark, x-org-slug, x-project-slug'

async function dispatch(request: Request, runtime: Runtime): Promise<Response> {
  // HEAD runs as GET; `respond` drops the body.
  const isHead = request.method === 'HEAD'
  const response = await router.fetch(isHead ? new Request(request, { method: 'GET' }) : request, runtime)
  if (response) return response
  const methods = methodsOf(new URL(request.url).pathname)
  if (methods.length === 0) return pageOrError(request, runtime.env)
  if (request.method === 'OPTIONS') return preflight(methods)
  throw methodNotAllowed(methods)
}

async function pageOrError(request: Request, { ASSETS }: Env): Promise<Response> {
  const isNavigation = request.method === 'GET' && request.headers.get('sec-fetch-mode') === 'navigate'
  if (!isNavigation || !ASSETS) throw unknownPath(new URL(request.url).pathname)
  return appPage(request.url, ASSETS)
}

/** The methods that the path's endpoints accept. Empty if the path has no endpoint. */
function methodsOf(path: string): string[] {
  const methods = router.routes.filter(([, pattern]) => pattern.test(path)).map(([method]) => method)
  if (methods.length === 0) return []
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
}

/** Pages on any origin may call with a key, because a page has to set the header with the key itself. */
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

/** Turns OpenAPI's `/traces/{id}` into the router's `/traces/:id`. */
function routePath(path: string): string {
  return path.replace(/{(\w+)}/g, ':$1')
}

function lowerCase<Method extends string>(method: Method) {
  return method.toLowerCase() as Lowercase<Method>
}
