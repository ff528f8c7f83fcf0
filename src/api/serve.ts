import { sessionCookie } from '../auth/session.ts'
import type { Job, Runtime } from '../env.ts'
import { readJson } from '../http/body.ts'
import { errorResponse } from '../http/errors.ts'
import { taggedResponse } from '../http/etag.ts'
import { jsonResponse, withHeaders } from '../http/response.ts'
import { parse } from '../http/validation.ts'
import { MAX_BODY_BYTES, STORE_DEADLINE_MS } from '../limits.ts'
import { takeToken } from '../rate-limit/token.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openUnscopedStore } from '../store/core/store.ts'
import { admit } from './admit.ts'
import type { Context } from './context.ts'
import type { Contract, Reply } from './contract.ts'
import { parseParams, parseQuery, queryOf } from './parameters.ts'
import { enqueue } from './queue.ts'

/**
 * The one request order: who is calling, may they, have they tokens left, is the body small enough, is it JSON, is it
 * valid, and only then the handler. Whatever is thrown on the way becomes the answer; once the limiter spoke, every
 * answer carries its headers.
 */
export async function serve<C extends Contract>(
  contract: C,
  handler: (context: Context<C>) => Promise<Reply<C>>,
  request: Request,
  params: Record<string, string>,
  runtime: Runtime,
): Promise<Response> {
  const { env, requestId } = runtime
  const headers: Record<string, string> = {}
  const now = Date.now()
  const deadline = new Deadline(STORE_DEADLINE_MS)
  try {
    const access = await admit(contract, { ...runtime, request, deadline, now })
    if ('caller' in access) Object.assign(headers, await takeToken(env.RATE_LIMITER, access.caller, requestId))
    const json = contract.body && (await readJson(request, contract.maxBytes ?? MAX_BODY_BYTES, contract.errors?.[413]))
    const context = {
      ...access,
      params: parseParams(contract, params),
      ...parseQuery(contract, queryOf(request)),
      body: contract.body && parse(contract.body, json),
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
    // Each field was parsed by the schema that its type is taken from; TypeScript cannot follow that for a generic C.
    const reply = await handler(context as Context<C>)
    if (contract.hasEtag) return await taggedResponse(request, reply.status, reply.body, headers)
    return jsonResponse(reply.status, reply.body, {
      ...headers,
      ...(reply.etag && { etag: reply.etag }),
      ...(reply.location && { location: reply.location }),
      ...(reply.session !== undefined && { 'set-cookie': sessionCookie(request, reply.session) }),
    })
  } catch (error) {
    return withHeaders(errorResponse(error, requestId), headers)
  }
}
