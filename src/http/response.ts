import { jsonPieces } from '../domain/json.ts'

/** Larger bodies are sent in pieces, so that they're never in memory both as text and as bytes. */
const MAX_WHOLE_LENGTH = 1024 * 1024

/** A JSON response. Stored values are copied in as they are. */
export const jsonResponse = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response =>
  piecesResponse(status, jsonPieces(body), headers)

/**
 * A JSON response from pieces. Unless `headers` say otherwise, caches don't store it and browsers don't sniff its type.
 */
export function piecesResponse(
  status: number,
  pieces: readonly string[],
  headers: Readonly<Record<string, string>>,
): Response {
  return new Response(bodyOf(pieces), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...COMMON_HEADERS, ...headers },
  })
}

const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

function bodyOf(pieces: readonly string[]): string | ReadableStream<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return length <= MAX_WHOLE_LENGTH ? pieces.join('') : streamOf(pieces)
}

/** Encodes the pieces as the client reads them. */
function streamOf(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const left = pieces.values()
  return new ReadableStream({
    pull(controller) {
      // Joins small pieces, because each chunk costs a turn of the event loop.
      let chunk = ''
      for (const piece of left) {
        chunk += piece
        if (chunk.length >= CHUNK_LENGTH) break
      }
      if (chunk === '') controller.close()
      else controller.enqueue(encoder.encode(chunk))
    },
  })
}

const CHUNK_LENGTH = 64 * 1024

/**
 * A response whose text is written as the client reads it. An error cuts the response off, so clients see that it's
 * incomplete. `onFault` gets the error. Nothing else may use `pieces`.
 */
export function streamedResponse(
  pieces: AsyncGenerator<string>,
  headers: Readonly<Record<string, string>>,
  onFault: (error: unknown) => void,
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          let chunk = ''
          while (chunk.length < CHUNK_LENGTH) {
            const { done, value } = await pieces.next()
            if (done) break
            chunk += value
          }
          if (chunk === '') controller.close()
          else controller.enqueue(encoder.encode(chunk))
        } catch (error) {
          onFault(error)
          controller.error(error)
        }
      },
      async cancel() {
        await pieces.return(undefined)
      },
    },
    // Reads nothing for a HEAD request, whose response is never read.
    { highWaterMark: 0 },
  )
  return new Response(body, { status: 200, headers: { ...COMMON_HEADERS, ...headers } })
}

/** Adds headers to a response. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
