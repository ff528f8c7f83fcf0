import { readBytes, readChunks } from '../http/body.ts'
import { badRequest, tooLarge, unsupportedMediaType } from '../http/errors.ts'
import { MAX_EXPORT_BYTES } from '../limits.ts'

const TOO_LARGE = `An export may have ${MAX_EXPORT_BYTES} bytes, decompressed; send fewer records at once`

/** How the content encodings that exporters offer are called where they are undone; HTTP's deflate is zlib's format. */
const FORMATS: ReadonlyMap<string, 'gzip' | 'deflate'> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
])

/**
 * Reads an export's body, decompressed: never more of it than 16 MiB, however little came over the wire.
 * Errors: 413, 415 for a content encoding that is not known, 400 where it is not what it says it is, or breaks off.
 */
export async function readExport(request: Request): Promise<Uint8Array> {
  const encoding = (request.headers.get('content-encoding') ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return readBytes(request, MAX_EXPORT_BYTES, TOO_LARGE)
  const format = FORMATS.get(encoding)
  if (!format) throw unsupportedMediaType('The body may be compressed with gzip or deflate, and in no other way')
  // Compression makes nothing smaller by getting larger: a body that is too large on the wire is so without it.
  if (Number(request.headers.get('content-length')) > MAX_EXPORT_BYTES) throw tooLarge(TOO_LARGE)
  if (request.body === null) return new Uint8Array()
  const decompressed = request.body.pipeThrough(new DecompressionStream(format))
  return readChunks(decompressed, MAX_EXPORT_BYTES, TOO_LARGE, () => {
    throw badRequest(`The body is not ${format}, or broke off before its end`)
  })
}
