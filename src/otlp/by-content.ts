import type { Endpoint } from '../http/endpoint.ts'

/** How far into a body its first field begins. */
const PEEKED_BYTES = 256

/**
 * One path for two endpoints: exporters that were given `{base_url}/api` as their base send to the path of `native`. What is
 * in protobuf or compressed is an export, and so is JSON of which the first field is an export's.
 */
export const byContent = (native: Endpoint, telemetry: Endpoint): Endpoint => ({
  contract: native.contract,
  serve: async (request, params, runtime) => {
    const type = request.headers.get('content-type') ?? ''
    if (type.includes('protobuf') || request.headers.has('content-encoding')) {
      return telemetry.serve(request, params, runtime)
    }
    const { start, whole } = await peek(request)
    return (/^\s*{\s*"resource_?spans"/i.test(start) ? telemetry : native).serve(whole, params, runtime)
  },
})

/** The beginning of a request's body, and the request as if nobody had looked. */
async function peek(request: Request): Promise<{ start: string; whole: Request }> {
  if (!request.body) return { start: '', whole: request }
  const [looked, body] = request.body.tee()
  const reader = looked.getReader()
  const decoder = new TextDecoder()
  let start = ''
  try {
    while (start.length < PEEKED_BYTES) {
      const { done, value } = await reader.read()
      if (done) break
      start += decoder.decode(value, { stream: true })
    }
  } catch {
    // It broke off, which who reads it whole will tell.
  }
  reader.cancel().catch(() => undefined)
  return { start, whole: new Request(request, { body }) }
}
