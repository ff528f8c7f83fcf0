import { sha256Hex } from '../domain/hash.ts'
import { jsonPieces } from '../domain/json.ts'
import { piecesResponse } from './response.ts'

/**
 * A JSON response with an `ETag`, a hash of its body. 304 without a body if the request's `If-None-Match` matches (RFC
 * 9110, section 13.1.2), so that polling clients receive only changes.
 */
export async function taggedResponse(request: Request, status: number, body: unknown): Promise<Response> {
  const pieces = jsonPieces(body)
  const etag = `"${(await sha256Hex(pieces.join(''))).slice(0, 32)}"`
  const tagged = { etag, 'cache-control': 'private, no-cache' }
  const known = (request.headers.get('if-none-match') ?? '').split(',').map(tag => tag.trim())
  const isKnown = known.some(tag => tag === '*' || tag.replace(/^W\//, '') === etag)
  return isKnown ? new Response(null, { status: 304, headers: tagged }) : piecesResponse(status, pieces, tagged)
}
