import { constants, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { isJsonObject, type JsonObject } from '../domain/json.ts'
import { findExcess } from '../domain/json-structure.ts'
import { turnsByLength } from '../domain/turns.ts'
import { MAX_BODY_DEPTH } from '../limits.ts'
import { badRequest, tooLarge, unsupportedMediaType } from './errors.ts'

/**
 * Reads a request's body as a JSON object, with the limits and errors of `readBytes`. Undefined if it's empty. Errors,
 * in this order: 413 with `tooLargeMessage`, 415 if the content type isn't JSON (a missing one counts as JSON), 400.
 */
export async function readJson(
  request: Request,
  maxBytes: number,
  tooLargeMessage?: string,
): Promise<JsonObject | undefined> {
  const bytes = await readBytes(request, maxBytes, tooLargeMessage)
  if (!isJson(request.headers.get('content-type'))) throw unsupportedMediaType()
  if (bytes.byteLength === 0) return undefined
  const text = decodeUtf8(bytes)
  const giveTurns = turnsByLength()
  await giveTurns(text.length)
  checkStructure(text)
  await giveTurns(text.length)
  const value = parseJson(text)
  // The caller validates the value next.
  await giveTurns(text.length)
  if (!isJsonObject(value)) throw badRequest('The body must be a JSON object')
  return value
}

/** Parses JSON. Errors: 400 with the position of the syntax error. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`Malformed JSON${position(error)}`)
  }
}

/**
 * Reads a request's body and decodes its `content-encoding`. Never holds more than `maxBytes` of the received or the
 * decompressed bytes. Errors, in this order: 413, 415 for an encoding other than gzip, deflate, zstd, and identity, 400
 * if the body is truncated or doesn't match its encoding.
 */
export async function readBytes(request: Request, maxBytes: number, tooLargeMessage?: string): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? Number.NaN)
  // Compression doesn't make a body larger, so a body that's too large compressed is also too large decompressed.
  if (announced > maxBytes) throw tooLarge(tooLargeMessage)
  const inflate = findCodec(request.headers.get('content-encoding'))?.inflate
  if (request.body === null) return new Uint8Array()
  const bytes = await readWire(request, request.body, announced, maxBytes, tooLargeMessage)
  return inflate && announced !== 0 ? decompress(inflate, bytes, maxBytes, tooLargeMessage) : bytes
}

function decompress(
  inflate: Inflater,
  bytes: Uint8Array,
  maxOutputLength: number,
  tooLargeMessage: string | undefined,
): Uint8Array {
  try {
    const { buffer, engine } = inflate(bytes, { maxOutputLength, info: true })
    if (engine.bytesWritten === bytes.byteLength) return plain(buffer)
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(tooLargeMessage)
  }
  throw badRequest("The body doesn't match its content-encoding, or it has missing or extra bytes")
}

/**
 * Decodes as much of a body as its first bytes contain. Returns nothing if the encoding is unknown, the bytes don't
 * match it, or they inflate to more than `maxBytes`. Pass at least `startBytes` of them.
 */
export function inflatedStart(wire: Uint8Array, contentEncoding: string | null, maxBytes: number): Uint8Array {
  try {
    const codec = findCodec(contentEncoding)
    if (!codec) return wire
    return plain(codec.inflate(wire, { finishFlush: codec.flush, maxOutputLength: maxBytes, info: true }).buffer)
  } catch {
    return new Uint8Array()
  }
}

/** How many bytes of a body are enough to decode its beginning. */
export const startBytes = (contentEncoding: string | null): number =>
  CODECS.get(nameOf(contentEncoding))?.startBytes ?? 512

/** The bytes as a plain Uint8Array. Some of Buffer's methods behave differently. */
const plain = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

type Inflater = typeof gunzipSync

interface Codec {
  inflate: Inflater
  /** Makes the decoder return what it has decoded so far if the input is incomplete. */
  flush: number
  startBytes: number
}

const gzip: Codec = { inflate: gunzipSync, flush: constants.Z_SYNC_FLUSH, startBytes: 512 }
const deflate: Codec = { ...gzip, inflate: inflateSync }

