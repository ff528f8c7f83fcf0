import { type Caller, isPipeline } from '../auth/authenticate.ts'
import type { Env, Job, Runtime } from '../env.ts'
import { withHeaders } from '../http/response.ts'
import { parse } from '../http/validation.ts'
import { takeToken } from '../rate-limit/token.ts'
import { openUnscopedStore } from '../store/core/store.ts'
import { admit, openFor } from './admit.ts'
import type { Context } from './context.ts'
import type { Contract } from './contract.ts'
import { Databases } from './databases.ts'
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
  let databases: Databases | undefined
  try {
    const authenticate = admitted ? async () => admitted : protocol.authenticate
    const access = await admit(contract, authenticate, { ...runtime, request, deadline, now })
    if ('caller' in access && !admitted)
      Object.assign(headers, await takeToken(env.RATE_LIMITER, access.caller, requestId))
    const sent = contract.body && (await protocol.readBody(request, contract))
    const mayUseMemory = contract.reads === 'memory' && 'caller' in access && isPipeline(access.caller, request)
    const parsed = {
      ...access,
      params: parseParams(contract, params),
      ...parseQuery(contract, queryOf(request)),
      body: contract.body && parse(contract.body, sent),
      mayUseMemory,
      request,
      requestId,
      headers: request.headers,
      now,
      enqueue: (...jobs: Job[]) => enqueue(jobs, runtime),
      signal: request.signal,
    }
    // The bindings of a request that's part of another one are already replaced.
    databases = env.READ_REPLICATION === 'on' && !admitted ? new Databases(env, contract, request) : undefined
    const run = async (bindings: Env): Promise<Answer> => {
      const opened = openFor(access, bindings, deadline)
      const context = {
        ...parsed,
        ...opened,
        get unscoped() {
          return openUnscopedStore(bindings, deadline)
        },
        runtime: { ...runtime, env: bindings },
      }
      // Each field was parsed by the schema that its type comes from; TypeScript can't follow that for a generic C.
      const answer = await handler(context as Context<C>)
      if ('store' in opened) enqueueEvents(opened.store, runtime)
      return answer
    }
    const answer = await (databases ? databases.run(run, { mayLag: !mayUseMemory }) : run(env))
    return withHeaders(await protocol.success(answer, request, contract, requestId), {
      ...headers,
      ...databases?.headers(),
    })
  } catch (error) {
    return withHeaders(protocol.failure(error, request, requestId), { ...headers, ...databases?.headers() })
  }
}
