import type { Endpoint } from '../api/endpoint.ts'
import { inflatedStart } from '../http/body.ts'
import { ApiError } from '../http/errors.ts'

/** How much of the raw body to look at for its first field. Compressed bytes may inflate to a thousand times that. */
const PEEKED_BYTES = 512

/**
 * Serves two endpoints on one path, because exporters configured with `{base_url}/api` send to the path of `native`. A
 * protobuf body is an export, and so is JSON whose first field belongs to an export, in any content encoding.
 * Everything else goes to `native`: read as an export, it would be empty and succeed.
 */
export const byContent = (native: Endpoint, telemetry: Endpoint): Endpoint => ({
  contract: native.contract,
  serve: async (request, params, runtime) => {
    const type = request.headers.get('content-type') ?? ''
    if (type.includes('protobuf')) return telemetry.serve(request, params, runtime)
    const { start, whole } = await peek(request)
    const text = textOf(start, request.headers.get('content-encoding'))
    return (/^\s*{\s*"resource_?spans"/i.test(text) ? telemetry : native).serve(whole, params, runtime)
  },
})

/** Reads the start of a request's body, and returns an equivalent unread request. */
async function peek(request: Request): Promise<{ start: Uint8Array; whole: Request }> {
  const start = new Uint8Array(PEEKED_BYTES)
  if (!request.body) return { start: start.subarray(0, 0), whole: request }
  const [looked, body] = request.body.tee()
  const reader = looked.getReader()
  let size = 0
  try {
    while (size < PEEKED_BYTES) {
      const { done, value } = await reader.read()
      if (done) break
      const piece = value.subarray(0, PEEKED_BYTES - size)
      start.set(piece, size)
      size += piece.byteLength
    }
  } catch {
    // The body broke off. Whoever reads the whole request reports it.
  }
  reader.cancel().catch(() => undefined)
  return { start: start.subarray(0, size), whole: new Request(request, { body }) }
}

/** The start of the body as text, or '' for an unknown encoding, which the endpoint rejects later. */
function textOf(start: Uint8Array, contentEncoding: string | null): string {
  try {
    return new TextDecoder().decode(inflatedStart(start, contentEncoding))
  } catch (error) {
    if (error instanceof ApiError) return ''
    throw error
  }
}