/** The largest window that HTTP allows (RFC 9659): 8 MiB. The decoder reserves as much memory as a frame requests. */
const MAX_ZSTD_WINDOW_LOG = 23

const zstd: Codec = {
  inflate: (bytes, options) => {
    if (bytes.byteLength === 0) throw new Error('The body has no frame')
    return zstdDecompressSync(bytes, {
      ...options,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG },
    })
  },
  flush: constants.ZSTD_e_flush,
  // The decoder returns whole blocks. A block has at most 128 KiB, and a frame's header at most 18 bytes.
  startBytes: 128 * 1024 + 32,
}

/**
 * The decoders for content encodings. HTTP's deflate is the zlib format. A zstd body is one frame without a dictionary.
 * `DecompressionStream` wouldn't work: before the reader can stop, it buffers everything that a chunk inflates to,
 * which can be a gigabyte for a megabyte.
 */
const CODECS: ReadonlyMap<string, Codec | undefined> = new Map([
  ['', undefined],
  ['identity', undefined],
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', deflate],
  ['zstd', zstd],
])

/**
 * The decoder for a content encoding. Undefined if none is needed. 415 for unknown encodings and for several combined
 * ones.
 */
function findCodec(contentEncoding: string | null): Codec | undefined {
  const encoding = nameOf(contentEncoding)
  if (!CODECS.has(encoding)) {
    throw unsupportedMediaType('The body may only be compressed with gzip, deflate, or zstd')
  }
  return CODECS.get(encoding)
}

const nameOf = (contentEncoding: string | null): string => (contentEncoding ?? '').trim().toLowerCase()

async function readWire(
  request: Request,
  body: ReadableStream<Uint8Array>,
  announced: number,
  maxBytes: number,
  tooLargeMessage: string | undefined,
): Promise<Uint8Array> {
  // HTTP limits a body to its content-length, so the body can be read in one piece, at half the cost.
  if (Number.isNaN(announced)) return readChunks(body, maxBytes, tooLargeMessage)
  const bytes = new Uint8Array(await request.arrayBuffer().catch(throwEndedEarly))
  if (bytes.byteLength > maxBytes) throw tooLarge(tooLargeMessage)
  return bytes
}

/** Reads a stream to its end, but at most one chunk beyond `maxBytes`. Errors: 413, 400 if it ends early. */
async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLargeMessage?: string,
): Promise<Uint8Array> {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(throwEndedEarly)
      if (done) break
      size += value.byteLength
      if (size > maxBytes) throw tooLarge(tooLargeMessage)
      chunks.push(value)
    }
  } finally {
    // Not awaited, because a client that keeps sending must not delay the response.
    reader.cancel().catch(() => undefined)
  }
  const [only] = chunks
  return only && chunks.length === 1 ? only : concatenate(chunks, size)
}

function concatenate(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}

/** An aborted upload is the client's fault, so it isn't logged as ours. */
function throwEndedEarly(): never {
  throw badRequest('The body ended early')
}

function isJson(contentType: string | null): boolean {
  if (contentType === null) return true
  const [type = ''] = contentType.split(';')
  return /^application\/(json|[\w.+-]+\+json)$/i.test(type.trim())
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** `request.json()` would silently replace invalid UTF-8. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw badRequest('The body is not valid UTF-8')
  }
}

/**
 * Checks a JSON text in one pass, before `JSON.parse` builds something that's nested too deeply for recursion or too
 * large for memory. Errors: 400 if it's nested too deeply, 413 if it has more than `maxItems`.
 */
export function checkStructure(text: string, maxItems?: number): void {
  const excess = findExcess(text, MAX_BODY_DEPTH, maxItems)
  if (excess === 'depth') throw badRequest(`The body is nested more than ${MAX_BODY_DEPTH} levels deep`)
  if (excess === 'items') throw tooLarge(`The body has more than ${maxItems} items`)
}

/**
 * The position of a syntax error. Only the end of the engine's message is read, because the rest may quote the body.
 */
function position(error: unknown): string {
  const found = error instanceof Error ? /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(error.message) : null
  return found ? ` at character ${found[1]}` : ''
}
