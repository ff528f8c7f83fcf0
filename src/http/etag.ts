import { sha256Hex } from '../domain/hash.ts'
import { jsonPieces, jsonResponse } from './response.ts'

/**
 * A JSON response with its `ETag`, a hash of its body; 304 without a body where the request's `If-None-Match` names it
 * (RFC 9110, section 13.1.2), so that a pipeline that asks before every run is sent a list only when it changed.
 */
export async function taggedResponse(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>>,
  request: Request,
): Promise<Response> {
  const pieces = jsonPieces(body)
  const etag = `"${(await sha256Hex(pieces.join(''))).slice(0, 32)}"`
  const tagged = { ...headers, etag, 'cache-control': 'private, no-cache' }
  const known = request.headers.get('if-none-match')?.split(',') ?? []
  const isKnown = known.map(tag => tag.trim()).some(tag => tag === '*' || tag.replace(/^W\//, '') === etag)
  return isKnown ? new Response(null, { status: 304, headers: tagged }) : jsonResponse(status, body, tagged)
}
