import type { Endpoint } from '../api/endpoint.ts'
import { loadOnce } from '../domain/load-once.ts'
import { inflatedStart, startBytes } from '../http/body.ts'
import { postTrace } from '../ingest/traces.ts'
import { MAX_EXPORT_BYTES } from '../limits.ts'

/** How much of the body to read to find its first field. */
const MAX_FIELD_BYTES = 512

/**
 * Creates a trace or accepts an export, because exporters configured with `{base_url}/api` send to `postTrace`'s path.
 * Protobuf bodies, and JSON bodies whose first field belongs to an export, go to `exportTraces`, whatever their content
 * encoding. Everything else is treated as a trace, because `exportTraces` would accept a trace as an empty export.
 */
export const postTraceOrExport: Endpoint = {
  contract: postTrace.contract,
  serve: async (request, params, runtime) => {
    const type = request.headers.get('content-type') ?? ''
    if (type.includes('protobuf')) return (await exportEndpoint()).serve(request, params, runtime)
    const { text, whole } = await peek(request)
    const endpoint = /^\s*{\s*"resource_?spans"/i.test(text) ? await exportEndpoint() : postTrace
    return endpoint.serve(whole, params, runtime)
  },
}

const loadExports = loadOnce(() => import('./traces.ts'))

/** The endpoint for exports on this path. Like all code that reads exports, it's loaded on the first export. */
async function exportEndpoint(): Promise<Endpoint> {
  const { exportTraces } = await loadExports()
  return exportTraces.find(({ contract }) => contract.path === postTrace.contract.path) ?? postTrace
}

/** Reads the start of a request's body and returns an equivalent unread request. */
async function peek(request: Request): Promise<{ text: string; whole: Request }> {
  const encoding = request.headers.get('content-encoding')
  if (!request.body) return { text: '', whole: request }
  const [peeked, body] = request.body.tee()
  const start = await readStart(peeked.getReader(), startBytes(encoding))
  const inflated = inflatedStart(start, encoding, MAX_EXPORT_BYTES)
  return {
    text: new TextDecoder().decode(inflated.subarray(0, MAX_FIELD_BYTES)),
    whole: new Request(request, { body }),
  }
}

/** The first bytes of a body, at most `length`. */
async function readStart(reader: ReadableStreamDefaultReader<Uint8Array>, length: number): Promise<Uint8Array> {
  const start = new Uint8Array(length)
  let size = 0
  try {
    while (size < length) {
      const { done, value } = await reader.read()
      if (done) break
      const piece = value.subarray(0, length - size)
      start.set(piece, size)
      size += piece.byteLength
    }
  } catch {
    // The body ended early. The endpoint reports the error when it reads the whole request.
  }
  reader.cancel().catch(() => undefined)
  return start.subarray(0, size)
}
