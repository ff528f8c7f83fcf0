import { constants, gunzipSync, inflateSync } from 'node:zlib'
import { isJsonObject, type JsonObject } from '../domain/json.ts'
import { findExcess } from '../domain/json-structure.ts'
import { turnsByLength } from '../domain/turns.ts'
import { MAX_BODY_DEPTH } from '../limits.ts'
import { badRequest, tooLarge, unsupportedMediaType } from './errors.ts'

/**
 * Reads a request's body, a JSON object, undefined where it is empty, with the bounds and errors of `readBytes`.
 * Errors, in this order: 413 `tooLargeMessage`, 415 for a content type that is not JSON (none is read as JSON), 400.
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
  // Whoever called validates it.
  await giveTurns(text.length)
  if (!isJsonObject(value)) throw badRequest('The body must be a JSON object')
  return value
}

/** A text as JSON. Errors: 400 with the place where it ends to be. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badRequest(`Malformed JSON${position(error)}`)
  }
}

/**
 * Reads a request's body and undoes its `content-encoding`. Neither what comes over the wire nor what it inflates to is ever
 * held past `maxBytes`.
 * Errors, in this order: 413, 415 for an encoding other than gzip, deflate, and identity, 400 for a body that breaks off or
 * isn't in its encoding.
 */
export async function readBytes(request: Request, maxBytes: number, tooLargeMessage?: string): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? Number.NaN)
  // Compression makes nothing smaller by growing it: a body too large on the wire is too large without it as well.
  if (announced > maxBytes) throw tooLarge(tooLargeMessage)
  const inflate = inflaterOf(request.headers.get('content-encoding'))
  if (request.body === null) return new Uint8Array()
  const bytes = await readWire(request, request.body, announced, maxBytes, tooLargeMessage)
  return inflate && announced !== 0 ? inflated(inflate, bytes, maxBytes, tooLargeMessage) : bytes
}

function inflated(
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
  throw badRequest('The body is not in its content-encoding, breaks off before its end, or goes on after it')
}

/**
 * The beginning of a body without its `content-encoding`, from the first bytes on the wire; as much as they hold, nothing if
 * they aren't in that encoding. They inflate to a thousand times their size at most, so pass a few hundred.
 * Errors: 415 for an encoding other than gzip, deflate, and identity.
 */
export function inflatedStart(wire: Uint8Array, contentEncoding: string | null): Uint8Array {
  const inflate = inflaterOf(contentEncoding)
  if (!inflate) return wire
  try {
    return plain(inflate(wire, { finishFlush: constants.Z_SYNC_FLUSH, info: true }).buffer)
  } catch {
    return new Uint8Array()
  }
}

/** The bytes as no Buffer, whose methods have other meanings. */
const plain = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

type Inflater = typeof gunzipSync

/**
 * How the content encodings are undone; HTTP's deflate is zlib's format. Not by a `DecompressionStream`: that buffers all that
 * a chunk inflates to, a gigabyte for a megabyte, before anyone can stop reading.
 */
const INFLATERS: ReadonlyMap<string, Inflater | undefined> = new Map([
  ['', undefined],
  ['identity', undefined],
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
])

/** What undoes a content encoding; undefined for none. 415 for one that isn't known, and for several on top of each other. */
function inflaterOf(contentEncoding: string | null): Inflater | undefined {
  const encoding = (contentEncoding ?? '').trim().toLowerCase()
  if (!INFLATERS.has(encoding)) {
    throw unsupportedMediaType('The body may be compressed with gzip or deflate, and in no other way')
  }
  return INFLATERS.get(encoding)
}

async function readWire(
  request: Request,
  body: ReadableStream<Uint8Array>,
  announced: number,
  maxBytes: number,
  tooLargeMessage: string | undefined,
): Promise<Uint8Array> {
  // HTTP ends a body where its content-length says, so such a one can be read at once, at half the cost.
  if (Number.isNaN(announced)) return readChunks(body, maxBytes, tooLargeMessage)
  const bytes = new Uint8Array(await request.arrayBuffer().catch(brokenOff))
  if (bytes.byteLength > maxBytes) throw tooLarge(tooLargeMessage)
  return bytes
}

/** Reads a stream to its end, never more than `maxBytes` and a chunk. Errors: 413, 400 where it breaks off. */
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
      const { done, value } = await reader.read().catch(brokenOff)
      if (done) break
      size += value.byteLength
      if (size > maxBytes) throw tooLarge(tooLargeMessage)
      chunks.push(value)
    }
  } finally {
    // Not awaited: a client that goes on sending must not hold up the answer.
    reader.cancel().catch(() => undefined)
  }
  const [only] = chunks
  return only && chunks.length === 1 ? only : joined(chunks, size)
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}

/** An upload that breaks off is the client's, not a fault of ours to be alarmed about. */
function brokenOff(): never {
  throw badRequest('The body broke off before its end')
}

function isJson(contentType: string | null): boolean {
  if (contentType === null) return true
  const [type = ''] = contentType.split(';')
  return /^application\/(json|[\w.+-]+\+json)$/i.test(type.trim())
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** `request.json()` would replace bytes that are no UTF-8 in silence. */
function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw badRequest('The body is not valid UTF-8')
  }
}

/**
 * One pass over the text, before `JSON.parse` builds what a recursive reader could not walk, or no memory hold.
 * Errors: 400 if it nests too deep, 413 if it has more than `maxItems`.
 */
export function checkStructure(text: string, maxItems?: number): void {
  const excess = findExcess(text, MAX_BODY_DEPTH, maxItems)
  if (excess === 'depth') throw badRequest(`The body nests deeper than ${MAX_BODY_DEPTH}`)
  if (excess === 'items') throw tooLarge(`The body has more than ${maxItems} items`)
}

/** Where parsing stopped. The engine's own message may quote the body, and only what ends it is the engine's for sure. */
function position(error: unknown): string {
  const found = error instanceof Error ? /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(error.message) : null
  return found ? ` at character ${found[1]}` : ''
}
