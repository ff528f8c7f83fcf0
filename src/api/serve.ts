import type { Caller } from '../auth/authenticate.ts'
import type { Job, Runtime } from '../env.ts'
import { withHeaders } from '../http/response.ts'
import { parse } from '../http/validation.ts'
import { takeToken } from '../rate-limit/token.ts'
import { openUnscopedStore } from '../store/core/store.ts'
import { admit } from './admit.ts'
import type { Context } from './context.ts'
import type { Contract } from './contract.ts'
import { parseParams, parseQuery, queryOf } from './parameters.ts'
import type { Protocol } from './protocol.ts'
import { enqueue, enqueueEvents } from './queue.ts'

/**
 * The one request pipeline, for every protocol: authenticates, checks permissions, takes a token, reads and validates
 * the body, and only then calls the handler. Any error that's thrown becomes the response. Every response after the
 * rate limiter's reply has the rate limit headers. `admitted` is the caller of a request that this one is part of.
 */
export async function serve<C extends Contract, Answer>(
  contract: C,
  protocol: Protocol<Answer>,
  handler: (context: Context<C>) => Promise<Answer>,
  request: Request,
  params: Record<string, string>,
  runtime: Runtime,
  admitted?: Caller,
): Promise<Response> {
  const { env, requestId } = runtime
  const headers: Record<string, string> = {}
  const now = Date.now()
  const deadline = protocol.deadline()
  try {
    const authenticate = admitted ? async () => admitted : protocol.authenticate
    const access = await admit(contract, authenticate, { ...runtime, request, deadline, now })
    if ('caller' in access && !admitted)
      Object.assign(headers, await takeToken(env.RATE_LIMITER, access.caller, requestId))
    const sent = contract.body && (await protocol.readBody(request, contract))
    const context = {
      ...access,
      params: parseParams(contract, params),
      ...parseQuery(contract, queryOf(request)),
      body: contract.body && parse(contract.body, sent),
      request,
      requestId,
      headers: request.headers,
      now,
      get unscoped() {
        return openUnscopedStore(env, deadline)
      },
      enqueue: (...jobs: Job[]) => enqueue(jobs, runtime),
      runtime,
      signal: request.signal,
    }
    // Each field was parsed by the schema that its type comes from; TypeScript can't follow that for a generic C.
    const answer = await handler(context as Context<C>)
    if ('store' in access) enqueueEvents(access.store, runtime)
    return withHeaders(await protocol.success(answer, request, contract, requestId), headers)
  } catch (error) {
    return withHeaders(protocol.failure(error, request, requestId), headers)
  }
}
