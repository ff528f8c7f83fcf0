import * as v from 'valibot'
import { admitCaller } from '../api/admit.ts'
import type { Contract } from '../api/contract.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { enqueue } from '../api/queue.ts'
import { authenticateKey, type Caller, exporterKeyOf } from '../auth/authenticate.ts'
import { inTurns, type Work } from '../domain/turns.ts'
import type { Job, Runtime } from '../env.ts'
import { findApiError, logFault, unavailable } from '../http/errors.ts'
import { withHeaders } from '../http/response.ts'
import { EXPORT_ATTEMPT_MS, EXPORT_DEADLINE_MS, PAST_DEADLINE_RETRY_SECONDS } from '../limits.ts'
import { takeToken } from '../rate-limit/token.ts'
import { Deadline } from '../store/core/deadline.ts'
import type { Store } from '../store/core/store.ts'
import { readExport } from './body.ts'
import { encodeStatus, encodeSuccess } from './encode.ts'
import { type MediaType, mediaTypeOf } from './media-type.ts'
import type { Outcome } from './outcome.ts'
import type { Signal } from './reading/telemetry.ts'

/** What a handler of an export works with. */
export interface ExportContext {
  /** Reads and decodes the body, once. Neither is kept: what is made of them is as large. */
  read: <Decoded>(decode: (body: Uint8Array, type: MediaType) => Work<Decoded>) => Promise<Decoded>
  caller: Caller
  store: Store
  headers: Headers
  /** Milliseconds since 1970, one for the whole request. */
  now: number
  requestId: string
  enqueue: (...jobs: Job[]) => Promise<boolean>
}

/** Where clients send exports: the documented base, the one without a path, and those of other services' SDKs. */
export const BASES = ['/api/v1/otel', '', '/api/public/otel', '/otel', '/api'] as const

const Export = v.pipe(
  v.looseObject({}),
  v.metadata({
    description:
      'An export as OTLP/HTTP defines it, in JSON or, as application/x-protobuf, in protobuf; gzip and deflate are taken. The answer is in the same encoding.',
  }),
)

const Answer = v.object({
  partialSuccess: v.optional(
    v.looseObject({
      errorMessage: v.optional(v.string()),
    }),
  ),
})

/**
 * Declares the endpoints that take a signal of OTLP/HTTP, at each base, so that a client needs no more than an address and a
 * key. The request order is that of all endpoints, but bodies are in the encoding of the request: a client can read no
 * other, and its answers are those that exporters know. A fault of ours is a 503, which every exporter tries again; a 500
 * some drop.
 */
export function exportEndpoints(signal: Signal, handle: (context: ExportContext) => Promise<Outcome>): Endpoint[] {
  return BASES.map(base => {
    const contract: Contract = {
      method: 'POST',
      path: `${base}/v1/${signal}`,
      summary: `Take an export of OpenTelemetry's ${signal}`,
      scope: 'ingest',
      body: Export,
      isTelemetry: true,
      errors: { 404: 'Project not found', 415: 'The body must be protobuf or JSON' },
      responses: { 200: Answer },
    }
    return { contract, serve: (request, _, runtime) => serve(signal, handle, request, runtime) }
  })
}

async function serve(
  signal: Signal,
  handle: (context: ExportContext) => Promise<Outcome>,
  request: Request,
  runtime: Runtime,
): Promise<Response> {
  const headers: Record<string, string> = {}
  const now = Date.now()
  const contentType = request.headers.get('content-type')
  try {
    const deadline = new Deadline(EXPORT_DEADLINE_MS, EXPORT_ATTEMPT_MS)
    const lookup = { ...runtime, request, deadline, now }
    const { caller, store } = admitCaller('ingest', await authenticateKey(exporterKeyOf(request), lookup), lookup)
    Object.assign(headers, await takeToken(runtime.env.RATE_LIMITER, caller, runtime.requestId))
    const outcome = await handle({
      read: async decode => inTurns(decode(await readExport(request), mediaTypeOf(contentType))),
      caller,
      store,
      headers: request.headers,
      now,
      requestId: runtime.requestId,
      enqueue: (...jobs) => enqueue(jobs, runtime),
    })
    const type = mediaTypeOf(contentType)
    return encodedResponse(200, encodeSuccess(type, signal, outcome.refusal), type, headers)
  } catch (error) {
    return withHeaders(failure(error, contentType, runtime.requestId), headers)
  }
}

/** The answer to what was thrown. What the service did not foresee is told as a fault that passes: what it can't be sure of. */
function failure(error: unknown, contentType: string | null, requestId: string): Response {
  const known = findApiError(error)
  const { status, message, headers } = known ?? unavailable(PAST_DEADLINE_RETRY_SECONDS, error)
  if (!known || status === 503) logFault('request_failed', { requestId }, error)
  const type = contentType?.includes('protobuf') ? 'application/x-protobuf' : 'application/json'
  return encodedResponse(status, encodeStatus(type, status, message), type, headers)
}

function encodedResponse(
  status: number,
  body: Uint8Array,
  type: MediaType,
  headers: Readonly<Record<string, string>>,
): Response {
  return new Response(body, {
    status,
    headers: { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
  })
}
