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
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  })
}

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

/** Adds headers to a response. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
