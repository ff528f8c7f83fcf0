import { isAmbient } from './auth/authenticate.ts'
import type { Env, Runtime } from './env.ts'
import { errorResponse, takesNoWebhooks } from './http/errors.ts'
import { addressOf } from './rate-limit/address.ts'
import { isDelivery } from './webhooks/deliver.ts'

/**
 * Responds to a request with what `serve` returns or throws, and adds the headers that every response has. `isOwn` means
 * that only the service's own pages may read the response.
 */
export async function respond(
  request: Request,
  env: Env,
  context: ExecutionContext,
  { serve, isOwn }: { serve: (runtime: Runtime) => Promise<Response>; isOwn: boolean },
): Promise<Response> {
  const requestId = crypto.randomUUID()
  const runtime: Runtime = {
    env,
    requestId,
    waitUntil: promise => context.waitUntil(promise),
    address: addressOf(request),
  }
  const answered = await refuseDelivery(request)
    .then(() => serve(runtime))
    .catch(error => errorResponse(error, requestId))
  const response = request.method === 'HEAD' ? new Response(null, answered) : answered
  response.headers.set('x-request-id', requestId)
  // Pages on other origins may read the response if they send their own key, but not if they use a browser's session.
  if (!isOwn && !isAmbient(request)) {
    response.headers.set('access-control-allow-origin', '*')
    response.headers.set('access-control-expose-headers', EXPOSED_HEADERS)
  }
  return response
}

const EXPOSED_HEADERS =
  'x-request-id, x-next-cursor, content-disposition, retry-after, ratelimit, ratelimit-policy, allow, etag, location, www-authenticate, x-d1-bookmark, x-missing-shards'

async function refuseDelivery(request: Request): Promise<void> {
  if (isDelivery(request)) throw takesNoWebhooks()
}
