import type { Endpoint } from '../api/endpoint.ts'
import { inflatedStart } from '../http/body.ts'
import { ApiError } from '../http/errors.ts'

/** How far into a body, as it comes over the wire, its first field begins. Compressed, it may inflate to a thousand times that. */
const PEEKED_BYTES = 512

/**
 * One path for two endpoints: exporters that were given `{base_url}/api` as their base send to the path of `native`. A body in
 * protobuf is an export, and so is JSON of which the first field is an export's, in whatever encoding. Anything else is
 * `native`'s to take or refuse: as an export it would be an empty one, which succeeds.
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

/** The beginning of a request's body, and the request as if nobody had looked. */
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
    // It broke off, which who reads it whole will tell.
  }
  reader.cancel().catch(() => undefined)
  return { start: start.subarray(0, size), whole: new Request(request, { body }) }
}

/** What a body begins with; nothing in an encoding that isn't known, which who reads it whole will refuse. */
function textOf(start: Uint8Array, contentEncoding: string | null): string {
  try {
    return new TextDecoder().decode(inflatedStart(start, contentEncoding))
  } catch (error) {
    if (error instanceof ApiError) return ''
    throw error
  }
}
