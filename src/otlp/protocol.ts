import type { Protocol } from '../api/protocol.ts'
import { authenticateKey, exporterKeyOf } from '../auth/authenticate.ts'
import { inTurns, type Work } from '../domain/turns.ts'
import { findApiError, logFault, unavailable } from '../http/errors.ts'
import { EXPORT_ATTEMPT_MS, EXPORT_DEADLINE_MS, PAST_DEADLINE_RETRY_SECONDS } from '../limits.ts'
import { Deadline } from '../store/core/deadline.ts'
import { readExport } from './body.ts'
import { encodeStatus, encodeSuccess } from './encode.ts'
import { type MediaType, mediaTypeOf } from './media-type.ts'
import type { Outcome } from './outcome.ts'
import type { Signal } from './reading/telemetry.ts'

/**
 * An export's body that hasn't been read yet. Its bytes aren't kept after decoding, because the records are just as
 * large.
 */
export class ExportBody {
  readonly #request: Request

  constructor(request: Request) {
    this.#request = request
  }

  /** Reads and decodes the body. Works only once. Errors, in this order: from `readBytes`, 415, from `decode`. */
  async decode<Decoded>(decode: (body: Uint8Array, type: MediaType) => Work<Decoded>): Promise<Decoded> {
    const bytes = await readExport(this.#request)
    return inTurns(decode(bytes, mediaTypeOf(contentTypeOf(this.#request))))
  }
}

/**
 * OTLP/HTTP. Responses use the request's encoding, because exporters read no other. Our own faults become a 503, which
 * every exporter retries; some drop an export after a 500.
 */
export const otlp = (signal: Signal): Protocol<Outcome> => ({
  deadline: () => new Deadline(EXPORT_DEADLINE_MS, EXPORT_ATTEMPT_MS),
  authenticate: lookup => authenticateKey(exporterKeyOf(lookup.request), lookup),
  readBody: request => new ExportBody(request),
  success: ({ partialSuccess }, request) => {
    const type = mediaTypeOf(contentTypeOf(request))
    return encodedResponse(200, encodeSuccess(type, signal, partialSuccess), type)
  },
  failure: (error, request, requestId) => {
    const known = findApiError(error)
    const { status, message, headers } = known ?? unavailable(PAST_DEADLINE_RETRY_SECONDS, error)
    if (!known || status === 503) logFault('request_failed', { requestId }, error)
    const type = contentTypeOf(request)?.includes('protobuf') ? 'application/x-protobuf' : 'application/json'
    return encodedResponse(status, encodeStatus(type, status, message), type, headers)
  },
})

const contentTypeOf = ({ headers }: Request): string | null => headers.get('content-type')

function encodedResponse(
  status: number,
  body: Uint8Array,
  type: MediaType,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, {
    status,
    headers: { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
  })
}
