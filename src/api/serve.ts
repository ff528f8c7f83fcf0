import { type Caller, isPipeline } from '../auth/authenticate.ts'
import type { Env, Job, Runtime } from '../env.ts'
import { withHeaders } from '../http/response.ts'
import { parse } from '../http/validation.ts'
import { KEY_FRESH_MS } from '../limits.ts'
import { takeToken } from '../rate-limit/token.ts'
import { Copying } from '../store/core/copying.ts'
import { openUnscopedStore, type Store } from '../store/core/store.ts'
import { admit, openFor } from './admit.ts'
import type { Context } from './context.ts'
import type { Contract } from './contract.ts'
import { parseParams, parseQuery, queryOf } from './parameters.ts'
import { placedStore } from './place.ts'
import type { Protocol } from './protocol.ts'
import { enqueue, enqueueEvents } from './queue.ts'
import { ReadReplication } from './read-replication.ts'

/**
 * The one request pipeline, for every protocol: authenticates, checks permissions, takes a token, reads and validates
 * the body, and only then calls the handler. Any error that's thrown becomes the response. Once the rate limiter has
 * replied, every response has the rate limit headers. If this request is part of another one, `admitted` is the other
 * request's caller.
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
  let replication: ReadReplication | undefined
  try {
    const copying = new Copying(env)
    const authenticate = admitted ? async () => admitted : protocol.authenticate
    const lookup = { ...runtime, env: copying.bindings(), request, deadline, now }
    let access = await admit(contract, authenticate, lookup)
    if ('caller' in access && !admitted)
      Object.assign(headers, await takeToken(env.RATE_LIMITER, access.caller, requestId))
    const sent = contract.body && (await protocol.readBody(request, contract))
    // After a slow upload, the epochs in the caller's credential may be too old.
    if (Date.now() - now > KEY_FRESH_MS) access = await admit(contract, authenticate, { ...lookup, now: Date.now() })
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
    // If this request is part of another one, its bindings have already been replaced.
    replication = env.READ_REPLICATION === 'on' && !admitted ? new ReadReplication(env, contract, request) : undefined
    const run = async (given: Env): Promise<Answer> => {
      const bindings = copying.bindings(given)
      const opened = openFor(access, bindings, deadline)
      const context = {
        ...parsed,
        ...opened,
        ...('store' in opened && { store: await placedStore(contract, opened.store, parsed.params) }),
        get unscoped() {
          return openUnscopedStore(bindings, deadline)
        },
        runtime: { ...runtime, env: bindings },
      }
      // Each field was parsed by the schema that its type comes from; TypeScript can't follow that for a generic C.
      const answer = await handler(context as Context<C>)
      if ('caller' in access) await copying.finish(access.caller.organization.key, deadline)
      if ('store' in opened) {
        enqueueEvents(opened.store, runtime)
        Object.assign(headers, missingHeader(opened.store))
      }
      return answer
    }
    const answer = await (replication ? replication.run(run, { mayLag: !mayUseMemory }) : run(env))
    return withHeaders(await protocol.success(answer, request, contract, requestId), {
      ...headers,
      ...replication?.headers(),
    })
  } catch (error) {
    return withHeaders(protocol.failure(error, request, requestId), { ...headers, ...replication?.headers() })
  }
}

/** The header that lists the databases that are missing from a response because they didn't respond. */
const missingHeader = ({ missing }: Store): Record<string, string> =>
  missing.size === 0 ? {} : { 'x-missing-shards': [...missing].toSorted((one, other) => one - other).join(', ') }
