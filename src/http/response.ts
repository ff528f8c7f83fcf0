import { jsonPieces } from '../domain/json.ts'

/** Above this a body is sent in pieces, so that it never lies in memory as one text and as its bytes too. */
const MAX_WHOLE_LENGTH = 1024 * 1024

/** A JSON response. Stored values go into it as they lie. */
export const jsonResponse = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response =>
  piecesResponse(status, jsonPieces(body), headers)

/** A JSON response of pieces, that no cache keeps, if `headers` do not say else, and no browser takes for anything else. */
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

/** The pieces' bytes, made as the client takes them. */
function streamOf(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const left = pieces.values()
  return new ReadableStream({
    pull(controller) {
      // Small pieces together: each chunk costs a turn.
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

/** A response with more headers. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
